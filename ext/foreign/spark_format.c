/* Format `spark`: what org.apache.spark.util.sketch.BloomFilter.writeTo writes and readFrom reads,
 * in Java, Scala or Python. Everything is big-endian:
 *
 *   version 1   version 2
 *    0           0     4   version
 *    4           4     4   k, signed
 *                8     4   seed, signed
 *    8          12     4   words, signed, so 1 to 2^31 - 1
 *   12          16         the words of 64 bits: bit b is bit b & 63 of word b >> 6
 *
 * Version 1 is layout spark1, version 2, which is Spark's own from release 4.1 on, spark2. n and p
 * are not stored. Spark reads whatever follows the version, no words and no hashes included; here
 * those are refused.
 */
#include "foreign/exchange.h"
#include "foreign/words.h"

#include "base/version.h"
#include "filter/layouts/classic_size.h"

#include <inttypes.h>

enum { SPARK_AT_PROBES = 4, SPARK_AT_SEED = 8, SPARK_VERSIONS = 2 };

/* By version. */
static const struct {
    const struct bloom_layout *layout;
    uint8_t header_bytes; /* the last four of which are the number of words */
} SPARK_FORMS[SPARK_VERSIONS + 1] = {
    {NULL, 12}, {&bloom_layout_spark1, 12}, {&bloom_layout_spark2, 16}};

static bool spark_read(unsigned form, struct bloom_shape *shape, const uint8_t *bytes,
                       uint64_t length, bloom_problem problem) {
    uint32_t version = length >= 4 ? bloom_load32_big(bytes) : 0;
    (void)form;
    if (!bloom_exchange_is_plain(bytes, length, problem))
        return false;
    if (length >= 4 && (version < 1 || version > SPARK_VERSIONS))
        return bloom_fail(
            problem,
            "are not a Spark filter that release %s of this extension knows: they begin with "
            "version %" PRIu32 ", but known are 1 and 2. Write the filter with "
            "BloomFilter.writeTo or get a newer release",
            BLOOM_RELEASE, version);
    uint64_t header = SPARK_FORMS[version].header_bytes;
    if (!bloom_exchange_has_header(length, header, "Spark filter",
                                   "Store all that BloomFilter.writeTo writes", problem))
        return false;
    uint32_t probes = bloom_load32_big(bytes + SPARK_AT_PROBES);
    uint32_t words = bloom_load32_big(bytes + header - 4);
    if (probes < 1 || probes > BLOOM_FOREIGN_PROBES_MAXIMUM)
        return bloom_fail(problem,
                          "say %" PRId64
                          " hashes per key, which must be 1 to %d. Write the filter again "
                          "with BloomFilter.writeTo",
                          bloom_signed32(probes), BLOOM_FOREIGN_PROBES_MAXIMUM);
    if (!bloom_exchange_words_fit(words, "Spark", problem))
        return false;
    if (!bloom_exchange_has_length(length, header + (uint64_t)words * BLOOM_WORD_BYTES,
                                   "Store exactly what BloomFilter.writeTo writes", problem))
        return false;
    *shape = (struct bloom_shape){.layout = SPARK_FORMS[version].layout,
                                  .probes = probes,
                                  .bits = (uint64_t)words * BLOOM_WORD_BITS};
    if (version == 2)
        shape->extra[0] = bloom_load32_big(bytes + SPARK_AT_SEED);
    return bloom_exchange_probes_fit(shape, problem);
}

static uint32_t spark_version(const struct bloom_layout *layout) {
    uint32_t version = SPARK_VERSIONS;
    while (version > 0 && SPARK_FORMS[version].layout != layout)
        version--;
    return version;
}

static void spark_read_payload(const struct bloom_shape *shape, const uint8_t *bytes,
                               uint64_t length, uint8_t *payload) {
    (void)length;
    bloom_swap_words(payload, bytes + SPARK_FORMS[spark_version(shape->layout)].header_bytes,
                     bloom_payload_bytes(shape));
}

static bool spark_measure(unsigned form, const struct bloom_shape *shape, uint64_t *length,
                          bloom_problem problem) {
    uint32_t version = spark_version(shape->layout);
    (void)form;
    if (version == 0)
        return bloom_fail(
            problem,
            "has layout %s, which Spark does not know. Build it with layout spark1, or spark2 "
            "for Spark 4.1 and newer",
            shape->layout->name);
    *length = SPARK_FORMS[version].header_bytes + bloom_payload_bytes(shape);
    return true;
}

static void spark_write(const struct bloom_shape *shape, const uint8_t *payload, uint8_t *bytes) {
    uint32_t version = spark_version(shape->layout);
    uint8_t header = SPARK_FORMS[version].header_bytes;
    bloom_store32_big(bytes, version);
    bloom_store32_big(bytes + SPARK_AT_PROBES, shape->probes);
    if (version == 2)
        bloom_store32_big(bytes + SPARK_AT_SEED, (uint32_t)shape->extra[0]);
    bloom_store32_big(bytes + header - 4, (uint32_t)(shape->bits / BLOOM_WORD_BITS));
    bloom_swap_words(bytes + header, payload, bloom_payload_bytes(shape));
}

const struct bloom_exchange bloom_exchange_spark = {
    .name = "spark",
    .read = spark_read,
    .read_payload = spark_read_payload,
    .measure = spark_measure,
    .write = spark_write,
};
