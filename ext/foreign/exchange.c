/* The table of foreign formats, the row of words that all of them have, and what several of them
 * check in the same words. */
#include "foreign/exchange.h"

#include "filter/header.h"

#include <math.h>
#include <string.h>

const struct bloom_exchange *const bloom_exchanges[] = {
    &bloom_exchange_guava,         &bloom_exchange_guava_utf16, &bloom_exchange_spark,
    &bloom_exchange_dcso,          &bloom_exchange_go,          &bloom_exchange_parquet,
    &bloom_exchange_parquet_int32, &bloom_exchange_redisbloom,  NULL,
};

const struct bloom_exchange *bloom_exchange_by_name(const char *name, size_t length) {
    for (size_t i = 0; bloom_exchanges[i] != NULL; i++)
        if (bloom_name_is(bloom_exchanges[i]->name, name, length))
            return bloom_exchanges[i];
    return NULL;
}

void bloom_exchange_list(char *text, size_t size) {
    text[0] = '\0';
    for (size_t i = 0; bloom_exchanges[i] != NULL; i++)
        bloom_name_append(text, size, bloom_exchanges[i]->name);
}

bool bloom_exchange_read(const struct bloom_exchange *format, const uint8_t *bytes, uint64_t length,
                         struct bloom_foreign *filter, bloom_problem problem) {
    static const uint8_t GZIP[] = {0x1f, 0x8b, 0x08}; /* RFC 1952, with its only method */
    *filter = (struct bloom_foreign){
        .format = format, .bytes = bytes, .length = length, .shape.layout = format->layout};
    if (format->read(filter, problem))
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

void bloom_exchange_import(const struct bloom_foreign *filter, uint8_t *ours) {
    uint8_t *payload = ours + bloom_header_bytes(&filter->shape), last[BLOOM_WORD_BYTES];
    uint64_t size = bloom_payload_bytes(&filter->shape), rest = size % BLOOM_WORD_BYTES;
    bloom_header_write(&filter->shape, ours);
    copy_words(payload, filter->row, size - rest, filter->big_endian);
    if (rest > 0) {
        copy_words(last, filter->row + size - rest, BLOOM_WORD_BYTES, filter->big_endian);
        memcpy(payload + size - rest, last, (size_t)rest);
    }
}

bool bloom_exchange_measure(const struct bloom_exchange *format, const struct bloom_shape *shape,
                            uint64_t *length, bloom_problem problem) {
    uint8_t header[BLOOM_EXCHANGE_HEADER_MOST];
    if (shape->layout != format->layout && shape->layout != format->older)
        return bloom_fail(problem, "has layout %s, which %s", shape->layout->name, format->unknown);
    if (format->fits != NULL && !format->fits(shape, problem))
        return false;
    *length = format->header(shape, NULL, header) + bloom_words_of(shape->bits) * BLOOM_WORD_BYTES;
    return true;
}

void bloom_exchange_export(const struct bloom_exchange *format, const struct bloom_shape *shape,
                           const uint8_t *payload, uint8_t *bytes) {
    uint8_t *row = bytes + format->header(shape, payload, bytes), last[BLOOM_WORD_BYTES] = {0};
    uint64_t size = bloom_payload_bytes(shape), rest = size % BLOOM_WORD_BYTES;
    copy_words(row, payload, size - rest, format->big_endian);
    if (rest > 0) {
        memcpy(last, payload + size - rest, (size_t)rest);
        copy_words(row + size - rest, last, BLOOM_WORD_BYTES, format->big_endian);
    }
}

bool bloom_foreign_has_header(const struct bloom_foreign *filter, uint64_t header,
                              bloom_problem problem) {
    return filter->length >= header ||
           bloom_fail(problem,
                      "are cut off: there are %" PRIu64
                      ", but the header of a filter of %s alone has %" PRIu64 ". %s",
                      filter->length, filter->format->system, header, filter->format->advice);
}

bool bloom_foreign_numbers(struct bloom_foreign *filter, uint64_t probes, uint64_t bits, bool rest,
                           bloom_problem problem) {
    struct bloom_shape *shape = &filter->shape;
    shape->probes = (uint32_t)probes;
    shape->bits = bits;
    return (rest && probes >= 1 && probes <= shape->layout->probes_maximum && bits >= 1 &&
            bits <= BLOOM_BITS_MAXIMUM && bloom_shape_probes_fit(shape)) ||
           bloom_fail(problem,
                      "are damaged: no filter of %s has k = %" PRIu64 " and m = %" PRIu64
                      " with the rest of their header. %s",
                      filter->format->system, probes, bits, filter->format->advice);
}

bool bloom_foreign_has_row(struct bloom_foreign *filter, uint64_t header, bloom_problem problem) {
    uint64_t expected = header + bloom_words_of(filter->shape.bits) * BLOOM_WORD_BYTES;
    filter->row = filter->bytes + header;
    return filter->length == expected ||
           bloom_fail(problem,
                      "were cut off or extended: there are %" PRIu64
                      ", but their header says %" PRIu64 ". %s",
                      filter->length, expected, filter->format->advice);
}

bool bloom_foreign_ends(const struct bloom_foreign *filter, uint64_t bits, bloom_problem problem) {
    const uint8_t *last = filter->row + bits / BLOOM_WORD_BITS * BLOOM_WORD_BYTES;
    return bits % BLOOM_WORD_BITS == 0 ||
           (filter->big_endian ? bloom_load64_big(last) : bloom_load64(last)) >>
                   bits % BLOOM_WORD_BITS ==
               0 ||
           bloom_fail(problem, "are damaged: bits are set beyond the last of the filter. %s",
                      filter->format->advice);
}

bool bloom_foreign_is_plain(const struct bloom_foreign *filter, bloom_problem problem) {
    static const uint8_t OBJECT[] = {0xac, 0xed, 0x00, 0x05};
    return filter->length < sizeof OBJECT || memcmp(filter->bytes, OBJECT, sizeof OBJECT) != 0 ||
           bloom_fail(problem, "are a serialised object of Java. Write the filter with "
                               "BloomFilter.writeTo instead of ObjectOutputStream");
}

bool bloom_foreign_has_java_row(struct bloom_foreign *filter, uint64_t header, uint32_t probes,
                                bloom_problem problem) {
    const uint32_t words = bloom_load32_big(filter->bytes + header - 4);
    filter->big_endian = true;
    return bloom_foreign_numbers(filter, probes, (uint64_t)words * BLOOM_WORD_BITS,
                                 words <= INT32_MAX, problem) &&
           bloom_foreign_has_row(filter, header, problem);
}

uint64_t bloom_foreign_count(const struct bloom_shape *shape, const uint8_t *payload) {
    double count = payload == NULL ? 0 : floor(shape->layout->estimate(shape, payload).count + 0.5);
    return count < (double)shape->capacity ? (uint64_t)count : shape->capacity;
}
