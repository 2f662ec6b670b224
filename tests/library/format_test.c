/* No bytes are taken for a filter that are not one: whatever passes bloom_filter_read may be read
 * and written without leaving its bounds, and everything else is refused with words that say why.
 * Headers are pinned in hexadecimal, made from FORMAT.md by a program that shares no code with this
 * library. */
#include "library_test.h"

#include "filter/header.h"
#include "filter/version.h"
#include "filter/hash.h"

#include <math.h>

/* What messages end in. */
#define RESTORE "; restore it from its source or a backup"
#define ANEW "; whoever wrote it must write it anew"

/* Where header fields are, from FORMAT.md. */
enum {
    AT_VERSION = 4,
    AT_LAYOUT = 5,
    AT_HASH = 6,
    AT_PROBES = 8,
    AT_RULE = 12,
    AT_BITS = 16,
    AT_CAPACITY = 24,
    AT_RATE = 32,
    AT_RESERVED = 40,
    AT_CHECKSUM = 56
};

static const struct {
    const char *layout;
    uint32_t probes;
    uint64_t bits, capacity;
    double rate;
    const char *header;
} GOLDEN[] = {
    {"blocked", 6, 20 * 512, 1000, 0.01,
     "89424c4d0101010006000000000000000028000000000000e8030000000000007b14ae47e17a843f0000000000000"
     "000"
     "00000000000000008924298402978fca"},
    {"blocked", 16, 512, 1, 1e-6,
     "89424c4d010101001000000000000000000200000000000001000000000000008dedb5a0f7c6b03e0000000000000"
     "000"
     "0000000000000000996da92af7ef144c"},
    {"classic", 7, 192, 0, 0,
     "89424c4d010201000700000000000000c000000000000000000000000000000000000000000000000000000000000"
     "000"
     "00000000000000001320f7702c352e8f"},
    {"classic", 255, 13, 0, 0,
     "89424c4d01020100ff000000000000000d00000000000000000000000000000000000000000000000000000000000"
     "000"
     "00000000000000009381d372001720a8"},
    {"classic", 255, BLOOM_BITS_MAXIMUM, BLOOM_CAPACITY_MAXIMUM, 0.5,
     "89424c4d01020100ff0000000000000000000000000010000000000000010000000000000000e03f0000000000000"
     "000"
     "000000000000000088774715284b5b6b"},
};

static struct bloom_shape shape_of(const char *layout, uint32_t probes, uint64_t bits,
                                   uint64_t capacity, double rate) {
    struct bloom_shape shape = {.layout = bloom_layout_by_name(layout, strlen(layout)),
                                .probes = probes,
                                .bits = bits,
                                .capacity = capacity,
                                .rate = rate};
    assert_non_null(shape.layout);
    return shape;
}

/* Shapes whose filters are short enough to try everything on. */
static const struct bloom_shape *short_shapes(size_t *count) {
    static struct bloom_shape shapes[6];
    shapes[0] = shape_of("blocked", 6, 512, 50, 0.01);
    shapes[1] = shape_of("blocked", 21, 3 * 512, 19, 0x1p-30 + 0x1p-60);
    shapes[2] = shape_of("classic", 7, 192, 0, 0);
    shapes[3] = shape_of("classic", 1, 1, 0, 0);
    shapes[4] = shape_of("classic", 255, 13, 0, 0);
    shapes[5] = shape_of("classic", 7, 1000, 104, 0.01);
    *count = COUNT_OF(shapes);
    return shapes;
}

/* A filter of that shape with all its bits set. */
static uint8_t *full_filter(const struct bloom_shape *shape, size_t *length) {
    *length = (size_t)bloom_filter_bytes(shape);
    uint8_t *filter = allocate_exactly(*length);
    bloom_header_write(shape, filter);
    memset(filter + BLOOM_HEADER_BYTES, 0xff, *length - BLOOM_HEADER_BYTES);
    if (shape->bits % 8 != 0)
        filter[*length - 1] = (uint8_t)((1u << shape->bits % 8) - 1);
    return filter;
}

static void write_checksum(uint8_t *header) {
    uint64_t checksum = bloom_hash_bytes(header, AT_CHECKSUM).words[0];
    for (unsigned i = 0; i < 8; i++)
        header[AT_CHECKSUM + i] = (uint8_t)(checksum >> 8 * i);
}

static void write_number(uint8_t *bytes, uint64_t number, unsigned length) {
    for (unsigned i = 0; i < length; i++)
        bytes[i] = (uint8_t)(number >> 8 * i);
}

static uint64_t bits_of_real(double real) {
    uint64_t bits;
    memcpy(&bits, &real, sizeof bits);
    return bits;
}

static void assert_accepted(const uint8_t *filter, size_t length,
                            const struct bloom_shape *expected) {
    struct bloom_shape shape;
    char problem[BLOOM_PROBLEM_SIZE] = "";
    char difference[BLOOM_PROBLEM_SIZE];
    if (!bloom_filter_read(&shape, filter, length, problem))
        fail_msg("the filter %s", problem);
    if (!bloom_shape_same(&shape, expected, difference))
        fail_msg("not the shape that was written: %s", difference);
}

/* Copies the bytes to memory of their exact size and reads them there: must be refused, in these
 * words unless words is NULL. */
static void assert_refused(const uint8_t *bytes, size_t length, const char *words) {
    uint8_t *copy = copy_exactly(bytes, length);
    struct bloom_shape shape;
    char problem[BLOOM_PROBLEM_SIZE];
    memset(problem, 'x', sizeof problem);
    if (bloom_filter_read(&shape, copy, length, problem))
        fail_msg("accepted, expected: %s", words != NULL ? words : "a refusal");
    assert_non_null(memchr(problem, '\0', sizeof problem));
    assert_true(strlen(problem) > 10);
    if (words != NULL)
        assert_string_equal(problem, words);
    free(copy);
}

static void golden_headers(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(GOLDEN); i++) {
        struct bloom_shape shape = shape_of(GOLDEN[i].layout, GOLDEN[i].probes, GOLDEN[i].bits,
                                            GOLDEN[i].capacity, GOLDEN[i].rate);
        uint8_t *header = allocate_exactly(BLOOM_HEADER_BYTES);
        memset(header, 0xee, BLOOM_HEADER_BYTES);
        bloom_header_write(&shape, header);
        assert_bytes_are(header, BLOOM_HEADER_BYTES, GOLDEN[i].header);
        free(header);
    }
}

static void reading_returns_what_was_written(void **state) {
    (void)state;
    size_t count;
    const struct bloom_shape *shapes = short_shapes(&count);
    for (size_t i = 0; i < count; i++) {
        size_t length;
        uint8_t *filter = full_filter(&shapes[i], &length);
        assert_accepted(filter, length, &shapes[i]);
        memset(filter + BLOOM_HEADER_BYTES, 0, length - BLOOM_HEADER_BYTES);
        assert_accepted(filter, length, &shapes[i]);
        free(filter);
    }
}

static void any_address(void **state) {
    (void)state;
    struct bloom_shape shape = shape_of("classic", 7, 1000, 104, 0.01);
    size_t length;
    uint8_t *filter = full_filter(&shape, &length);
    for (size_t offset = 0; offset < 16; offset++) {
        uint8_t *memory = allocate_exactly(offset + length);
        bloom_header_write(&shape, memory + offset);
        memcpy(memory + offset + BLOOM_HEADER_BYTES, filter + BLOOM_HEADER_BYTES,
               length - BLOOM_HEADER_BYTES);
        assert_memory_equal(memory + offset, filter, length);
        assert_accepted(memory + offset, length, &shape);
        free(memory);
    }
    free(filter);
}

static void flipped_bits(void **state) {
    (void)state;
    size_t count;
    const struct bloom_shape *shapes = short_shapes(&count);
    for (size_t i = 0; i < count; i++) {
        size_t length;
        uint8_t *filter = full_filter(&shapes[i], &length);
        for (unsigned bit = 0; bit < 8 * BLOOM_HEADER_BYTES; bit++) {
            filter[bit / 8] ^= (uint8_t)(1u << bit % 8);
            assert_refused(filter, length, NULL);
            filter[bit / 8] ^= (uint8_t)(1u << bit % 8);
        }
        assert_accepted(filter, length, &shapes[i]);
        free(filter);
    }
}

static void swapped_bytes(void **state) {
    (void)state;
    size_t count;
    const struct bloom_shape *shapes = short_shapes(&count);
    for (size_t i = 0; i < count; i++) {
        size_t length;
        uint8_t *filter = full_filter(&shapes[i], &length);
        for (size_t a = 0; a < BLOOM_HEADER_BYTES; a++)
            for (size_t b = a + 1; b < BLOOM_HEADER_BYTES; b++) {
                if (filter[a] == filter[b])
                    continue;
                uint8_t kept = filter[a];
                filter[a] = filter[b];
                filter[b] = kept;
                assert_refused(filter, length, NULL);
                filter[b] = filter[a];
                filter[a] = kept;
            }
        assert_accepted(filter, length, &shapes[i]);
        free(filter);
    }
}

static void wrong_lengths(void **state) {
    (void)state;
    size_t count;
    const struct bloom_shape *shapes = short_shapes(&count);
    for (size_t i = 0; i < count; i++) {
        size_t length;
        uint8_t *filter = full_filter(&shapes[i], &length);
        for (size_t shorter = 0; shorter < length; shorter++)
            assert_refused(filter, shorter, NULL);
        for (size_t longer = length + 1; longer < length + 70; longer++) {
            uint8_t *extended = allocate_exactly(longer);
            memcpy(extended, filter, length);
            assert_refused(extended, longer, NULL);
            free(extended);
        }
        free(filter);
    }
}

static void words_for_wrong_lengths(void **state) {
    (void)state;
    struct bloom_shape shape = shape_of("classic", 7, 192, 0, 0);
    size_t length;
    uint8_t *filter = full_filter(&shape, &length);
    assert_int_equal(length, 88);
    assert_refused(filter, 0,
                   "is not one: these 0 bytes do not begin with 89424c4d; import those of another "
                   "system first");
    assert_refused(filter, 3,
                   "is not one: these 3 bytes do not begin with 89424c4d; import those of another "
                   "system first");
    assert_refused(filter, 4,
                   "is cut off: it has 4 bytes, its header alone has 64; store it whole");
    assert_refused(filter, 63,
                   "is cut off: it has 63 bytes, its header alone has 64; store it whole");
    assert_refused(filter, 64,
                   "was cut off or extended: it has 64 bytes, its header says 88; store it whole");
    assert_refused(filter, 87,
                   "was cut off or extended: it has 87 bytes, its header says 88; store it whole");
    uint8_t *extended = allocate_exactly(89);
    memcpy(extended, filter, length);
    assert_refused(extended, 89,
                   "was cut off or extended: it has 89 bytes, its header says 88; store it whole");
    free(extended);
    free(filter);
    struct bloom_shape unread;
    char problem[BLOOM_PROBLEM_SIZE];
    assert_false(bloom_filter_read(&unread, NULL, 0, problem));
    assert_string_equal(problem, "is not one: these 0 bytes do not begin with 89424c4d; import "
                                 "those of another system first");
}

static void no_filters(void **state) {
    (void)state;
    assert_refused(
        (const uint8_t *)"hello, I am not a filter at all, I am a text of more than 64 bytes.", 68,
        "is not one: these 68 bytes do not begin with 89424c4d; import those of another system "
        "first");
    uint8_t zeros[128] = {0};
    assert_refused(zeros, sizeof zeros,
                   "is not one: these 128 bytes do not begin with 89424c4d; import those of "
                   "another system first");
    uint64_t random = 1;
    for (unsigned i = 0; i < 10000; i++) {
        uint8_t noise[128];
        size_t length = random_below(&random, sizeof noise + 1);
        random_fill(&random, noise, length);
        assert_refused(noise, length, NULL);
        if (length >= 5) {
            memcpy(noise,
                   "\x89"
                   "BLM\1",
                   5);
            assert_refused(noise, length, NULL);
        }
    }
}

static void other_versions(void **state) {
    (void)state;
    struct bloom_shape shape = shape_of("blocked", 6, 512, 50, 0.01);
    size_t length;
    uint8_t *filter = full_filter(&shape, &length);
    for (unsigned version = 0; version < 256; version++) {
        if (version == BLOOM_FORMAT_VERSION)
            continue;
        char words[BLOOM_PROBLEM_SIZE];
        snprintf(words, sizeof words,
                 "has format version %u, but release " BLOOM_RELEASE
                 " of this extension reads version 1; get a release that reads version %u",
                 version, version);
        /* The checksum may be one of the other version's own. */
        filter[AT_VERSION] = (uint8_t)version;
        assert_refused(filter, length, words);
        write_checksum(filter);
        assert_refused(filter, length, words);
    }
    free(filter);
}

/* Writes number at a place of an otherwise valid header, makes the checksum valid and expects these
 * words. */
static void assert_field_refused(struct bloom_shape shape, size_t at, uint64_t number,
                                 unsigned bytes, const char *words) {
    size_t length;
    uint8_t *filter = full_filter(&shape, &length);
    write_number(filter + at, number, bytes);
    write_checksum(filter);
    assert_refused(filter, length, words);
    free(filter);
}

/* The same for what is fine. */
static void assert_field_accepted(struct bloom_shape shape, size_t at, uint64_t number,
                                  unsigned bytes, struct bloom_shape expected) {
    size_t length;
    uint8_t *filter = full_filter(&shape, &length);
    write_number(filter + at, number, bytes);
    write_checksum(filter);
    assert_accepted(filter, length, &expected);
    free(filter);
}

static void wrong_checksum(void **state) {
    (void)state;
    struct bloom_shape shape = shape_of("classic", 7, 192, 0, 0);
    size_t length;
    uint8_t *filter = full_filter(&shape, &length);
    filter[AT_CHECKSUM] ^= 1;
    assert_refused(filter, length, "is damaged: the checksum of its header is wrong" RESTORE);
    filter[AT_CHECKSUM] ^= 1;
    filter[AT_PROBES] ^= 1;
    assert_refused(filter, length, "is damaged: the checksum of its header is wrong" RESTORE);
    free(filter);
}

static void unknown_layouts_and_hashes(void **state) {
    (void)state;
    struct bloom_shape shape = shape_of("blocked", 6, 512, 50, 0.01);
    for (unsigned number = 0; number < 256; number++) {
        char words[BLOOM_PROBLEM_SIZE];
        if (bloom_layout_by_numbers(number, 1) == NULL) {
            snprintf(words, sizeof words,
                     "has layout %u and hash 1, which release " BLOOM_RELEASE
                     " of this extension does not know; %s",
                     number,
                     number < 128 ? "get a newer release"
                                  : "it is private to the program that wrote it");
            assert_field_refused(shape, AT_LAYOUT, number, 1, words);
        }
        if (number != 1 && number != 10) { /* siphash: keying_test.c */
            snprintf(words, sizeof words,
                     "has layout 1 and hash %u, which release " BLOOM_RELEASE
                     " of this extension does not know; %s",
                     number,
                     number < 128 ? "get a newer release"
                                  : "it is private to the program that wrote it");
            assert_field_refused(shape, AT_HASH, number, 1, words);
        }
    }
    assert_null(bloom_layout_by_numbers(0, 1));
    assert_null(bloom_layout_by_numbers(255, 1));
}

static void reserved_bytes(void **state) {
    (void)state;
    static const char words[] = "uses reserved bytes of its header, which release " BLOOM_RELEASE
                                " of this extension does not know; get a newer release";
    size_t count;
    const struct bloom_shape *shapes = short_shapes(&count);
    for (size_t i = 0; i < count; i++)
        for (unsigned bit = 0; bit < 8; bit++) {
            for (size_t byte = 1; byte < 4; byte++)
                assert_field_refused(shapes[i], AT_RULE + byte, 1u << bit, 1, words);
            for (size_t byte = 0; byte < 16; byte++)
                assert_field_refused(shapes[i], AT_RESERVED + byte, 1u << bit, 1, words);
        }
}

static void wrong_hashes(void **state) {
    (void)state;
    struct bloom_shape blocked = shape_of("blocked", 6, 512, 50, 0.01);
    struct bloom_shape classic = shape_of("classic", 7, 192, 0, 0);
    assert_field_refused(blocked, AT_PROBES, 0, 4,
                         "is invalid: its header says 0 hashes, layout blocked has 1 to 21" ANEW);
    assert_field_refused(blocked, AT_PROBES, 22, 4,
                         "is invalid: its header says 22 hashes, layout blocked has 1 to 21" ANEW);
    assert_field_refused(
        blocked, AT_PROBES, UINT32_MAX, 4,
        "is invalid: its header says 4294967295 hashes, layout blocked has 1 to 21" ANEW);
    assert_field_refused(classic, AT_PROBES, 0, 4,
                         "is invalid: its header says 0 hashes, layout classic has 1 to 255" ANEW);
    assert_field_refused(
        classic, AT_PROBES, 256, 4,
        "is invalid: its header says 256 hashes, layout classic has 1 to 255" ANEW);
    assert_field_refused(
        classic, AT_PROBES, UINT32_MAX, 4,
        "is invalid: its header says 4294967295 hashes, layout classic has 1 to 255" ANEW);
    for (uint32_t probes = 1; probes <= 21; probes++)
        assert_field_accepted(blocked, AT_PROBES, probes, 4,
                              shape_of("blocked", probes, 512, 50, 0.01));
    for (uint32_t probes = 1; probes <= 255; probes++)
        assert_field_accepted(classic, AT_PROBES, probes, 4,
                              shape_of("classic", probes, 192, 0, 0));
}

/* Layouts of other systems have up to 65535 hashes, beyond 255 only with as many bits. */
static void hashes_beyond_the_bits(void **state) {
    (void)state;
    struct bloom_shape small = shape_of("go", 7, 64, 0, 0), larger = shape_of("go", 7, 300, 0, 0);
    assert_field_accepted(small, AT_PROBES, 255, 4, shape_of("go", 255, 64, 0, 0));
    assert_field_refused(small, AT_PROBES, 256, 4,
                         "is invalid: its header says 256 hashes for 64 bits, more than 255 need "
                         "as many bits" ANEW);
    assert_field_accepted(larger, AT_PROBES, 300, 4, shape_of("go", 300, 300, 0, 0));
    assert_field_refused(larger, AT_PROBES, 301, 4,
                         "is invalid: its header says 301 hashes for 300 bits, more than 255 need "
                         "as many bits" ANEW);
    assert_field_refused(small, AT_PROBES, 65536, 4,
                         "is invalid: its header says 65536 hashes, layout go has 1 to 65535" ANEW);
}

static void wrong_bits(void **state) {
    (void)state;
    struct bloom_shape blocked = shape_of("blocked", 6, 512, 50, 0.01);
    struct bloom_shape classic = shape_of("classic", 7, 192, 0, 0);
    static const uint64_t never[] = {0,
                                     BLOOM_BITS_MAXIMUM + 1,
                                     BLOOM_BITS_MAXIMUM + 512,
                                     UINT64_C(1) << 53,
                                     UINT64_C(1) << 63,
                                     UINT64_MAX - 511,
                                     UINT64_MAX - 7,
                                     UINT64_MAX};
    static const uint64_t no_multiples[] = {
        1, 8, 64, 256, 511, 513, 520, 1023, BLOOM_BITS_MAXIMUM - 8};
    char words[BLOOM_PROBLEM_SIZE];
    for (size_t i = 0; i < COUNT_OF(never); i++) {
        snprintf(
            words, sizeof words,
            "is invalid: its header says %llu bits, layout blocked has a multiple of 512 up to "
            "4503599627370496" ANEW,
            (unsigned long long)never[i]);
        assert_field_refused(blocked, AT_BITS, never[i], 8, words);
        snprintf(words, sizeof words,
                 "is invalid: its header says %llu bits, layout classic has a multiple of 1 up to "
                 "4503599627370496" ANEW,
                 (unsigned long long)never[i]);
        assert_field_refused(classic, AT_BITS, never[i], 8, words);
    }
    for (size_t i = 0; i < COUNT_OF(no_multiples); i++) {
        snprintf(
            words, sizeof words,
            "is invalid: its header says %llu bits, layout blocked has a multiple of 512 up to "
            "4503599627370496" ANEW,
            (unsigned long long)no_multiples[i]);
        assert_field_refused(blocked, AT_BITS, no_multiples[i], 8, words);
    }
    /* Possible sizes of filters that these bytes are not. */
    assert_field_refused(
        blocked, AT_BITS, 1024, 8,
        "was cut off or extended: it has 128 bytes, its header says 192; store it whole");
    assert_field_refused(blocked, AT_BITS, BLOOM_BITS_MAXIMUM, 8,
                         "was cut off or extended: it has 128 bytes, its header says "
                         "562949953421376; store it whole");
    assert_field_refused(
        classic, AT_BITS, 184, 8,
        "was cut off or extended: it has 88 bytes, its header says 87; store it whole");
    assert_field_refused(
        classic, AT_BITS, 193, 8,
        "was cut off or extended: it has 88 bytes, its header says 89; store it whole");
    /* 185 to 192 bits are 24 bytes all. */
    assert_field_accepted(classic, AT_BITS, 192, 8, classic);
    assert_field_refused(classic, AT_BITS, 185, 8,
                         "is damaged: bits are set beyond its last" RESTORE);
}

static void wrong_rates(void **state) {
    (void)state;
    static const struct {
        uint64_t bits;
        const char *words;
    } refused[] = {
        {0x3ff0000000000000, "is invalid: its header says n = 50 and p = 1" ANEW},
        {0x3ff0000000000001, "is invalid: its header says n = 50 and p = 1" ANEW},
        {0x4059000000000000, "is invalid: its header says n = 50 and p = 100" ANEW},
        {0xbfd0000000000000, "is invalid: its header says n = 50 and p = -0.25" ANEW},
        {0x8000000000000001, "is invalid: its header says n = 50 and p = -4.94066e-324" ANEW},
        {0x7ff0000000000000, "is invalid: its header says n = 50 and p = inf" ANEW},
        {0xfff0000000000000, "is invalid: its header says n = 50 and p = -inf" ANEW},
        {0x7ff8000000000000, NULL}, /* NaN is printed differently from machine to machine */
        {0xfff8000000000000, NULL},
        {0x7ff0000000000001, NULL},
        {0xffffffffffffffff, NULL},
    };
    struct bloom_shape shape = shape_of("blocked", 6, 512, 50, 0.01);
    for (size_t i = 0; i < COUNT_OF(refused); i++)
        assert_field_refused(shape, AT_RATE, refused[i].bits, 8, refused[i].words);
    static const double accepted[] = {0.5, 0.99, 1 - 0x1p-53, 1e-9, 0x1p-1074};
    for (size_t i = 0; i < COUNT_OF(accepted); i++)
        assert_field_accepted(shape, AT_RATE, bits_of_real(accepted[i]), 8,
                              shape_of("blocked", 6, 512, 50, accepted[i]));
}

static void wrong_capacities(void **state) {
    (void)state;
    struct bloom_shape shape = shape_of("blocked", 6, 512, 50, 0.01);
    assert_field_refused(shape, AT_CAPACITY, BLOOM_CAPACITY_MAXIMUM + 1, 8,
                         "is invalid: its header says n = 1099511627777 and p = 0.01" ANEW);
    assert_field_refused(shape, AT_CAPACITY, UINT64_MAX, 8,
                         "is invalid: its header says n = 18446744073709551615 and p = 0.01" ANEW);
    assert_field_accepted(shape, AT_CAPACITY, BLOOM_CAPACITY_MAXIMUM, 8,
                          shape_of("blocked", 6, 512, BLOOM_CAPACITY_MAXIMUM, 0.01));
    assert_field_accepted(shape, AT_CAPACITY, 0, 8, shape_of("blocked", 6, 512, 0, 0.01));
}

static void bits_beyond_the_last(void **state) {
    (void)state;
    for (uint64_t bits = 1; bits <= 40; bits++) {
        struct bloom_shape shape = shape_of("classic", 3, bits, 0, 0);
        size_t length;
        uint8_t *filter = full_filter(&shape, &length);
        assert_accepted(filter, length, &shape);
        for (uint64_t bit = bits; bit < 8 * (length - BLOOM_HEADER_BYTES); bit++) {
            uint8_t *byte = filter + BLOOM_HEADER_BYTES + bit / 8;
            *byte ^= (uint8_t)(1u << bit % 8);
            assert_refused(filter, length, "is damaged: bits are set beyond its last" RESTORE);
            *byte ^= (uint8_t)(1u << bit % 8);
        }
        free(filter);
    }
}

/* A header that was validated once serves for further payloads. */
static void payloads_alone(void **state) {
    (void)state;
    struct bloom_shape shape = shape_of("classic", 3, 13, 0, 0);
    size_t length;
    char problem[BLOOM_PROBLEM_SIZE] = "";
    uint8_t *filter = full_filter(&shape, &length);
    assert_true(bloom_payload_read(&shape, filter, length, problem));
    assert_string_equal(problem, "");
    for (size_t shorter = 0; shorter < length; shorter++) {
        uint8_t *copy = copy_exactly(filter, shorter);
        assert_false(bloom_payload_read(&shape, copy, shorter, problem));
        free(copy);
    }
    assert_string_equal(
        problem, "was cut off or extended: it has 65 bytes, its header says 66; store it whole");
    assert_false(bloom_payload_read(&shape, filter, length + 1, problem));
    assert_string_equal(
        problem, "was cut off or extended: it has 67 bytes, its header says 66; store it whole");
    filter[length - 1] |= 0x20;
    assert_false(bloom_payload_read(&shape, filter, length, problem));
    assert_string_equal(problem, "is damaged: bits are set beyond its last" RESTORE);
    free(filter);
}

static void headers_alone(void **state) {
    (void)state;
    size_t count;
    const struct bloom_shape *shapes = short_shapes(&count);
    for (size_t i = 0; i < count; i++) {
        /* Exactly the header in memory, and no payload anywhere. */
        uint8_t *header = allocate_exactly(BLOOM_HEADER_BYTES);
        struct bloom_shape shape;
        char problem[BLOOM_PROBLEM_SIZE] = "", difference[BLOOM_PROBLEM_SIZE];
        bloom_header_write(&shapes[i], header);
        assert_true(bloom_header_read(&shape, header, BLOOM_HEADER_BYTES, problem));
        assert_true(bloom_shape_same(&shape, &shapes[i], difference));
        for (unsigned bit = 0; bit < 8 * BLOOM_HEADER_BYTES; bit++) {
            header[bit / 8] ^= (uint8_t)(1u << bit % 8);
            problem[0] = '\0';
            assert_false(bloom_header_read(&shape, header, BLOOM_HEADER_BYTES, problem));
            assert_true(strlen(problem) > 10);
            header[bit / 8] ^= (uint8_t)(1u << bit % 8);
        }
        header[0] = 'x';
        assert_false(bloom_header_read(&shape, header, BLOOM_HEADER_BYTES, problem));
        assert_string_equal(problem, "is damaged: its header does not begin with 89424c4d" RESTORE);
        free(header);
    }
}

static void layouts_by_name(void **state) {
    (void)state;
    assert_ptr_equal(bloom_layout_by_name("blocked", 7), &bloom_layout_blocked);
    assert_ptr_equal(bloom_layout_by_name("BloCKed", 7), &bloom_layout_blocked);
    assert_ptr_equal(bloom_layout_by_name("classic", 7), &bloom_layout_classic);
    assert_ptr_equal(bloom_layout_by_name("CLASSICAL", 7), &bloom_layout_classic);
    assert_null(bloom_layout_by_name("CLASSICAL", 9));
    assert_null(bloom_layout_by_name("classic", 6));
    assert_null(bloom_layout_by_name("classic\0", 8));
    assert_null(bloom_layout_by_name("", 0));
    assert_null(bloom_layout_by_name(NULL, 0));
    assert_null(bloom_layout_by_name("\xe3lassic", 7));
    assert_ptr_equal(bloom_layout_by_numbers(1, 1), &bloom_layout_blocked);
    assert_ptr_equal(bloom_layout_by_numbers(2, 1), &bloom_layout_classic);
    assert_ptr_equal(bloom_layout_default(), &bloom_layout_blocked);
    char text[BLOOM_PROBLEM_SIZE];
    static const char first[] = "'blocked', 'classic', 'counting', ";
    bloom_layout_list(text, sizeof text);
    assert_memory_equal(text, first, sizeof first - 1);
    for (size_t size = 1; size <= strlen(text) + 1; size++) {
        char *room = (char *)allocate_exactly(size);
        bloom_layout_list(room, size);
        assert_non_null(memchr(room, '\0', size));
        assert_memory_equal(room, text, strlen(room));
        free(room);
    }
}

static void differences_are_named(void **state) {
    (void)state;
    struct bloom_shape shape = shape_of("blocked", 6, 512, 50, 0.01);
    struct bloom_shape other = shape;
    char problem[BLOOM_PROBLEM_SIZE];
    assert_true(bloom_shape_same(&shape, &other, problem));
    other.layout = &bloom_layout_classic;
    assert_false(bloom_shape_same(&shape, &other, problem));
    assert_string_equal(problem, "layout blocked and classic");
    other = shape;
    other.capacity = 51;
    assert_false(bloom_shape_same(&shape, &other, problem));
    assert_string_equal(problem, "n = 50 and 51");
    other = shape;
    other.rate = 0.02;
    assert_false(bloom_shape_same(&shape, &other, problem));
    assert_string_equal(problem, "p = 0.01 and 0.02");
    /* Neighbouring numbers, which 15 digits do not tell apart. */
    other.rate = 0.010000000000000002;
    assert_false(bloom_shape_same(&shape, &other, problem));
    assert_string_equal(problem, "p = 0.01 and 0.010000000000000002");
    other = shape;
    other.bits = 1024;
    assert_false(bloom_shape_same(&shape, &other, problem));
    assert_string_equal(problem, "512 and 1024 bits");
    other = shape;
    other.probes = 7;
    assert_false(bloom_shape_same(&shape, &other, problem));
    assert_string_equal(problem, "6 and 7 hashes");
    struct bloom_shape one =
        shape_of("blocked", UINT32_MAX, UINT64_MAX, UINT64_MAX, -1.23456789012345e-300);
    other =
        shape_of("classic", UINT32_MAX - 1, UINT64_MAX - 1, UINT64_MAX - 1, -2.23456789012345e-300);
    assert_false(bloom_shape_same(&one, &other, problem));
    assert_string_equal(
        problem, "layout blocked and classic; n = 18446744073709551615 and 18446744073709551614; "
                 "p = -1.23456789012345e-300 and -2.23456789012345e-300; "
                 "18446744073709551615 and 18446744073709551614 bits; "
                 "4294967295 and 4294967294 hashes");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST("Headers are written to the byte as specified", golden_headers),
        TEST("Reading a filter returns the shape that was written",
             reading_returns_what_was_written),
        TEST("A filter is read and written at any address", any_address),
        TEST("Flipping any single bit of a header is noticed", flipped_bits),
        TEST("Swapping any two bytes of a header is noticed", swapped_bytes),
        TEST("A filter of any wrong length is refused", wrong_lengths),
        TEST("A wrong length is named together with the right one", words_for_wrong_lengths),
        TEST("Text, zeros and noise are no filters", no_filters),
        TEST("Another version is refused by naming both versions", other_versions),
        TEST("A wrong checksum is named", wrong_checksum),
        TEST("Unknown layouts and hashes are refused by number", unknown_layouts_and_hashes),
        TEST("Reserved bytes must be zero", reserved_bytes),
        TEST("A number of hashes that the layout does not have is refused", wrong_hashes),
        TEST("More than 255 hashes need as many bits", hashes_beyond_the_bits),
        TEST("A number of bits that the layout does not have is refused", wrong_bits),
        TEST("A rate that is none is refused", wrong_rates),
        TEST("A capacity beyond the largest is refused", wrong_capacities),
        TEST("Bits set beyond the last are refused", bits_beyond_the_last),
        TEST("A payload is validated alone when its header was before", payloads_alone),
        TEST("A header is validated alone for a payload elsewhere", headers_alone),
        TEST("Layouts are found by number and by name in any case", layouts_by_name),
        TEST("Shapes that differ are told apart by what differs", differences_are_named),
    };
    return cmocka_run_group_tests_name("format", tests, NULL, NULL);
}
