/* What a user chooses about keys: salts and key rules, from SipHash to headers and merges.
 *
 * SipHash is held against the 64 vectors of its reference implementation and some that OpenSSL
 * made; headers are pinned, made from the format's description by a program that shares no code
 * with this library. */
#include "library_test.h"

#include "filter/hash.h"
#include "filter/header.h"
#include "filter/version.h"

/* What messages end in. */
#define ANEW "; whoever wrote it must write it anew"

/* A rule for the tests alone: what is added has its first letter as its key, what is asked each of
 * its letters. */
static uint64_t toy_room(size_t length) {
    return length;
}

static bool toy_add(const uint8_t *text, size_t length, uint8_t *room, struct bloom_rule_key *key) {
    if (length > 0)
        room[0] = text[0];
    *key = (struct bloom_rule_key){room, 1};
    return length > 0;
}

static unsigned toy_ask(const uint8_t *text, size_t length, uint8_t *room,
                        struct bloom_rule_key keys[BLOOM_RULE_KEYS_MAXIMUM]) {
    unsigned count = 0;
    for (; count < length && count < BLOOM_RULE_KEYS_MAXIMUM; count++) {
        room[count] = text[count];
        keys[count] = (struct bloom_rule_key){room + count, 1};
    }
    return count;
}

static const struct bloom_key_rule TOY = {
    .name = "toy", .number = 200, .room = toy_room, .add = toy_add, .ask = toy_ask};

/* 00 01 02 ... 0f and ff fe ... f0, as two little-endian numbers each. */
static const uint64_t SALT[2] = {UINT64_C(0x0706050403020100), UINT64_C(0x0f0e0d0c0b0a0908)};
static const uint64_t OTHER_SALT[2] = {UINT64_C(0xf8f9fafbfcfdfeff), UINT64_C(0xf0f1f2f3f4f5f6f7)};

static struct bloom_shape salted(const struct bloom_layout *layout, uint32_t probes, uint64_t bits,
                                 uint64_t capacity, const uint64_t salt[2]) {
    return (struct bloom_shape){.layout = layout,
                                .probes = probes,
                                .bits = bits,
                                .capacity = capacity,
                                .rate = 0.01,
                                .keying = {.salted = true, .salt = {salt[0], salt[1]}}};
}

static void siphash_vectors(void **state) {
    (void)state;
    static const char *const VECTORS[] = {
        "310e0edd47db6f72", "fd67dc93c539f874", "5a4fa9d909806c0d", "2d7efbd796666785",
        "b7877127e09427cf", "8da699cd64557618", "cee3fe586e46c9cb", "37d1018bf50002ab",
        "6224939a79f5f593", "b0e4a90bdf82009e", "f3b9dd94c5bb5d7a", "a7ad6b22462fb3f4",
        "fbe50e86bc8f1e75", "903d84c02756ea14", "eef27a8e90ca23f7", "e545be4961ca29a1",
        "db9bc2577fcc2a3f", "9447be2cf5e99a69", "9cd38d96f0b3c14b", "bd6179a71dc96dbb",
        "98eea21af25cd6be", "c7673b2eb0cbf2d0", "883ea3e395675393", "c8ce5ccd8c030ca8",
        "94af49f6c650adb8", "eab8858ade92e1bc", "f315bb5bb835d817", "adcf6b0763612e2f",
        "a5c91da7acaa4dde", "716595876650a2a6", "28ef495c53a387ad", "42c341d8fa92d832",
        "ce7cf2722f512771", "e37859f94623f3a7", "381205bb1ab0e012", "ae97a10fd434e015",
        "b4a31508beff4d31", "81396229f0907902", "4d0cf49ee5d4dcca", "5c73336a76d8bf9a",
        "d0a704536ba93e0e", "925958fcd6420cad", "a915c29bc8067318", "952b79f3bc0aa6d4",
        "f21df2e41d4535f9", "87577519048f53a9", "10a56cf5dfcd9adb", "eb75095ccd986cd0",
        "51a9cb9ecba312e6", "96afadfc2ce666c7", "72fe52975a4364ee", "5a1645b276d592a1",
        "b274cb8ebf87870a", "6f9bb4203de7b381", "eaecb2a30b22a87f", "9924a43cc1315724",
        "bd838d3aafbf8db7", "0b1a2a3265d51aea", "135079a3231ce660", "932b2846e4d70666",
        "e1915f5cb1eca46c", "f325965ca16d629f", "575ff28e60381be5", "724506eb4c328a95",
    };
    const struct bloom_hashing *hashing = &bloom_hashing_siphash;
    assert_int_equal(hashing->number, 10);
    assert_int_equal(hashing->words, 1);
    for (size_t length = 0; length < COUNT_OF(VECTORS); length++) {
        uint8_t *key = allocate_exactly(length), bytes[8];
        uint64_t word = 0;
        for (size_t i = 0; i < length; i++)
            key[i] = (uint8_t)i;
        assert_true(hashing->bytes(SALT, key, length, &word));
        for (unsigned i = 0; i < 8; i++)
            bytes[i] = (uint8_t)(word >> 8 * i);
        assert_bytes_are(bytes, sizeof bytes, VECTORS[length]);
        free(key);
    }
}

static void siphash_of_keys(void **state) {
    (void)state;
    const struct bloom_hashing *hashing = &bloom_hashing_siphash;
    uint64_t word;
    assert_true(hashing->text(OTHER_SALT, "abc", 3, &word));
    assert_true(word == UINT64_C(0x7dbda16e3daca6cf));
    assert_true(hashing->text(OTHER_SALT, NULL, 0, &word));
    assert_true(word == UINT64_C(0x717ff0ee65f7b1ef));
    assert_true(hashing->integer(OTHER_SALT, 42, &word));
    assert_true(word == UINT64_C(0xb383733c76bcfbc6));
    assert_true(hashing->real(OTHER_SALT, 42.0, &word));
    assert_true(word == UINT64_C(0xb383733c76bcfbc6));
    assert_true(hashing->integer(OTHER_SALT, -1, &word));
    assert_true(word == UINT64_C(0x8c47a62f66f0b9af));
    assert_true(hashing->real(OTHER_SALT, 1.5, &word));
    assert_true(word == UINT64_C(0x4072872d351f1683));
}

static void golden_headers(void **state) {
    (void)state;
    static const uint64_t ZEROS[2] = {0, 0};
    struct {
        struct bloom_shape shape;
        size_t length;
        const char *header;
    } golden[] = {
        {salted(&bloom_layout_blocked, 6, 20 * 512, 1000, SALT), 128,
         "89424c4d01010a0106000000000000000028000000000000e8030000000000007b14ae47e17a843f"
         "000000000000000000000000000000002b8433efbeab5cc7000102030405060708090a0b0c0d0e0f"
         "00000000000000000000000000000000000000000000000000000000000000000000000000000000"
         "0000000000000000"},
        {salted(&bloom_layout_counting, 6, 20 * 2048, 1000, ZEROS), 128,
         "89424c4d01040a01060000000000000000a0000000000000e8030000000000007b14ae47e17a843f"
         "000000000000000000000000000000009590881f0f957b5900000000000000000000000000000000"
         "00000000000000000000000000000000000000000000000000000000000000000000000000000000"
         "0000000000000000"},
        {salted(&bloom_layout_blocked, 6, 512, 50, ZEROS), 64,
         "89424c4d0101010006000000c8000000000200000000000032000000000000007b14ae47e17a843f"
         "00000000000000000000000000000000dfced8226cc3b014"},
        {salted(&bloom_layout_blocked, 6, 512, 50, SALT), 128,
         "89424c4d01010a0106000000c8000000000200000000000032000000000000007b14ae47e17a843f"
         "000000000000000000000000000000003eb7bbed259b5947000102030405060708090a0b0c0d0e0f"
         "00000000000000000000000000000000000000000000000000000000000000000000000000000000"
         "0000000000000000"},
    };
    golden[2].shape.keying = (struct bloom_keying){.rule = &TOY};
    golden[3].shape.keying.rule = &TOY;
    for (size_t i = 0; i < COUNT_OF(golden); i++) {
        const struct bloom_shape *shape = &golden[i].shape;
        assert_int_equal(bloom_header_bytes(shape), golden[i].length);
        assert_int_equal(bloom_filter_bytes(shape), golden[i].length + shape->bits / 8);
        uint8_t *header = allocate_exactly(golden[i].length);
        memset(header, 0xee, golden[i].length);
        bloom_header_write(shape, header);
        assert_bytes_are(header, golden[i].length, golden[i].header);
        free(header);
    }
}

static void write_checksum(uint8_t *filter) {
    uint8_t covered[120];
    size_t length = filter[7] == 0 ? 56 : 120;
    memcpy(covered, filter, 56);
    if (length == 120)
        memcpy(covered + 56, filter + 64, 64);
    uint64_t checksum = bloom_hash_bytes(covered, length).words[0];
    for (unsigned i = 0; i < 8; i++)
        filter[56 + i] = (uint8_t)(checksum >> 8 * i);
}

/* Reads a copy of exact size. words is NULL for what must be accepted. */
static void assert_read(const uint8_t *filter, size_t length, const char *words) {
    uint8_t *copy = copy_exactly(filter, length);
    struct bloom_shape shape;
    char problem[BLOOM_PROBLEM_SIZE] = "";
    bool accepted = bloom_filter_read(&shape, copy, length, problem);
    if (words != NULL && words[0] != '\0')
        assert_string_equal(problem, words);
    assert_int_equal(accepted, words == NULL);
    free(copy);
}

static uint8_t *empty_filter(const struct bloom_shape *shape, size_t *length) {
    *length = (size_t)bloom_filter_bytes(shape);
    uint8_t *filter = allocate_exactly(*length);
    bloom_header_write(shape, filter);
    return filter;
}

static void salted_filters_are_read(void **state) {
    (void)state;
    struct bloom_shape shape = salted(&bloom_layout_blocked, 6, 512, 50, SALT), read;
    char problem[BLOOM_PROBLEM_SIZE] = "";
    size_t length;
    uint8_t *filter = empty_filter(&shape, &length);
    assert_int_equal(length, 192);
    assert_true(bloom_filter_read(&read, filter, length, problem));
    assert_true(bloom_shape_same(&read, &shape, problem));
    assert_ptr_equal(bloom_shape_hashing(&read), &bloom_hashing_siphash);
    assert_memory_equal(bloom_shape_seed(&read), SALT, sizeof SALT);
    for (unsigned bit = 0; bit < 8 * 128; bit++) {
        filter[bit / 8] ^= (uint8_t)(1u << bit % 8);
        assert_read(filter, length, "");
        filter[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    for (size_t shorter = 0; shorter < length; shorter++)
        assert_read(filter, shorter, "");
    assert_read(filter, 64,
                "is cut off: it has 64 bytes, its header alone has 128; store it whole");
    assert_read(filter, 128,
                "was cut off or extended: it has 128 bytes, its header says 192; store it whole");
    assert_read(filter, length, NULL);
    free(filter);
}

static void wrong_second_lines(void **state) {
    (void)state;
    static const char spare[] =
        "uses reserved bytes of its header, which release " BLOOM_RELEASE " of this "
        "extension does not know; get a newer release";
    struct bloom_shape shape = salted(&bloom_layout_blocked, 6, 512, 50, SALT);
    size_t length;
    uint8_t *filter = empty_filter(&shape, &length);
    for (size_t at = 13; at < 128; at = at == 15 ? 40 : at == 55 ? 80 : at + 1) {
        filter[at] = 1;
        write_checksum(filter);
        assert_read(filter, length, spare);
        filter[at] = 0;
    }
    for (unsigned lines = 2; lines < 256; lines++) {
        char words[BLOOM_PROBLEM_SIZE];
        snprintf(words, sizeof words,
                 "has %u further header lines, but release " BLOOM_RELEASE
                 " of this extension reads at most "
                 "1; get a newer release, or restore it if it is damaged",
                 lines);
        filter[7] = (uint8_t)lines;
        assert_read(filter, length, words);
    }
    filter[7] = 0;
    write_checksum(filter);
    assert_read(filter, length,
                "is invalid: its header has hash 10 and 0 further lines; hash 10 goes with one, "
                "the salt, and no other with any" ANEW);
    filter[7] = 1;
    filter[6] = 1;
    write_checksum(filter);
    assert_read(filter, length,
                "is invalid: its header has hash 1 and 1 further lines; hash 10 goes with one, the "
                "salt, and no other with any" ANEW);
    filter[5] = 2; /* classic */
    filter[6] = 10;
    write_checksum(filter);
    assert_read(filter, length,
                "has layout 2 and hash 10, which release " BLOOM_RELEASE
                " of this extension does not know; "
                "get a newer release");
    free(filter);
}

static void unknown_rules(void **state) {
    (void)state;
    const struct bloom_key_rule *rule = &TOY;
    struct bloom_shape shape = salted(&bloom_layout_blocked, 6, 512, 50, SALT);
    size_t length;
    uint8_t *filter = empty_filter(&shape, &length);
    assert_true(bloom_key_rule_by_number(0, &rule));
    assert_null(rule);
    for (unsigned number = 1; number < 256; number++) {
        char words[BLOOM_PROBLEM_SIZE];
        if (bloom_key_rule_by_number(number, &rule)) {
            assert_int_equal(rule->number, number);
            assert_in_range(number, 1, 127);
            assert_ptr_equal(bloom_key_rule_by_name(rule->name, strlen(rule->name)), rule);
            continue;
        }
        assert_null(rule);
        snprintf(
            words, sizeof words,
            "has key rule %u, which release " BLOOM_RELEASE " of this extension does not know; %s",
            number,
            number < 128 ? "get a newer release" : "it is private to the program that wrote it");
        filter[12] = (uint8_t)number;
        write_checksum(filter);
        assert_read(filter, length, words);
    }
    assert_null(bloom_key_rule_by_name("toy", 3));
    assert_null(bloom_key_rule_by_name("", 0));
    free(filter);
}

static void differences(void **state) {
    (void)state;
    struct bloom_shape one = salted(&bloom_layout_blocked, 6, 512, 50, SALT);
    struct bloom_shape other = salted(&bloom_layout_blocked, 6, 512, 50, OTHER_SALT);
    char problem[BLOOM_PROBLEM_SIZE];
    assert_false(bloom_shape_same(&one, &other, problem));
    assert_string_equal(problem, "two salts");
    other.keying = (struct bloom_keying){.rule = NULL};
    assert_false(bloom_shape_same(&one, &other, problem));
    assert_string_equal(problem, "a salt and none");
    assert_false(bloom_shape_same(&other, &one, problem));
    assert_string_equal(problem, "no salt and one");
    other.keying = one.keying;
    assert_true(bloom_shape_same(&one, &other, problem));
    other.keying.rule = &TOY;
    assert_false(bloom_shape_same(&one, &other, problem));
    assert_string_equal(problem, "key rule none and toy");
    assert_false(bloom_keying_same(&other.keying, &one.keying, problem));
    assert_string_equal(problem, "key rule toy and none");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST("SipHash has the values of its reference implementation", siphash_vectors),
        TEST("Keys of each type are hashed by the bytes of hash.h", siphash_of_keys),
        TEST("Headers with salts and key rules are written to the byte", golden_headers),
        TEST("A salted filter is read, and any change of its header noticed",
             salted_filters_are_read),
        TEST("Second lines, hashes and spare bytes that do not fit are refused",
             wrong_second_lines),
        TEST("A key rule that is not known is refused by number", unknown_rules),
        TEST("Salts and rules that differ are named, salts without their bytes", differences),
    };
    return cmocka_run_group_tests_name("keying", tests, NULL, NULL);
}
