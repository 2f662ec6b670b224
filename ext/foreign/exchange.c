/* The table of foreign formats, and what several of them check in the same words. */
#include "foreign/exchange.h"
#include "foreign/words.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static const struct bloom_exchange *const FORMATS[] = {
    &bloom_exchange_guava,         &bloom_exchange_guava_utf16, &bloom_exchange_spark,
    &bloom_exchange_dcso,          &bloom_exchange_go,          &bloom_exchange_parquet,
    &bloom_exchange_parquet_int32, &bloom_exchange_redisbloom,
};

#define FORMAT_COUNT (sizeof FORMATS / sizeof *FORMATS)

const struct bloom_exchange *bloom_exchange_by_name(const char *name, size_t length) {
    for (size_t i = 0; i < FORMAT_COUNT; i++)
        if (bloom_name_is(FORMATS[i]->name, name, length))
            return FORMATS[i];
    return NULL;
}

void bloom_exchange_list(char *text, size_t size) {
    text[0] = '\0';
    for (size_t i = 0; i < FORMAT_COUNT; i++)
        bloom_name_append(text, size, FORMATS[i]->name);
}

bool bloom_exchange_read(const struct bloom_exchange *format, struct bloom_shape *shape,
                         struct bloom_row *row, const uint8_t *bytes, uint64_t length,
                         bloom_problem problem) {
    static const uint8_t GZIP[] = {0x1f, 0x8b, 0x08}; /* RFC 1952, with its only method */
    if (format->read(format->layout, shape, row, bytes, length, problem))
        return true;
    if (length >= sizeof GZIP && memcmp(bytes, GZIP, sizeof GZIP) == 0)
        bloom_fail(problem, "are compressed with gzip. Unpack the file first, with gunzip");
    return false;
}

static void copy_words(uint8_t *into, const uint8_t *from, uint64_t bytes, bool swaps) {
    if (!swaps)
        memcpy(into, from, (size_t)bytes);
    else
        for (uint64_t i = 0; i < bytes; i += BLOOM_WORD_BYTES)
            bloom_store64_big(into + i, bloom_load64(from + i));
}

void bloom_row_read(const struct bloom_row *row, const struct bloom_shape *shape,
                    uint8_t *payload) {
    uint64_t size = bloom_payload_bytes(shape), rest = size % BLOOM_WORD_BYTES;
    uint8_t last[BLOOM_WORD_BYTES];
    copy_words(payload, row->bytes, size - rest, row->big_endian);
    if (rest > 0) {
        copy_words(last, row->bytes + size - rest, BLOOM_WORD_BYTES, row->big_endian);
        memcpy(payload + size - rest, last, (size_t)rest);
    }
}

void bloom_row_write(uint8_t *row, bool big_endian, const struct bloom_shape *shape,
                     const uint8_t *payload) {
    uint64_t size = bloom_payload_bytes(shape), rest = size % BLOOM_WORD_BYTES;
    uint8_t last[BLOOM_WORD_BYTES] = {0};
    copy_words(row, payload, size - rest, big_endian);
    if (rest > 0) {
        memcpy(last, payload + size - rest, (size_t)rest);
        copy_words(row + size - rest, last, BLOOM_WORD_BYTES, big_endian);
    }
}

bool bloom_row_ends(const struct bloom_row *row, uint64_t bits, const char *advice,
                    bloom_problem problem) {
    const uint8_t *last = row->bytes + bits / BLOOM_WORD_BITS * BLOOM_WORD_BYTES;
    return bits % BLOOM_WORD_BITS == 0 ||
           (row->big_endian ? bloom_load64_big(last) : bloom_load64(last)) >>
                   bits % BLOOM_WORD_BITS ==
               0 ||
           bloom_fail(problem, "are damaged: bits are set beyond the last of the filter. %s",
                      advice);
}

bool bloom_exchange_has_header(uint64_t length, uint64_t header, const char *filter,
                               const char *advice, bloom_problem problem) {
    return length >= header || bloom_fail(problem,
                                          "are cut off: there are %" PRIu64
                                          ", but the header of a %s alone has %" PRIu64 ". %s",
                                          length, filter, header, advice);
}

bool bloom_exchange_has_length(uint64_t length, uint64_t expected, const char *advice,
                               bloom_problem problem) {
    return length == expected || bloom_fail(problem,
                                            "were cut off or extended: there are %" PRIu64
                                            ", but their header says %" PRIu64 ". %s",
                                            length, expected, advice);
}

bool bloom_exchange_has_layout(const struct bloom_shape *shape, const struct bloom_layout *layout,
                               const char *system, bloom_problem problem) {
    return shape->layout == layout ||
           bloom_fail(problem, "has layout %s, which %s does not know. Build it with layout %s",
                      shape->layout->name, system, layout->name);
}

bool bloom_exchange_is_plain(const uint8_t *bytes, uint64_t length, bloom_problem problem) {
    static const uint8_t OBJECT[] = {0xac, 0xed, 0x00, 0x05};
    return length < sizeof OBJECT || memcmp(bytes, OBJECT, sizeof OBJECT) != 0 ||
           bloom_fail(problem, "are a serialised object of Java. Write the filter with "
                               "BloomFilter.writeTo instead of ObjectOutputStream");
}

bool bloom_exchange_words_fit(uint32_t words, const char *system, bloom_problem problem) {
    return (words >= 1 && words <= INT32_MAX) ||
           bloom_fail(problem,
                      "are damaged: they say %" PRId64
                      " words of 64 bits, but a %s filter has 1 to "
                      "%" PRId32 ". Write the filter again with BloomFilter.writeTo",
                      bloom_signed32(words), system, INT32_MAX);
}

bool bloom_exchange_probes_fit(const struct bloom_shape *shape, bloom_problem problem) {
    if (bloom_shape_probes_fit(shape))
        return true;
    return bloom_fail(
        problem,
        "are damaged: their header says %" PRIu32 " hashes for %" PRIu64
        " bits, but more than 255 need as many bits. Write them again where they come from",
        shape->probes, shape->bits);
}

uint64_t bloom_exchange_count(const struct bloom_shape *shape, const uint8_t *payload) {
    double count = floor(shape->layout->estimate(shape, payload).count + 0.5);
    return count < (double)shape->capacity ? (uint64_t)count : shape->capacity;
}
