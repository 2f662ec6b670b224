/* Layout `fuse`: the smallest filter, of a set that is finished. A binary fuse filter: Graf and
 * Lemire, "Binary Fuse Filters: Fast and Smaller Than Xor Filters", 2022.
 *
 * The payload is an array of numbers of w bits. A key has three places in it and a fingerprint of w
 * bits, and is in when the numbers at its places, added without carry (XOR), are its fingerprint.
 * For a key that is not in they are anything, so the false-positive rate is 2^-w.
 *
 *   h           mix(v + seed), v being the first word of the key's hash
 *   places      the array is segments + 2 segments of 2^s places each. The first place is floor(h *
 *               segments * 2^s / 2^64); the second and third are in the two segments that follow
 *               its own, at the same place within the segment, XOR bits 18 and up, and bits 0 and
 *               up, of h
 *   fingerprint the lowest w bits of h XOR h >> 32
 *
 * Building finds the numbers. A place that only one key has can be left to that key: it will get
 * the right number whatever the key's other places hold. Taking this key away leaves other places
 * to one key, and so on until no key is left ("peeling"); then, last key first, each place gets the
 * number that makes its key come out right. When keys are left that share all their places, another
 * seed is tried.
 *
 * As places of neighbouring segments only are tied to each other, the whole is done from left to
 * right, a bucket of keys at a time: with the keys of a bucket, all keys that have the places
 * before the next one are known, and are peeled at once. The work stays within about 60,000 places,
 * which are in the second-level cache. Peeled keys overwrite the keys that were loaded, so that the
 * work needs 8 + 1 bytes for each key and 8 + 1 for each place: 19.2 bytes a key.
 *
 * Seeds follow from a digest of the set, the sum of mix(v), so that equal sets have equal seeds. Of
 * random sets one try in forty fails or less. Whoever chooses keys can choose the digest first, and
 * then two keys for each seed that share all places. So a build tries 64 seeds and gives up; under
 * a salt, nobody who does not know it can choose hashes.
 *
 * With four places a key would need 4 % less space, but a check of a filter out of cache would read
 * a fourth line. Three, because a filter should be fast; where space decides, choose a larger p.
 */
#include "filter/layout.h"

#include "base/limits.h"
#include "base/portable.h"
#include "filter/key_set.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum {
    FUSE_NUMBER = 5,
    FUSE_PLACES = 3, /* of a key */
    FUSE_WIDTH_MAXIMUM = 32,
    /* 96 places at least, 12 bytes, so that eight can be read wherever a number is. */
    FUSE_SEGMENT_LOG_MINIMUM = 5,
    FUSE_SEGMENT_LOG_MAXIMUM = 31,
    FUSE_SEEDS_MAXIMUM = 64,
    FUSE_BATCH = 32 /* keys checked together: enough for their cache misses to overlap */
};

static_assert((int)BLOOM_MOST(fuse_waiting_first) >= (int)FUSE_PLACES,
              "room for the places of a key");

/* The header as numbers: bytes 40 to 47 are the seed, byte 48 is w, byte 49 is s, bytes 50 to 55
 * are the segments in which first places are. */
struct fuse_form {
    uint64_t seed;
    uint64_t firsts;  /* places that can be a key's first */
    uint64_t segment; /* places of a segment */
    uint64_t bits;    /* of the payload */
    uint32_t width;   /* w */
};

static inline uint32_t fuse_width(const struct bloom_shape *shape) {
    return shape->extra[1] & 0xff;
}

static inline uint32_t fuse_segment_log(const struct bloom_shape *shape) {
    return shape->extra[1] >> 8 & 0xff;
}

static inline uint64_t fuse_segments(const struct bloom_shape *shape) {
    return shape->extra[1] >> 16;
}

static inline struct fuse_form fuse_form_of(const struct bloom_shape *shape) {
    return (struct fuse_form){
        .seed = shape->extra[0],
        .firsts = fuse_segments(shape) << fuse_segment_log(shape),
        .segment = UINT64_C(1) << fuse_segment_log(shape),
        .bits = shape->bits,
        .width = fuse_width(shape),
    };
}

static inline void fuse_places(const struct fuse_form *form, uint64_t hash,
                               uint64_t places[FUSE_PLACES]) {
    uint64_t first = bloom_reduce(hash, form->firsts), mask = form->segment - 1;
    uint64_t second = first + form->segment;
    BLOOM_COMPUTED(second); /* otherwise 2 * segment is computed by a separate shift */
    places[0] = first;
    places[1] = second ^ (hash >> 18 & mask);
    places[2] = (second + form->segment) ^ (hash & mask);
}

/* The eight bytes in which the number at a place is: those that begin with its first one, or the
 * last eight of the payload; and at which of their bits it begins. */
static inline uint64_t fuse_byte_of(const struct fuse_form *form, uint64_t place, uint64_t *from) {
    uint64_t byte = place * form->width >> 3, last = (form->bits + 7) / 8 - 8;
    byte = byte < last ? byte : last;
    *from = place * form->width - 8 * byte;
    return byte;
}

/* The number at a place and, above it, bits of others. */
static inline uint64_t fuse_read(const struct fuse_form *form, const uint8_t *payload,
                                 uint64_t place) {
    uint64_t from, byte = fuse_byte_of(form, place, &from);
    return bloom_load64(payload + byte) >> from;
}

/* The same for the number that begins with a bit, when eight bytes of the payload follow it. */
static inline uint64_t fuse_read_inside(const uint8_t *payload, uint64_t bit) {
    return bloom_load64(payload + (bit >> 3)) >> (bit & 7);
}

/* Writes a number at a place that holds zero. */
static inline void fuse_write(const struct fuse_form *form, uint8_t *payload, uint64_t place,
                              uint64_t number) {
    uint64_t from, byte = fuse_byte_of(form, place, &from);
    bloom_store64(payload + byte, bloom_load64(payload + byte) | number << from);
}

static inline uint64_t fuse_two_bytes(const uint8_t *payload, uint64_t place) {
    uint16_t number;
    memcpy(&number, payload + 2 * place, sizeof number);
    return BLOOM_BIG_ENDIAN ? (uint16_t)(number << 8 | number >> 8) : number;
}

/* Adds the numbers at the places of a key. Above them, sum has bits of others. Returns false when
 * the last place, which is the greatest, is near the end. One or two full bytes need no shift,
 * which saves a third of the time of a check. */
BLOOM_INLINE bool fuse_sum_inside(const struct fuse_form *form, const uint8_t *payload,
                                  const uint64_t places[FUSE_PLACES], uint64_t *sum) {
    if (form->width == 8) {
        *sum = payload[places[0]] ^ payload[places[1]] ^ payload[places[2]];
        return true;
    }
    if (form->width == 16) {
        *sum = fuse_two_bytes(payload, places[0]) ^ fuse_two_bytes(payload, places[1]) ^
               fuse_two_bytes(payload, places[2]);
        return true;
    }
    uint64_t last = places[2] * form->width;
    if (last + 64 > form->bits)
        return false;
    *sum = fuse_read_inside(payload, places[0] * form->width) ^
           fuse_read_inside(payload, places[1] * form->width) ^ fuse_read_inside(payload, last);
    return true;
}

/* The number that is missing at the places of a key, whose numbers add up to sum, shifted to the
 * upper end of a word: zero when the key is in. */
BLOOM_INLINE uint64_t fuse_missing_from(const struct fuse_form *form, uint64_t hash, uint64_t sum) {
    return (sum ^ hash ^ hash >> 32) << (-form->width & 63);
}

BLOOM_INLINE uint64_t fuse_missing(const struct fuse_form *form, const uint8_t *payload,
                                   uint64_t hash, const uint64_t places[FUSE_PLACES]) {
    uint64_t sum;
    if (!fuse_sum_inside(form, payload, places, &sum))
        sum = fuse_read(form, payload, places[0]) ^ fuse_read(form, payload, places[1]) ^
              fuse_read(form, payload, places[2]);
    return fuse_missing_from(form, hash, sum);
}

/* Checks any key, without a branch on the answer. It would be mispredicted for half of a mix of
 * present and absent keys, and double the time of a check. */
BLOOM_RARE static bool fuse_check_anywhere(const struct bloom_shape *shape, const uint8_t *payload,
                                           const uint64_t *words) {
    struct fuse_form form = fuse_form_of(shape);
    uint64_t places[FUSE_PLACES], hash = bloom_mix(words[0] + form.seed);
    fuse_places(&form, hash, places);
    return fuse_missing(&form, payload, hash, places) == 0;
}

/* Leaves the keys near the end, which need more registers, to a function that starts again, because
 * calling it costs less than saving registers for them. A filter of no keys would report one key in
 * 2^w. */
static bool fuse_check(const struct bloom_shape *shape, const uint8_t *payload,
                       const uint64_t *words) {
    struct fuse_form form = fuse_form_of(shape);
    uint64_t places[FUSE_PLACES], sum, hash = bloom_mix(words[0] + form.seed);
    if (shape->capacity == 0)
        return false;
    fuse_places(&form, hash, places);
    if (!fuse_sum_inside(&form, payload, places, &sum))
        return fuse_check_anywhere(shape, payload, words);
    return fuse_missing_from(&form, hash, sum) == 0;
}

static void fuse_check_many(const struct bloom_shape *shape, const uint8_t *payload,
                            const uint64_t *words, size_t count, uint8_t *found) {
    struct fuse_form form = fuse_form_of(shape);
    uint64_t hashes[FUSE_BATCH], places[FUSE_BATCH][FUSE_PLACES];
    bool any = shape->capacity > 0;
    while (count > 0) {
        size_t now = count < FUSE_BATCH ? count : FUSE_BATCH;
        for (size_t i = 0; i < now; i++) {
            hashes[i] = bloom_mix(words[i] + form.seed);
            fuse_places(&form, hashes[i], places[i]);
            /* Without a loop: GCC would not unroll it, and a batch take a quarter longer. */
            BLOOM_PREFETCH(payload + (places[i][0] * form.width >> 3));
            BLOOM_PREFETCH(payload + (places[i][1] * form.width >> 3));
            BLOOM_PREFETCH(payload + (places[i][2] * form.width >> 3));
        }
        for (size_t i = 0; i < now; i++)
            found[i] = any & (fuse_missing(&form, payload, hashes[i], places[i]) == 0);
        words += now;
        found += now;
        count -= now;
    }
}

/* ceil(log2(1 / rate)). */
static uint32_t fuse_width_for(double rate) {
    int exponent;
    frexp(rate, &exponent);
    return (uint32_t)(1 - exponent);
}

/* log2(keys) in 1/65536, from below: linear between powers of two. keys is at least 1. */
static uint64_t fuse_log2(uint64_t keys) {
    unsigned floor = bloom_log2_floor(keys);
    return (uint64_t)floor << 16 | ((keys << 16 >> floor) & 0xffff);
}

/* Computes places and segments for this many keys. The formulas were found by trial: at least 39 of
 * 40 random sets of any size could be peeled at the first try. Segments have 2^floor(0.6 log2 n +
 * 1.5) places, but at most 2^14, or 2^15 from 2^26 keys on, so that three of them with their
 * working memory (27 bytes a place) are in cache. There are 7/8 + 5 / log2 n places a key, at least
 * 9/8. */
static void fuse_segments_for(uint64_t keys, uint32_t *segment_log, uint64_t *segments) {
    const uint32_t most = keys < UINT64_C(1) << 26 ? 14 : 15;
    uint64_t wanted = 0, log = FUSE_SEGMENT_LOG_MINIMUM;
    if (keys > 1) {
        uint64_t log2_keys = fuse_log2(keys), more = keys * (5 << 16) / log2_keys;
        wanted = keys - keys / 8 + (more > keys / 4 ? more : keys / 4);
        log = (log2_keys * 6 / 10 + (3 << 15)) >> 16;
    }
    *segment_log = log < FUSE_SEGMENT_LOG_MINIMUM ? FUSE_SEGMENT_LOG_MINIMUM
                   : log > most                   ? most
                                                  : (uint32_t)log;
    *segments = (wanted + (UINT64_C(1) << *segment_log) - 1) >> *segment_log;
    *segments = *segments > FUSE_PLACES ? *segments - (FUSE_PLACES - 1) : 1;
}

static bool fuse_size(struct bloom_shape *shape, bloom_problem problem) {
    uint32_t width = fuse_width_for(shape->rate), segment_log;
    uint64_t segments;
    fuse_segments_for(shape->capacity, &segment_log, &segments);
    uint64_t places = (segments + FUSE_PLACES - 1) << segment_log;
    if (places > UINT32_MAX)
        return bloom_fail(problem,
                          "%" PRIu64
                          " keys are too many for layout fuse, which has room for 3.8e9. Use "
                          "layout blocked",
                          shape->capacity);
    shape->probes = FUSE_PLACES;
    shape->bits = places * width;
    shape->extra[1] = width | (uint64_t)segment_log << 8 | segments << 16;
    return true;
}

/* Every place of every key must be within the payload. How w follows from p is for writers. */
static bool fuse_valid(const struct bloom_shape *shape) {
    uint32_t width = fuse_width(shape), segment_log = fuse_segment_log(shape);
    uint64_t segments = fuse_segments(shape);
    return shape->probes == FUSE_PLACES && width >= 1 && width <= FUSE_WIDTH_MAXIMUM &&
           segment_log >= FUSE_SEGMENT_LOG_MINIMUM && segment_log <= FUSE_SEGMENT_LOG_MAXIMUM &&
           segments >= 1 && segments <= UINT32_MAX >> segment_log &&
           (segments + FUSE_PLACES - 1) << segment_log <= UINT32_MAX &&
           ((segments + FUSE_PLACES - 1) << segment_log) * width == shape->bits;
}

/* ---- Building -------------------------------------------------------------------------------- */

/* Buckets of keys, by the highest bits of their hashes: about 8192 keys each, as long as the
 * buckets are few enough to be written at the same time. The bytes of a filter depend on them, so
 * no build may set them. */
enum { FUSE_BUCKET_KEYS_LOG = 13, FUSE_BUCKETS_LOG_MAXIMUM = 12 };

struct fuse_builder {
    const struct bloom_key_set *set;
    struct fuse_form form;
    uint64_t keys;
    uint64_t places;
    unsigned buckets_log;
    uint64_t since_poll;

    uint64_t digest;

    uint64_t *ends; /* of the buckets in hashes, while filling: of what has been filled */
    /* Hashes by bucket. As they are loaded, those at the front make room for the hashes of the keys
     * that were peeled, in that order. owned is the number of the place that is left to each key.
     */
    uint64_t *hashes;
    uint8_t *owned;
    uint64_t peeled;

    /* Of the keys that were loaded and not peeled, for each place: their number, times four, and
     * which place it is of each, XOR; their hashes, XOR. */
    uint8_t *counts;
    uint64_t *sums;
    uint8_t overflow;  /* 1: some number was more than the count can hold; nothing is peeled then */
    uint64_t complete; /* all keys of the places before this one were loaded */

    uint32_t *waiting; /* places that only one key has */
    uint64_t waiting_room;
};

static inline uint64_t fuse_bucket_of(const struct fuse_builder *builder, uint64_t hash) {
    return hash >> 1 >> (63 - builder->buckets_log);
}

static void fuse_digest_keys(void *argument, const uint64_t *words, size_t count) {
    struct fuse_builder *builder = argument;
    for (size_t i = 0; i < count; i++)
        builder->digest += bloom_mix(words[i]);
}

static void fuse_count_keys(void *argument, const uint64_t *words, size_t count) {
    struct fuse_builder *builder = argument;
    for (size_t i = 0; i < count; i++)
        builder->ends[fuse_bucket_of(builder, bloom_mix(words[i] + builder->form.seed))]++;
}

static void fuse_deal_keys(void *argument, const uint64_t *words, size_t count) {
    struct fuse_builder *builder = argument;
    for (size_t i = 0; i < count; i++) {
        uint64_t hash = bloom_mix(words[i] + builder->form.seed);
        builder->hashes[builder->ends[fuse_bucket_of(builder, hash)]++] = hash;
    }
}

/* Puts the hashes of all keys under a new seed into their buckets. */
static bool fuse_deal(struct fuse_builder *builder) {
    uint64_t buckets = UINT64_C(1) << builder->buckets_log, sum = 0;
    memset(builder->ends, 0, (size_t)buckets * sizeof *builder->ends);
    if (!bloom_key_set_each(builder->set, fuse_count_keys, builder))
        return false;
    for (uint64_t i = 0; i < buckets; i++) {
        uint64_t keys = builder->ends[i];
        builder->ends[i] = sum;
        sum += keys;
    }
    return bloom_key_set_each(builder->set, fuse_deal_keys, builder);
}

/* The loops below keep what they need in variables of their own: bytes are written in them, which
 * might be any part of the builder for all that a compiler knows. */

/* Adds a key to one of its places, or takes it away; by is 4 or -4. Returns the new count. */
static inline uint8_t fuse_change_place(uint8_t *counts, uint64_t *sums, uint64_t place, int by,
                                        unsigned which, uint64_t hash) {
    sums[place] ^= hash;
    return counts[place] = (uint8_t)((unsigned)(counts[place] + by) ^ which);
}

static void fuse_load(struct fuse_builder *builder, uint64_t from, uint64_t to) {
    const struct fuse_form form = builder->form;
    const uint64_t *hashes = builder->hashes;
    uint8_t *counts = builder->counts, overflow = builder->overflow;
    uint64_t *sums = builder->sums;
    for (uint64_t i = from; i < to; i++) {
        uint64_t places[FUSE_PLACES], hash = hashes[i];
        fuse_places(&form, hash, places);
        BLOOM_UNROLLED
        for (unsigned which = 0; which < FUSE_PLACES; which++)
            overflow |= fuse_change_place(counts, sums, places[which], 4, which, hash) < 4;
    }
    builder->overflow = overflow;
}

/* Doubles the room for waiting places. Returns false when there is no memory. */
static bool fuse_wait_for_more(struct fuse_builder *builder, uint64_t waiting_count) {
    const uint64_t bytes = sizeof *builder->waiting, room = 2 * builder->waiting_room;
    uint32_t *larger =
        bloom_enlarge(builder->set->memory, builder->waiting, waiting_count * bytes, room * bytes);
    if (larger == NULL)
        return false;
    builder->waiting = larger;
    builder->waiting_room = room;
    return true;
}

static inline bool fuse_is_alone(uint8_t count) {
    return count >> 2 == 1;
}

/* Finds the places from one on that only one key has. Returns their number. */
static size_t fuse_find_alone(const uint8_t *counts, uint64_t from, uint64_t to, uint32_t *alone) {
    size_t found = 0;
    for (uint64_t place = from; place < to; place++) {
        alone[found] = (uint32_t)place;
        found += fuse_is_alone(counts[place]);
    }
    return found;
}

/* Peels all keys that can be peeled, now that places from one on are complete, too. Returns false
 * when there is no memory.
 *
 * Places are peeled from left to right, each with everything that it makes peelable. The places of
 * a stretch are searched together, without a branch, which would be mispredicted for every fourth
 * place. A place that only later is left to one key waits, and has been peeled when its turn comes.
 */
static bool fuse_peel(struct fuse_builder *builder, uint64_t from) {
    const struct fuse_form form = builder->form;
    const uint64_t complete = builder->complete;
    uint8_t *counts = builder->counts, *owned = builder->owned;
    uint64_t *sums = builder->sums, *hashes = builder->hashes;
    uint64_t peeled = builder->peeled, waiting_count = 0;
    uint32_t *waiting = builder->waiting, alone[BLOOM_MOST(fuse_places_searched)];
    for (uint64_t next = from; next < complete; next += bloom_limits.fuse_places_searched) {
        size_t found = fuse_find_alone(counts, next,
                                       complete - next < bloom_limits.fuse_places_searched
                                           ? complete
                                           : next + bloom_limits.fuse_places_searched,
                                       alone);
        for (size_t i = 0; i < found; i++)
            for (uint64_t place = alone[i];; place = waiting[--waiting_count]) {
                if (fuse_is_alone(counts[place])) {
                    uint64_t places[FUSE_PLACES], hash = sums[place];
                    if (waiting_count + FUSE_PLACES > builder->waiting_room) {
                        if (!fuse_wait_for_more(builder, waiting_count))
                            return false;
                        waiting = builder->waiting;
                    }
                    fuse_places(&form, hash, places);
                    hashes[peeled] = hash;
                    owned[peeled++] = counts[place] & 3;
                    /* Each is written to waiting in any case, because a branch would be
                     * mispredicted for every third place. */
                    BLOOM_UNROLLED
                    for (unsigned which = 0; which < FUSE_PLACES; which++) {
                        uint8_t count =
                            fuse_change_place(counts, sums, places[which], -4, which, hash);
                        waiting[waiting_count] = (uint32_t)places[which];
                        waiting_count += (places[which] < complete) & fuse_is_alone(count);
                    }
                }
                if (waiting_count == 0)
                    break;
            }
    }
    builder->peeled = peeled;
    return true;
}

/* Clears places just before they are loaded. If all were cleared at the beginning, they would be
 * out of cache by then. */
static void fuse_clear(struct fuse_builder *builder, uint64_t from, uint64_t to) {
    memset(builder->counts + from, 0, (size_t)(to - from));
    memset(builder->sums + from, 0, (size_t)(to - from) * sizeof *builder->sums);
}

/* One try. All keys are peeled in the end, or another seed is needed. */
static enum bloom_built fuse_try(struct fuse_builder *builder) {
    uint64_t buckets = UINT64_C(1) << builder->buckets_log, loaded = 0, cleared = 0, done = 0;
    builder->peeled = 0;
    builder->overflow = 0;
    if (!fuse_deal(builder))
        return BLOOM_BUILD_INTERRUPTED;
    for (uint64_t bucket = 0; bucket < buckets; bucket++) {
        /* The least first place of a key of the next bucket; none has a place before it. The places
         * of this bucket's keys end within three segments of it. */
        uint64_t end = builder->ends[bucket], next = builder->places, reach = builder->places;
        if (bucket + 1 < buckets) {
            next = bloom_reduce((bucket + 1) << (64 - builder->buckets_log), builder->form.firsts);
            reach = next + FUSE_PLACES * builder->form.segment;
            reach = reach < builder->places ? reach : builder->places;
        }
        fuse_clear(builder, cleared, reach);
        cleared = reach;
        fuse_load(builder, loaded, end);
        if (bloom_key_set_interrupted(builder->set, end - loaded, &builder->since_poll))
            return BLOOM_BUILD_INTERRUPTED;
        loaded = end;
        builder->complete = builder->overflow ? 0 : next;
        if (!fuse_peel(builder, done))
            return BLOOM_BUILD_NO_MEMORY;
        done = builder->complete;
    }
    return BLOOM_BUILT;
}

/* Gives every place that was left to a key its number, the key that was peeled last first. */
static enum bloom_built fuse_assign(struct fuse_builder *builder, uint8_t *payload) {
    const struct fuse_form form = builder->form;
    const uint32_t unused = 64 - form.width;
    uint64_t left = builder->keys;
    while (left > 0) {
        uint64_t stretch =
            left < bloom_limits.fuse_keys_assigned ? left : bloom_limits.fuse_keys_assigned;
        if (bloom_key_set_interrupted(builder->set, stretch, &builder->since_poll))
            return BLOOM_BUILD_INTERRUPTED;
        for (uint64_t end = left - stretch; left > end; left--) {
            uint64_t places[FUSE_PLACES], hash = builder->hashes[left - 1];
            fuse_places(&form, hash, places);
            fuse_write(&form, payload, places[builder->owned[left - 1]],
                       fuse_missing(&form, payload, hash, places) >> unused);
        }
    }
    return BLOOM_BUILT;
}

static enum bloom_built fuse_find(struct fuse_builder *builder, struct bloom_shape *shape,
                                  uint8_t *payload) {
    if (!bloom_key_set_each(builder->set, fuse_digest_keys, builder))
        return BLOOM_BUILD_INTERRUPTED;
    for (uint64_t turn = 0; turn < FUSE_SEEDS_MAXIMUM; turn++) {
        builder->form.seed = bloom_mix(builder->digest + turn);
        enum bloom_built built = fuse_try(builder);
        if (built != BLOOM_BUILT)
            return built;
        if (builder->peeled == builder->keys) {
            shape->extra[0] = builder->form.seed;
            return fuse_assign(builder, payload);
        }
    }
    return BLOOM_BUILD_NO_SEED;
}

static enum bloom_built fuse_build(struct bloom_shape *shape, uint8_t *payload,
                                   const struct bloom_key_set *keys) {
    struct fuse_builder builder = {
        .set = keys,
        .form = fuse_form_of(shape),
        .keys = shape->capacity,
        .waiting_room = bloom_limits.fuse_waiting_first,
    };
    if (builder.keys == 0)
        return BLOOM_BUILT;
    builder.places = builder.form.firsts + (FUSE_PLACES - 1) * builder.form.segment;
    unsigned log = bloom_log2_floor(builder.keys);
    log = log > FUSE_BUCKET_KEYS_LOG ? log - FUSE_BUCKET_KEYS_LOG : 0;
    builder.buckets_log = log < FUSE_BUCKETS_LOG_MAXIMUM ? log : FUSE_BUCKETS_LOG_MAXIMUM;

    const struct bloom_memory *memory = keys->memory;
    builder.ends =
        bloom_allocate(memory, (UINT64_C(1) << builder.buckets_log) * sizeof *builder.ends);
    builder.hashes = bloom_allocate(memory, builder.keys * sizeof *builder.hashes);
    builder.owned = bloom_allocate(memory, builder.keys);
    builder.counts = bloom_allocate(memory, builder.places);
    builder.sums = bloom_allocate(memory, builder.places * sizeof *builder.sums);
    builder.waiting = bloom_allocate(memory, builder.waiting_room * sizeof *builder.waiting);
    enum bloom_built built = BLOOM_BUILD_NO_MEMORY;
    if (builder.ends != NULL && builder.hashes != NULL && builder.owned != NULL &&
        builder.counts != NULL && builder.sums != NULL && builder.waiting != NULL)
        built = fuse_find(&builder, shape, payload);
    bloom_release(memory, builder.ends);
    bloom_release(memory, builder.hashes);
    bloom_release(memory, builder.owned);
    bloom_release(memory, builder.counts);
    bloom_release(memory, builder.sums);
    bloom_release(memory, builder.waiting);
    return built;
}

/* ---------------------------------------------------------------------------------------------- */

/* The header has everything, because the payload looks random whatever the keys are. */
static struct bloom_estimate fuse_estimate(const struct bloom_shape *shape,
                                           const uint8_t *payload) {
    (void)payload;
    return (struct bloom_estimate){
        .count = (double)shape->capacity,
        .rate = shape->capacity > 0 ? ldexp(1, -(int)fuse_width(shape)) : 0,
        .fill = -1,
    };
}

const struct bloom_layout bloom_layout_fuse = {
    .name = "fuse",
    .hashing = &bloom_hashing_murmur3,
    .number = FUSE_NUMBER,
    .hash_words = 1,
    .keying = true,
    .probes_maximum = FUSE_PLACES,
    .bits_multiple = 1,
    .rate_minimum = 0x1p-32, /* w is at most 32 */
    .extra_used = {UINT64_MAX, UINT64_MAX},
    .advice = "Build it from all its keys at once, as in bloom_agg(key, NULL, 0.01, 'fuse')",
    .size = fuse_size,
    .valid = fuse_valid,
    .check = fuse_check,
    .check_many = fuse_check_many,
    .build = fuse_build,
    .estimate = fuse_estimate,
};
