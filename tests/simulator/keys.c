/* The keys. A key is a number below UNIVERSE. An even one stands for that number, an odd one for a
 * text. What columns of each type and key rules make of keys, tests/sql and tests/documentation
 * have; here it is enough that a table has a type, or a salt, which it must not forget. */
#include "simulator.h"

#include <stdio.h>

enum { KEY_TEXT_SIZE = 16 };

#define SALTING ", salt='000102030405060708090a0b0c0d0e0f'"

const struct key_type_properties TYPES[KEY_TYPES] = {
    [AS_IT_IS] = {"", 0, {.salted = false}},
    [TEXTS] = {", key=TEXT", 2, {.salted = false}},
    [SALTED] = {SALTING,
                0,
                {.salted = true,
                 .salt = {UINT64_C(0x0706050403020100), UINT64_C(0x0f0e0d0c0b0a0908)}}},
};

void bind_key(sqlite3_stmt *statement, unsigned key) {
    char text[KEY_TEXT_SIZE];
    if (key % 2 == 0)
        sqlite3_bind_int64(statement, 1, key);
    else
        sqlite3_bind_text(statement, 1, text, snprintf(text, sizeof text, "k%u", key),
                          SQLITE_TRANSIENT);
}

void bind_list(sqlite3_stmt *statement, const unsigned *keys, unsigned count) {
    static char json[UNIVERSE * (KEY_TEXT_SIZE + 3) + 3];
    size_t used = 0;
    for (unsigned i = 0; i < count; i++)
        used += (size_t)sprintf(json + used, keys[i] % 2 ? "%c\"k%u\"" : "%c%u", i > 0 ? ',' : '[',
                                keys[i]);
    sprintf(json + used, count > 0 ? "]" : "[]");
    sqlite3_bind_text(statement, 1, json, -1, SQLITE_TRANSIENT);
}

void bind_keys(sqlite3_stmt *statement, const struct keys *keys) {
    unsigned list[UNIVERSE], count = 0;
    for (unsigned key = 0; key < UNIVERSE; key++)
        if (keys->have[key])
            list[count++] = key;
    bind_list(statement, list, count);
}

const uint64_t *words_of(enum key_type type, unsigned key) {
    static uint64_t result[2];
    const struct bloom_keying *keying = &TYPES[type].keying;
    const struct bloom_hashing *hashing =
        keying->salted ? &bloom_hashing_siphash : &bloom_hashing_murmur3;
    char text[KEY_TEXT_SIZE];
    if (key % 2 == 0 && type != TEXTS)
        hashing->integer(keying->salt, key, result);
    else
        hashing->bytes(keying->salt, text,
                       (size_t)snprintf(text, sizeof text, key % 2 ? "k%u" : "%u", key), result);
    return result;
}
