/* Arbitrary bytes as another system's filter, in every format that is known, on the library floor:
 * what is let in becomes a filter that can be used and exported, and comes back as the same bytes.
 */
#include "fuzz.h"

#include "foreign/exchange.h"

/* The formats, by the names that the library lists: 'one', 'another'. */
static const struct bloom_exchange *formats[16];
static size_t format_count;

static void find_formats(void) {
    char list[BLOOM_PROBLEM_SIZE];
    bloom_exchange_list(list, sizeof list);
    for (char *name = strtok(list, "', ");
         name != NULL && format_count < sizeof formats / sizeof *formats;
         name = strtok(NULL, "', ")) {
        formats[format_count] = bloom_exchange_by_name(name, strlen(name));
        if (formats[format_count++] == NULL)
            abort();
    }
    if (format_count == 0)
        abort();
}

/* A filter of ours from bytes that have been found sound, in memory of exact size. */
static uint8_t *import(const struct bloom_foreign *foreign) {
    uint8_t *filter = malloc((size_t)bloom_filter_bytes(&foreign->shape));
    if (filter == NULL)
        abort();
    bloom_exchange_import(foreign, filter);
    return filter;
}

static uint8_t *export(const struct bloom_exchange *format, const struct bloom_shape *shape,
                       const uint8_t *filter, uint64_t *length) {
    char problem[BLOOM_PROBLEM_SIZE];
    if (!bloom_exchange_measure(format, shape, length, problem))
        abort(); /* what came from there can go back */
    uint8_t *bytes = malloc((size_t)*length);
    if (bytes == NULL)
        abort();
    bloom_exchange_export(format, shape, filter + bloom_header_bytes(shape), bytes);
    return bytes;
}

/* Whether what was read has come back: every byte of it, but for the counters of adds and the data
 * after a filter of DCSO. The formats that read several forms write the usual one. */
static bool is_back(const struct bloom_exchange *format, const uint8_t *bytes, size_t size,
                    const uint8_t *exported, uint64_t length) {
    if (format == &bloom_exchange_go || format == &bloom_exchange_parquet ||
        format == &bloom_exchange_parquet_int32)
        return true;
    if (format == &bloom_exchange_dcso)
        return length <= size && memcmp(exported, bytes, 40) == 0 &&
               memcmp(exported + 48, bytes + 48, (size_t)length - 48) == 0;
    if (format == &bloom_exchange_redisbloom)
        return length == size && memcmp(exported + 8, bytes + 8, 28) == 0 &&
               memcmp(exported + 44, bytes + 44, size - 44) == 0;
    return length == size && memcmp(exported, bytes, size) == 0;
}

static void try(const struct bloom_exchange *format, const uint8_t *bytes, size_t size) {
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

    /* Written again it is what was read, or at least the same filter. */
    uint8_t *exported = export(format, &shape, filter, &length);
    if (!is_back(format, bytes, size, exported, length))
        abort();
    if (!bloom_exchange_read(format, exported, length, &exchanged, problem) ||
        !bloom_shape_same(&shape, &exchanged.shape, problem))
        abort();
    uint8_t *twice = import(&exchanged);
    if (memcmp(filter, twice, (size_t)bloom_filter_bytes(&shape)) != 0)
        abort();
    free(twice);
    free(exported);

    fuzz_use_filter(&shape, filter);
    exported = export(format, &shape, filter, &length);
    free(exported);
    free(filter);
}

static void put_big(uint8_t *bytes, unsigned width, uint64_t value) {
    for (unsigned i = 0; i < width; i++)
        bytes[i] = (uint8_t)(value >> 8 * (width - 1 - i));
}

static bool fit_guava(uint8_t *bytes, size_t size) {
    put_big(bytes + 2, 4, (size - 6) / 8);
    bytes[0] &= 1;
    return (size - 6) % 8 == 0;
}

static bool fit_spark1(uint8_t *bytes, size_t size) {
    put_big(bytes, 4, 1);
    put_big(bytes + 8, 4, (size - 12) / 8);
    bytes[4] = bytes[5] = bytes[6] = 0; /* more hashes take too long */
    return (size - 12) % 8 == 0;
}

static bool fit_spark2(uint8_t *bytes, size_t size) {
    put_big(bytes, 4, 2);
    put_big(bytes + 12, 4, (size - 16) / 8);
    bytes[4] = bytes[5] = bytes[6] = 0; /* more hashes take too long */
    return (size - 16) % 8 == 0;
}

/* Up to 63 bits of the last word are not in use, which are zero more often than not. */
static bool fit_dcso(uint8_t *bytes, size_t size) {
    bloom_store64(bytes, 1);
    memset(bytes + 25, 0, 7);
    bloom_store64(bytes + 32, (size - 48) / 8 * 64 - (bytes[32] & 63));
    return size >= 56;
}

static bool fit_go(uint8_t *bytes, size_t size) {
    uint64_t bits = (size - 24) / 8 * 64 - (bytes[7] & 63);
    memset(bytes + 8, 0, 7);
    put_big(bytes, 8, bits);
    uint64_t row = bytes[23] & 2 ? (bits + 63) / 64 * 64 : bits;
    if (bytes[23] & 1)
        put_big(bytes + 16, 8, row);
    else
        bloom_store64(bytes + 16, row);
    return (size - 24) % 8 == 0 && size > 24;
}

static bool fit_parquet(uint8_t *bytes, size_t size) {
    static const uint8_t fields[] = {0x1c, 0x1c, 0, 0, 0x1c, 0x1c, 0, 0, 0x1c, 0x1c, 0, 0, 0};
    size_t length = (size - 16) / 32 * 32; /* 64 to 4096 */
    bytes[0] = 0x15;
    bytes[1] = (uint8_t)(2 * length | 0x80);
    bytes[2] = (uint8_t)(2 * length >> 7);
    memcpy(bytes + 3, fields, sizeof fields);
    return length + 16 == size && length >= 64;
}

static bool fit_redisbloom(uint8_t *bytes, size_t size) {
    bloom_store32(bytes + 8, 1);
    bloom_store32(bytes + 12, bytes[12] & 8 ? 13 : 5);
    bloom_store64(bytes + 20, size - 73);
    bloom_store64(bytes + 28, 8 * (uint64_t)(size - 73));
    memcpy(bytes + 36, bytes, 8);
    bytes[72] = 0;
    return (size - 73) % 8 == 0;
}

static const struct {
    const struct bloom_exchange *format;
    size_t header;
    bool (*fit)(uint8_t *bytes, size_t size);
} fits[] = {
    {&bloom_exchange_guava, 6, fit_guava},
    {&bloom_exchange_guava_utf16, 6, fit_guava},
    {&bloom_exchange_spark, 12, fit_spark1},
    {&bloom_exchange_spark, 16, fit_spark2},
    {&bloom_exchange_dcso, 48, fit_dcso},
    {&bloom_exchange_go, 24, fit_go},
    {&bloom_exchange_parquet, 16, fit_parquet},
    {&bloom_exchange_parquet_int32, 16, fit_parquet},
    {&bloom_exchange_redisbloom, 73, fit_redisbloom},
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (format_count == 0)
        find_formats();
    uint8_t *bytes = fuzz_copy(data, size);
    for (size_t i = 0; i < format_count; i++)
        try(formats[i], bytes, size);
    /* Lengths, which the fuzzer would have to guess, made right for each format in turn. */
    for (unsigned i = 0; i < sizeof fits / sizeof *fits; i++) {
        if (size > 0)
            memcpy(bytes, data, size);
        if (size >= fits[i].header && fits[i].fit(bytes, size))
            try(fits[i].format, bytes, size);
    }
    /* Whatever is a filter of ours goes out in every format that has it. */
    char problem[BLOOM_PROBLEM_SIZE];
    struct bloom_shape shape;
    uint64_t length;
    if (size > 0)
        memcpy(bytes, data, size);
    fuzz_repair(bytes, size);
    if (bloom_filter_read(&shape, bytes, size, problem))
        for (size_t i = 0; i < format_count; i++)
            if (bloom_exchange_measure(formats[i], &shape, &length, problem))
                free(export(formats[i], &shape, bytes, &length));
    free(bytes);
    return 0;
}
