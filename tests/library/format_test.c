/* No bytes are taken for a filter that are not one: whatever passes bloom_filter_read may be read
 * and written without leaving its bounds, and everything else is refused with words that say why.
 * The bytes of headers are in vectors_test.c. */
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

/* Of each shape whose filter is short enough to try everything on. */
static void with_short_filters(void (*try)(const struct bloom_shape *, uint8_t *, size_t)) {
    const struct bloom_shape shapes[] = {
        shape_of("blocked", 6, 512, 50, 0.01), shape_of("blocked", 21, 3 * 512, 19, 0x1p-30),
        shape_of("classic", 7, 192, 0, 0),     shape_of("classic", 1, 1, 0, 0),
        shape_of("classic", 255, 13, 0, 0),    shape_of("classic", 7, 1000, 104, 0.01),
    };
    for (size_t i = 0; i < COUNT_OF(shapes); i++) {
        size_t length;
        uint8_t *filter = full_filter(&shapes[i], &length);
        try(&shapes[i], filter, length);
        free(filter);
    }
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

static void read_back(const struct bloom_shape *shape, uint8_t *filter, size_t length) {
    assert_accepted(filter, length, shape);
    memset(filter + BLOOM_HEADER_BYTES, 0, length - BLOOM_HEADER_BYTES);
    assert_accepted(filter, length, shape);
}

static void reading_returns_what_was_written(void **state) {
    (void)state;
    with_short_filters(read_back);
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

/* Each bit flipped; each two bytes swapped. */
static void damage_header(const struct bloom_shape *shape, uint8_t *filter, size_t length) {
    for (unsigned bit = 0; bit < 8 * BLOOM_HEADER_BYTES; bit++) {
        filter[bit / 8] ^= (uint8_t)(1u << bit % 8);
        assert_refused(filter, length, NULL);
        filter[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    for (size_t a = 0; a < BLOOM_HEADER_BYTES; a++)
        for (size_t b = a + 1; b < BLOOM_HEADER_BYTES; b++) {
            const uint8_t one = filter[a], other = filter[b];
            filter[a] = other;
            filter[b] = one;
            if (one != other)
                assert_refused(filter, length, NULL);
            filter[a] = one;
            filter[b] = other;
        }
    assert_accepted(filter, length, shape);
}

static void damaged_headers(void **state) {
    (void)state;
    with_short_filters(damage_header);
}

static void cut_and_extend(const struct bloom_shape *shape, uint8_t *filter, size_t length) {
    (void)shape;
    for (size_t shorter = 0; shorter < length; shorter++)
        assert_refused(filter, shorter, NULL);
    for (size_t longer = length + 1; longer < length + 70; longer++) {
        uint8_t *extended = allocate_exactly(longer);
        memcpy(extended, filter, length);
        assert_refused(extended, longer, NULL);
        free(extended);
    }
}

static void wrong_lengths(void **state) {
    (void)state;
    with_short_filters(cut_and_extend);
}

/* The words of a refusal of so many bytes, of which format says where the numbers stand. */
#define NOT_ONE                                                                                    \
    "is not one: these %zu bytes do not begin with 89424c4d; import those of another system first"
#define NO_HEADER "is cut off: it has %zu bytes, its header alone has 64; store it whole"
#define NOT_88 "was cut off or extended: it has %zu bytes, its header says 88; store it whole"

static void assert_length_refused(const void *bytes, size_t length, const char *format) {
    char words[BLOOM_PROBLEM_SIZE];
    snprintf(words, sizeof words, format, length);
    assert_refused(bytes, length, words);
}

static void words_for_wrong_lengths(void **state) {
    (void)state;
    static const struct {
        size_t length;
        const char *format;
    } CASES[] = {{0, NOT_ONE}, {3, NOT_ONE}, {4, NO_HEADER}, {63, NO_HEADER},
                 {64, NOT_88}, {87, NOT_88}, {89, NOT_88}};
    struct bloom_shape shape = shape_of("classic", 7, 192, 0, 0);
    size_t length;
    uint8_t *filter = full_filter(&shape, &length), *longer = allocate_exactly(89);
    assert_int_equal(length, 88);
    memcpy(longer, filter, length);
    for (size_t i = 0; i < COUNT_OF(CASES); i++)
        assert_length_refused(longer, CASES[i].length, CASES[i].format);
    free(longer);
    free(filter);
    struct bloom_shape unread;
    char problem[BLOOM_PROBLEM_SIZE];
    assert_false(bloom_filter_read(&unread, NULL, 0, problem));
    assert_memory_equal(problem, "is not one: these 0 bytes ", 26);
}

static void no_filters(void **state) {
    (void)state;
    static const char text[] =
        "hello, I am not a filter at all, I am a text of more than 64 bytes.";
    const uint8_t zeros[128] = {0};
    assert_length_refused(text, sizeof text, NOT_ONE);
    assert_length_refused(zeros, sizeof zeros, NOT_ONE);
    uint64_t random = 1;
    for (unsigned i = 0; i < 10000; i++) {
        uint8_t noise[128];
        size_t length = random_below(&random, sizeof noise + 1);
        random_fill(&random, noise, length);
        assert_refused(noise, length, NULL);
        if (length >= 5) {
            memcpy(noise, "\x89\x42LM\1", 5);
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

static void assert_unknown(struct bloom_shape shape, size_t at, unsigned layout, unsigned hash) {
    char words[BLOOM_PROBLEM_SIZE];
    unsigned number = at == AT_LAYOUT ? layout : hash;
    snprintf(words, sizeof words,
             "has layout %u and hash %u, which release " BLOOM_RELEASE
             " of this extension does not know; %s",
             layout, hash,
             number < 128 ? "get a newer release" : "it is private to the program that wrote it");
    assert_field_refused(shape, at, number, 1, words);
}

static void unknown_layouts_and_hashes(void **state) {
    (void)state;
    struct bloom_shape shape = shape_of("blocked", 6, 512, 50, 0.01);
    for (unsigned number = 0; number < 256; number++) {
        if (bloom_layout_by_numbers(number, 1) == NULL)
            assert_unknown(shape, AT_LAYOUT, number, 1);
        if (number != 1 && number != 10) /* siphash: keying_test.c */
            assert_unknown(shape, AT_HASH, 1, number);
    }
    assert_null(bloom_layout_by_numbers(0, 1));
    assert_null(bloom_layout_by_numbers(255, 1));
}

static void set_reserved_bits(const struct bloom_shape *shape, uint8_t *filter, size_t length) {
    static const char words[] = "uses reserved bytes of its header, which release " BLOOM_RELEASE
                                " of this extension does not know; get a newer release";
    (void)filter;
    (void)length;
    for (unsigned bit = 0; bit < 8; bit++) {
        for (size_t byte = 1; byte < 4; byte++)
            assert_field_refused(*shape, AT_RULE + byte, 1u << bit, 1, words);
        for (size_t byte = 0; byte < 16; byte++)
            assert_field_refused(*shape, AT_RESERVED + byte, 1u << bit, 1, words);
    }
}

static void reserved_bytes(void **state) {
    (void)state;
    with_short_filters(set_reserved_bits);
}

/* What each field may not be. */
static void wrong_fields(void **state) {
    (void)state;
    const struct bloom_shape blocked = shape_of("blocked", 6, 512, 50, 0.01),
                             classic = shape_of("classic", 7, 192, 0, 0),
                             go = shape_of("go", 7, 64, 0, 0),
                             go_300 = shape_of("go", 7, 300, 0, 0);
    const struct {
        const struct bloom_shape *shape;
        unsigned at;
        uint64_t number;
        const char *words;
    } CASES[] = {
        {&blocked, AT_PROBES, 0, "says 0 hashes, layout blocked has 1 to 21"},
        {&blocked, AT_PROBES, 22, "says 22 hashes, layout blocked has 1 to 21"},
        {&blocked, AT_PROBES, UINT32_MAX, "says 4294967295 hashes, layout blocked has 1 to 21"},
        {&classic, AT_PROBES, 0, "says 0 hashes, layout classic has 1 to 255"},
        {&classic, AT_PROBES, 256, "says 256 hashes, layout classic has 1 to 255"},
        {&classic, AT_PROBES, UINT32_MAX, "says 4294967295 hashes, layout classic has 1 to 255"},
        /* Layouts of other systems have up to 65535 hashes, beyond 255 only with as many bits. */
        {&go, AT_PROBES, 256, "says 256 hashes for 64 bits, more than 255 need as many bits"},
        {&go_300, AT_PROBES, 301, "says 301 hashes for 300 bits, more than 255 need as many bits"},
        {&go, AT_PROBES, 65536, "says 65536 hashes, layout go has 1 to 65535"},
        {&blocked, AT_RATE, 0x3ff0000000000000, "says n = 50 and p = 1"},
        {&blocked, AT_RATE, 0x3ff0000000000001, "says n = 50 and p = 1"},
        {&blocked, AT_RATE, 0x4059000000000000, "says n = 50 and p = 100"},
        {&blocked, AT_RATE, 0xbfd0000000000000, "says n = 50 and p = -0.25"},
        {&blocked, AT_RATE, 0x8000000000000001, "says n = 50 and p = -4.94066e-324"},
        {&blocked, AT_RATE, 0x7ff0000000000000, "says n = 50 and p = inf"},
        {&blocked, AT_RATE, 0xfff0000000000000, "says n = 50 and p = -inf"},
        /* NaN is printed differently from machine to machine. */
        {&blocked, AT_RATE, 0x7ff8000000000000, NULL},
        {&blocked, AT_RATE, 0xfff8000000000000, NULL},
        {&blocked, AT_RATE, 0x7ff0000000000001, NULL},
        {&blocked, AT_RATE, 0xffffffffffffffff, NULL},
        {&blocked, AT_CAPACITY, BLOOM_CAPACITY_MAXIMUM + 1, "says n = 1099511627777 and p = 0.01"},
        {&blocked, AT_CAPACITY, UINT64_MAX, "says n = 18446744073709551615 and p = 0.01"},
    };
    for (size_t i = 0; i < COUNT_OF(CASES); i++) {
        char words[BLOOM_PROBLEM_SIZE];
        snprintf(words, sizeof words, "is invalid: its header %s" ANEW,
                 CASES[i].words != NULL ? CASES[i].words : "");
        assert_field_refused(*CASES[i].shape, CASES[i].at, CASES[i].number,
                             CASES[i].at == AT_PROBES ? 4 : 8,
                             CASES[i].words != NULL ? words : NULL);
    }
}

/* What each field may be. */
static void right_fields(void **state) {
    (void)state;
    struct bloom_shape blocked = shape_of("blocked", 6, 512, 50, 0.01);
    struct bloom_shape classic = shape_of("classic", 7, 192, 0, 0);
    static const double rates[] = {0.5, 0.99, 1 - 0x1p-53, 1e-9, 0x1p-1074};
    for (uint32_t probes = 1; probes <= 21; probes++)
        assert_field_accepted(blocked, AT_PROBES, probes, 4,
                              shape_of("blocked", probes, 512, 50, 0.01));
    for (uint32_t probes = 1; probes <= 255; probes++)
        assert_field_accepted(classic, AT_PROBES, probes, 4,
                              shape_of("classic", probes, 192, 0, 0));
    assert_field_accepted(shape_of("go", 7, 64, 0, 0), AT_PROBES, 255, 4,
                          shape_of("go", 255, 64, 0, 0));
    assert_field_accepted(shape_of("go", 7, 300, 0, 0), AT_PROBES, 300, 4,
                          shape_of("go", 300, 300, 0, 0));
    for (size_t i = 0; i < COUNT_OF(rates); i++)
        assert_field_accepted(blocked, AT_RATE, bits_of_real(rates[i]), 8,
                              shape_of("blocked", 6, 512, 50, rates[i]));
    assert_field_accepted(blocked, AT_CAPACITY, BLOOM_CAPACITY_MAXIMUM, 8,
                          shape_of("blocked", 6, 512, BLOOM_CAPACITY_MAXIMUM, 0.01));
    assert_field_accepted(blocked, AT_CAPACITY, 0, 8, shape_of("blocked", 6, 512, 0, 0.01));
}

static void assert_bits_refused(struct bloom_shape shape, uint64_t bits, unsigned multiple) {
    char words[BLOOM_PROBLEM_SIZE];
    snprintf(words, sizeof words,
             "is invalid: its header says %llu bits, layout %s has a multiple of %u up to "
             "4503599627370496" ANEW,
             (unsigned long long)bits, shape.layout->name, multiple);
    assert_field_refused(shape, AT_BITS, bits, 8, words);
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
    for (size_t i = 0; i < COUNT_OF(never); i++) {
        assert_bits_refused(blocked, never[i], 512);
        assert_bits_refused(classic, never[i], 1);
    }
    for (size_t i = 0; i < COUNT_OF(no_multiples); i++)
        assert_bits_refused(blocked, no_multiples[i], 512);
    /* Possible sizes of filters that these bytes are not. */
    assert_field_refused(
        blocked, AT_BITS, BLOOM_BITS_MAXIMUM, 8,
        "was cut off or extended: it has 128 bytes, its header says 562949953421376; store it "
        "whole");
    assert_field_refused(
        classic, AT_BITS, 184, 8,
        "was cut off or extended: it has 88 bytes, its header says 87; store it whole");
    assert_field_refused(
        classic, AT_BITS, 193, 8,
        "was cut off or extended: it has 88 bytes, its header says 89; store it whole");
    /* 185 to 192 bits are 24 bytes all. */
    assert_field_refused(classic, AT_BITS, 185, 8,
                         "is damaged: bits are set beyond its last" RESTORE);
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

/* Exactly the header in memory, and no payload anywhere. */
static void read_header(const struct bloom_shape *expected, uint8_t *filter, size_t length) {
    uint8_t *header = copy_exactly(filter, BLOOM_HEADER_BYTES);
    struct bloom_shape shape;
    char problem[BLOOM_PROBLEM_SIZE] = "", difference[BLOOM_PROBLEM_SIZE];
    (void)length;
    assert_true(bloom_header_read(&shape, header, BLOOM_HEADER_BYTES, problem));
    assert_true(bloom_shape_same(&shape, expected, difference));
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

static void headers_alone(void **state) {
    (void)state;
    with_short_filters(read_header);
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
    const struct bloom_shape shape = shape_of("blocked", 6, 512, 50, 0.01);
    const struct {
        struct bloom_shape one, other;
        const char *words; /* NULL: no difference */
    } CASES[] = {
        {shape, shape, NULL},
        {shape, shape_of("classic", 6, 512, 50, 0.01), "layout blocked and classic"},
        {shape, shape_of("blocked", 6, 512, 51, 0.01), "n = 50 and 51"},
        {shape, shape_of("blocked", 6, 512, 50, 0.02), "p = 0.01 and 0.02"},
        /* Neighbouring numbers, which 15 digits do not tell apart. */
        {shape, shape_of("blocked", 6, 512, 50, 0.010000000000000002),
         "p = 0.01 and 0.010000000000000002"},
        {shape, shape_of("blocked", 6, 1024, 50, 0.01), "512 and 1024 bits"},
        {shape, shape_of("blocked", 7, 512, 50, 0.01), "6 and 7 hashes"},
        {shape_of("blocked", UINT32_MAX, UINT64_MAX, UINT64_MAX, -1.23456789012345e-300),
         shape_of("classic", UINT32_MAX - 1, UINT64_MAX - 1, UINT64_MAX - 1,
                  -2.23456789012345e-300),
         "layout blocked and classic; n = 18446744073709551615 and 18446744073709551614; "
         "p = -1.23456789012345e-300 and -2.23456789012345e-300; "
         "18446744073709551615 and 18446744073709551614 bits; 4294967295 and 4294967294 hashes"},
    };
    for (size_t i = 0; i < COUNT_OF(CASES); i++) {
        char problem[BLOOM_PROBLEM_SIZE];
        assert_int_equal(bloom_shape_same(&CASES[i].one, &CASES[i].other, problem),
                         CASES[i].words == NULL);
        if (CASES[i].words != NULL)
            assert_string_equal(problem, CASES[i].words);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST("Reading a filter returns the shape that was written",
             reading_returns_what_was_written),
        TEST("A filter is read and written at any address", any_address),
        TEST("Flipping a bit of a header or swapping two bytes is noticed", damaged_headers),
        TEST("A filter of any wrong length is refused", wrong_lengths),
        TEST("A wrong length is named together with the right one", words_for_wrong_lengths),
        TEST("Text, zeros and noise are no filters", no_filters),
        TEST("Another version is refused by naming both versions", other_versions),
        TEST("A wrong checksum is named", wrong_checksum),
        TEST("Unknown layouts and hashes are refused by number", unknown_layouts_and_hashes),
        TEST("Reserved bytes must be zero", reserved_bytes),
        TEST("A field is refused that says what cannot be", wrong_fields),
        TEST("A field is accepted up to its bounds", right_fields),
        TEST("A number of bits that the layout does not have is refused", wrong_bits),
        TEST("Bits set beyond the last are refused", bits_beyond_the_last),
        TEST("A payload is validated alone when its header was before", payloads_alone),
        TEST("A header is validated alone for a payload elsewhere", headers_alone),
        TEST("Layouts are found by number and by name in any case", layouts_by_name),
        TEST("Shapes that differ are told apart by what differs", differences_are_named),
    };
    return cmocka_run_group_tests_name("format", tests, NULL, NULL);
}
