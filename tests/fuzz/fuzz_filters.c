/* Arbitrary bytes as a filter, on the library floor: what the gatekeeper lets through can be read,
 * written and counted within its bounds. And as another system's filter, in every format that is
 * known: what is let in becomes a filter that can be used and exported, and comes back as the same
 * bytes. */
#include "fuzz.h"

#include "foreign/exchange.h"

/* A filter of ours from bytes that have been found sound, in memory of exact size. */
static uint8_t *import(const struct bloom_foreign *foreign) {
    uint8_t *filter = fuzz_allocate(bloom_filter_bytes(&foreign->shape));
    bloom_exchange_import(foreign, filter);
    return filter;
}

/* NULL when the format does not have that filter. */
static uint8_t *export(const struct bloom_exchange *format, const struct bloom_shape *shape,
                       const uint8_t *filter, uint64_t *length) {
    char problem[BLOOM_PROBLEM_SIZE];
    if (!bloom_exchange_measure(format, shape, length, problem))
        return NULL;
    uint8_t *bytes = fuzz_allocate(*length);
    bloom_exchange_export(format, shape, filter + bloom_header_bytes(shape), bytes);
    return bytes;
}

static void try_import(const struct bloom_exchange *format, const uint8_t *bytes, size_t size) {
    char problem[BLOOM_PROBLEM_SIZE];
    struct bloom_foreign foreign, exchanged;
    struct bloom_shape again;
    uint64_t length;
    if (!bloom_exchange_read(format, bytes, size, &foreign, problem)) {
        if (problem[0] == '\0')
            abort();
        return;
    }
    const struct bloom_shape shape = foreign.shape;
    /* No more memory than the input has, so that a few bytes cannot ask for all there is. */
    if (bloom_filter_bytes(&shape) > BLOOM_HEADER_BYTES + 8 * (uint64_t)size)
        abort();
    uint8_t *filter = import(&foreign);
    if (!bloom_filter_read(&again, filter, bloom_filter_bytes(&shape), problem) ||
        !bloom_shape_same(&shape, &again, problem))
        abort();

    /* What came from there can go back, and is the same filter when it comes again. */
    uint8_t *exported = export(format, &shape, filter, &length);
    if (exported == NULL || !bloom_exchange_read(format, exported, length, &exchanged, problem) ||
        !bloom_shape_same(&shape, &exchanged.shape, problem))
        abort();
    uint8_t *twice = import(&exchanged);
    if (memcmp(filter, twice, (size_t)bloom_filter_bytes(&shape)) != 0)
        abort();
    free(twice);
    free(exported);

    fuzz_use_filter(&shape, filter);
    free(export(format, &shape, filter, &length));
    free(filter);
}

/* Whatever is a filter of ours goes out in every format that has it. */
static void try_filter(uint8_t *bytes, size_t size) {
    char problem[BLOOM_PROBLEM_SIZE];
    struct bloom_shape shape;
    uint64_t length;
    if (!bloom_filter_read(&shape, bytes, size, problem))
        return;
    for (size_t i = 0; bloom_exchanges[i] != NULL; i++)
        free(export(bloom_exchanges[i], &shape, bytes, &length));
    fuzz_use_filter(&shape, bytes);
}

/* Numbers in the header of a format that a fuzzer would have to guess: constants, where unit is 0,
 * and how many units of so many bits the payload has. What else the header says is the fuzzer's. */
struct number {
    unsigned at, width, unit, constant;
};

static const struct fit {
    const struct bloom_exchange *format;
    size_t header;
    bool big_endian;
    struct number numbers[8]; /* the last one has no width */
} FITS[] = {
    {&bloom_exchange_guava, 6, true, {{2, 4, 64, 0}}},
    {&bloom_exchange_guava_utf16, 6, true, {{2, 4, 64, 0}}},
    /* More hashes than 255 take too long. */
    {&bloom_exchange_spark, 12, true, {{0, 4, 0, 1}, {4, 3, 0, 0}, {8, 4, 64, 0}}},
    {&bloom_exchange_spark, 16, true, {{0, 4, 0, 2}, {4, 3, 0, 0}, {12, 4, 64, 0}}},
    {&bloom_exchange_dcso, 48, false, {{0, 8, 0, 1}, {25, 7, 0, 0}, {32, 8, 1, 0}}},
    {&bloom_exchange_go, 24, true, {{0, 8, 1, 0}, {8, 7, 0, 0}, {16, 8, 1, 0}}},
    {&bloom_exchange_redisbloom,
     73,
     false,
     {{0, 8, 0, 0},
      {8, 4, 0, 1},
      {12, 4, 0, 5},
      {20, 8, 8, 0},
      {28, 8, 1, 0},
      {36, 8, 0, 0},
      {72, 1, 0, 0}}},
};

/* Makes them right for a payload of whole words. */
static void put_numbers(const struct fit *fit, uint8_t *bytes, size_t size) {
    const uint64_t bits = 8 * (uint64_t)(size - fit->header);
    for (const struct number *number = fit->numbers; number->width > 0; number++) {
        const uint64_t value = number->unit > 0 ? bits / number->unit : number->constant;
        for (unsigned i = 0; i < number->width; i++) {
            const unsigned place = fit->big_endian ? number->width - 1 - i : i;
            bytes[number->at + place] = (uint8_t)(value >> 8 * i);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    for (size_t i = 0; bloom_exchanges[i] != NULL; i++)
        try_import(bloom_exchanges[i], data, size);
    uint8_t *bytes = fuzz_copy(data, size);
    for (const struct fit *fit = FITS; fit < FITS + sizeof FITS / sizeof *FITS; fit++) {
        if (size > fit->header && (size - fit->header) % 8 == 0) {
            memcpy(bytes, data, size);
            put_numbers(fit, bytes, size);
            try_import(fit->format, bytes, size);
        }
    }
    if (size > 0)
        memcpy(bytes, data, size);
    do
        try_filter(bytes, size);
    while (fuzz_repair(bytes, size));
    free(bytes);
    return 0;
}
