/* Arbitrary bytes as another system's filter, in every format that is known, on the library floor: what is let in
 * becomes a filter that can be used and exported, and comes back as the same bytes. */
#include "fuzz.h"

#include "exchange/exchange.h"

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
static uint8_t *import(const struct bloom_exchange *format, const struct bloom_shape *shape,
                       const uint8_t *bytes) {
    uint8_t *filter = malloc((size_t)bloom_filter_bytes(shape));
    if (filter == NULL)
        abort();
    bloom_header_write(shape, filter);
    format->read_payload(shape, bytes, filter + BLOOM_HEADER_BYTES);
    return filter;
}

static uint8_t *export(const struct bloom_exchange *format, const struct bloom_shape *shape,
                       const uint8_t *filter, uint64_t *length) {
    char problem[BLOOM_PROBLEM_SIZE];
    if (!format->measure(shape, length, problem))
        abort(); /* what came from there can go back */
    uint8_t *bytes = malloc((size_t)*length);
    if (bytes == NULL)
        abort();
    format->write(shape, filter + BLOOM_HEADER_BYTES, bytes);
    return bytes;
}

static void try(const struct bloom_exchange *format, const uint8_t *bytes, size_t size) {
    char problem[BLOOM_PROBLEM_SIZE];
    struct bloom_shape shape, again;
    uint64_t length;
    if (!format->read(&shape, bytes, size, problem)) {
        if (problem[0] == '\0')
            abort();
        return;
    }
    /* No more memory than the input has, so that a few bytes cannot ask for all there is. */
    if (bloom_filter_bytes(&shape) > BLOOM_HEADER_BYTES + 8 * (uint64_t)size)
        abort();
    uint8_t *filter = import(format, &shape, bytes);
    if (!bloom_filter_read(&again, filter, bloom_filter_bytes(&shape), problem) ||
        !bloom_shape_same(&shape, &again, problem))
        abort();

    /* Written again it is what was read; where one filter has several forms there, at least the same filter. */
    uint8_t *exported = export(format, &shape, filter, &length);
    if (format == &bloom_exchange_guava && (length != size || memcmp(exported, bytes, size) != 0))
        abort();
    if (!format->read(&again, exported, length, problem) ||
        !bloom_shape_same(&shape, &again, problem))
        abort();
    uint8_t *twice = import(format, &again, exported);
    if (memcmp(filter, twice, (size_t)bloom_filter_bytes(&shape)) != 0)
        abort();
    free(twice);
    free(exported);

    fuzz_use_filter(&shape, filter);
    exported = export(format, &shape, filter, &length);
    free(exported);
    free(filter);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (format_count == 0)
        find_formats();
    uint8_t *bytes = fuzz_copy(data, size);
    for (size_t i = 0; i < format_count; i++)
        try(formats[i], bytes, size);
    /* Guava says its length in words, from which the fuzzer would have to guess; here they are right. */
    if (size >= 6 && (size - 6) % 8 == 0) {
        for (unsigned i = 0; i < 4; i++)
            bytes[2 + i] = (uint8_t)((size - 6) / 8 >> (24 - 8 * i));
        bytes[0] &= 1;
        try(&bloom_exchange_guava, bytes, size);
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
            if (formats[i]->measure(&shape, &length, problem))
                free(export(formats[i], &shape, bytes, &length));
    free(bytes);
    return 0;
}
