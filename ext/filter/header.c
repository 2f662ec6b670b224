/* The header of a filter, as FORMAT.md specifies it. Reading checks first that the bytes are
 * intact, and then that every number is possible. */
#include "filter/header.h"

#include "base/portable.h"
#include "base/version.h"
#include "hash/murmur3.h"

enum {
    AT_VERSION = 4,
    AT_LAYOUT = 5,
    AT_HASHING = 6,
    AT_LINES = 7,
    AT_PROBES = 8,
    AT_RULE = 12, /* and three zeros */
    AT_BITS = 16,
    AT_CAPACITY = 24,
    AT_RATE = 32,
    AT_EXTRA = 40,
    AT_CHECKSUM = 56,     /* the first word of the MurmurHash3 of all other bytes */
    AT_SALT = 64,         /* with one further line */
    AT_SALT_END = 80,     /* and zeros */
    PRIVATE_NUMBERS = 128 /* of layouts, hashings and key rules: from this on */
};

/* What to do about bytes that changed after they were written. */
#define RESTORE ". Restore it from its source or a backup"

static uint64_t checksum(const uint8_t *header) {
    enum { AFTER = AT_CHECKSUM + 8, COVERED = BLOOM_HEADER_BYTES_MAXIMUM - 8 };
    uint8_t covered[COVERED];
    uint64_t words[2];
    memcpy(covered, header, AT_CHECKSUM);
    if (header[AT_LINES] > 0)
        memcpy(covered + AT_CHECKSUM, header + AFTER, COVERED - AT_CHECKSUM);
    bloom_murmur3_bytes(covered, header[AT_LINES] > 0 ? COVERED : AT_CHECKSUM, words);
    return words[0];
}

void bloom_header_write(const struct bloom_shape *shape, uint8_t *header) {
    const struct bloom_keying *keying = &shape->keying;
    memset(header, 0, bloom_header_bytes(shape));
    bloom_store32(header, BLOOM_MAGIC);
    header[AT_VERSION] = BLOOM_FORMAT_VERSION;
    header[AT_LAYOUT] = shape->layout->number;
    header[AT_HASHING] = bloom_shape_hashing(shape)->number;
    header[AT_LINES] = keying->salted;
    bloom_store32(header + AT_PROBES, shape->probes);
    header[AT_RULE] = keying->rule != NULL ? keying->rule->number : 0;
    bloom_store64(header + AT_BITS, shape->bits);
    bloom_store64(header + AT_CAPACITY, shape->capacity);
    bloom_store64(header + AT_RATE, bloom_bits_of_double(shape->rate));
    bloom_store64(header + AT_EXTRA, shape->extra[0]);
    bloom_store64(header + AT_EXTRA + 8, shape->extra[1]);
    if (keying->salted) {
        bloom_store64(header + AT_SALT, keying->salt[0]);
        bloom_store64(header + AT_SALT + 8, keying->salt[1]);
    }
    bloom_store64(header + AT_CHECKSUM, checksum(header));
}

/* Returns advice about a number that this release does not know. */
static const char *who_knows(unsigned number) {
    return number >= PRIVATE_NUMBERS ? "It is private to the program that wrote it"
                                     : "Get a newer release";
}

/* Returns true when the bytes are a header of this version that is unchanged since it was written.
 */
static bool is_intact(const uint8_t *header, uint64_t length, bloom_problem problem) {
    if (length < AT_VERSION || bloom_load32(header) != BLOOM_MAGIC)
        return bloom_fail(problem,
                          "is not a filter: it has %" PRIu64 " byte%s and does not begin with "
                          "89424c4d. Import a filter of another system with bloom_import",
                          length, length == 1 ? "" : "s");
    if (length > AT_VERSION && header[AT_VERSION] == 0)
        return bloom_fail(problem, "is damaged: its format version is 0" RESTORE);
    if (length > AT_VERSION && header[AT_VERSION] != BLOOM_FORMAT_VERSION)
        return bloom_fail(
            problem,
            "has format version %u, but release %s of this extension reads version %d. Get a newer "
            "release",
            header[AT_VERSION], BLOOM_RELEASE, BLOOM_FORMAT_VERSION);
    const int lines = length > AT_LINES ? header[AT_LINES] : 0;
    if (lines > 1)
        return bloom_fail(
            problem,
            "has %d further header lines, but release %s of this extension reads at most 1. "
            "Get a newer release, or restore it if it is damaged",
            lines, BLOOM_RELEASE);
    const uint64_t needed = lines == 0 ? BLOOM_HEADER_BYTES : BLOOM_HEADER_BYTES_MAXIMUM;
    if (length < needed)
        return bloom_fail(problem,
                          "is cut off: it has %" PRIu64 " bytes, but its header alone has %" PRIu64
                          ". Store it whole",
                          length, needed);
    if (checksum(header) != bloom_load64(header + AT_CHECKSUM))
        return bloom_fail(problem, "is damaged: the checksum of its header is wrong" RESTORE);
    return true;
}

/* Returns true when every byte that must be zero is zero. */
static bool spare_is_zero(const struct bloom_shape *shape, const uint8_t *header) {
    uint64_t spare = bloom_load32(header + AT_RULE) >> 8;
    for (int i = 0; i < 2; i++)
        spare |= shape->extra[i] & ~shape->layout->extra_used[i];
    if (header[AT_LINES] > 0)
        for (size_t at = AT_SALT_END; at < BLOOM_HEADER_BYTES_MAXIMUM; at += 8)
            spare |= bloom_load64(header + at);
    return spare == 0;
}

/* Reads every number of a header whose layout is known. */
static void read_numbers(struct bloom_shape *shape, const uint8_t *header) {
    struct bloom_keying *keying = &shape->keying;
    shape->probes = bloom_load32(header + AT_PROBES);
    shape->bits = bloom_load64(header + AT_BITS);
    shape->capacity = bloom_load64(header + AT_CAPACITY);
    shape->rate = bloom_double_of_bits(bloom_load64(header + AT_RATE));
    shape->extra[0] = bloom_load64(header + AT_EXTRA);
    shape->extra[1] = bloom_load64(header + AT_EXTRA + 8);
    *keying = (struct bloom_keying){.salted = header[AT_LINES] == 1};
    if (keying->salted) {
        keying->salt[0] = bloom_load64(header + AT_SALT);
        keying->salt[1] = bloom_load64(header + AT_SALT + 8);
    }
}

/* Returns true when every number of a header is one that its layout allows. p has no sign, not even
 * when it is zero, because each filter has one form. The comparison is false for a NaN. */
static bool is_possible(const struct bloom_shape *shape, const uint8_t *header) {
    const struct bloom_layout *layout = shape->layout;
    return shape->probes >= 1 && shape->probes <= layout->probes_maximum && shape->bits >= 1 &&
           shape->bits <= BLOOM_BITS_MAXIMUM && shape->bits % layout->bits_multiple == 0 &&
           bloom_shape_probes_fit(shape) && shape->capacity <= BLOOM_CAPACITY_MAXIMUM &&
           bloom_load64(header + AT_RATE) >> 63 == 0 && shape->rate < 1 &&
           (layout->valid == NULL || layout->valid(shape));
}

bool bloom_filter_read(struct bloom_shape *shape, const void *bytes, uint64_t length,
                       bloom_problem problem) {
    const uint8_t *header = bytes;
    char rate[BLOOM_NUMBER_SIZE];
    if (!is_intact(header, length, problem))
        return false;

    /* The checksum is right. So whatever is wrong from here on was written that way, by a newer
     * release, by another program, or by an attacker. */
    shape->layout = bloom_layout_by_numbers(header[AT_LAYOUT], header[AT_HASHING]);
    if (shape->layout == NULL)
        return bloom_fail(
            problem,
            "has layout %u and hash %u, which release %s of this extension does not know. %s",
            header[AT_LAYOUT], header[AT_HASHING], BLOOM_RELEASE,
            who_knows(header[AT_LAYOUT] | header[AT_HASHING]));
    read_numbers(shape, header);
    if (shape->keying.salted != (header[AT_HASHING] == bloom_hashing_siphash.number))
        return bloom_fail(problem,
                          "has hash %u and %u further header lines, which release %s of this "
                          "extension does not know together. Get a newer release",
                          header[AT_HASHING], header[AT_LINES], BLOOM_RELEASE);
    if (!bloom_key_rule_by_number(header[AT_RULE], &shape->keying.rule) ||
        (header[AT_RULE] != 0 && !shape->layout->keying))
        return bloom_fail(problem,
                          "has layout %s and key rule %u, which release %s of this extension does "
                          "not know together. %s",
                          shape->layout->name, header[AT_RULE], BLOOM_RELEASE,
                          who_knows(header[AT_RULE]));
    if (!spare_is_zero(shape, header))
        return bloom_fail(
            problem,
            "uses reserved bytes of its header, which release %s of this extension does not know. "
            "Get a newer release",
            BLOOM_RELEASE);
    if (!is_possible(shape, header))
        return bloom_fail(problem,
                          "is invalid: layout %s has no filter with k = %" PRIu32 ", m = %" PRIu64
                          ", n = %" PRIu64 ", p = %s. Ask its author to write it again",
                          shape->layout->name, shape->probes, shape->bits, shape->capacity,
                          bloom_number_text(rate, shape->rate, 6));
    return bloom_payload_read(shape, bytes, length, problem);
}

bool bloom_is_header(const void *bytes, uint64_t length) {
    bloom_problem problem;
    return is_intact(bytes, length, problem);
}

bool bloom_payload_read(const struct bloom_shape *shape, const void *bytes, uint64_t length,
                        bloom_problem problem) {
    if (length != bloom_filter_bytes(shape))
        return bloom_fail(problem,
                          "was cut off or extended: it has %" PRIu64
                          " bytes, but its header says %" PRIu64 ". Store it whole",
                          length, bloom_filter_bytes(shape));
    if (shape->bits % 8 != 0 && ((const uint8_t *)bytes)[length - 1] >> (shape->bits % 8) != 0)
        return bloom_fail(problem, "is damaged: bits are set beyond its last" RESTORE);
    return true;
}
