/* Limits: numbers at which the code takes another way. No limit changes an answer or a byte.
 *
 * Users get constants. In the builds that tests use (BLOOM_TEST), tests/runner/limits.c reads them
 * from the environment, so that small tests cross each: BLOOM_LIMITS=smallest sets the second
 * column, and BLOOM_LIMITS=odd the third, a prime a little above, or what the limit must be a
 * multiple of. The names after a comment are of the tests on both sides of the number that users
 * get. */
#ifndef BLOOM_BASE_LIMITS_H
#define BLOOM_BASE_LIMITS_H

/* Arrays have BLOOM_MOST(name) elements, so no limit is larger than the number that users get. */
#define BLOOM_MOST(name) BLOOM_MOST_##name

/* clang-format off */
#define BLOOM_LIMITS(LIMIT) \
    /* A set of more keys is divided. With fewer, one partition with its table (64 KiB) is in \
     * cache anyway. key_set_test.c */ \
    LIMIT(key_set_unpartitioned, 4096, 1, 3) \
    /* How many upper bits of the first word of a key choose its partition. key_set_test.c */ \
    LIMIT(key_set_partition_bits, 9, 1, 7) \
    /* A chunk has room for an eighth of what its partition holds, so that an eighth is wasted at \
     * most; from 256 bytes, which serve small groups, to 4 KiB. key_set_test.c */ \
    LIMIT(key_chunk_share, 8, 1, 3) \
    LIMIT(key_chunk_words_fewest, 32, 4, 5) \
    LIMIT(key_chunk_words_most, 510, 4, 11) \
    /* A partition is searched for duplicates whenever it has grown to this factor times its size \
     * after the last search. So repeated keys cost at most this factor in memory, and distinct \
     * ones a third more time. key_set_test.c */ \
    LIMIT(settle_factor, 4, 2, 3) \
    /* Keys between two questions of a set whether to go on: about 1 ms. passes_test.c */ \
    LIMIT(keys_between_questions, 30000, 1, 3) \
    /* Duplicates are found in a table on the stack if so many words are enough. A power of two. \
     * key_set_test.c */ \
    LIMIT(stack_slots, 256, 16, 32) \
    /* Words of keys that wait until their bits are set together, so that cache misses overlap. A \
     * multiple of BLOOM_HASH_WORDS_MAXIMUM. interface_test.c */ \
    LIMIT(builder_words, 256, 4, 12) \
    /* Bytes that a merge combines before it asks whether to go on. A multiple of the block of \
     * every layout. passes_test.c */ \
    LIMIT(merge_stretch, 4 << 20, 256, 768) \
    /* The keys of a text need no allocation if they need no more bytes. That is enough for URLs \
     * of 432 bytes. interface_test.c */ \
    LIMIT(key_room_inside, 2048, 1, 331) \
    /* Places of a fuse filter that are searched together for those that only one key has. \
     * fuse_test.c */ \
    LIMIT(fuse_places_searched, 256, 1, 3) \
    /* Room for places that wait to be peeled, at first. It is doubled when they need more. \
     * fuse_test.c */ \
    LIMIT(fuse_waiting_first, 64, 3, 5) \
    /* Keys that are given their numbers between two questions. passes_test.c */ \
    LIMIT(fuse_keys_assigned, 16384, 1, 3) \
    /* Bytes of a list, in whole lines, that are searched for an entry before it asks whether to \
     * go on. passes_test.c */ \
    LIMIT(list_stretch, 1 << 18, 64, 211) \
    /* With 0, plain URLs are read like all others. plain_test.py */ \
    LIMIT(url_plain, 1, 0, 1) \
    /* Bytes that an SQL function works on between two polls. A multiple of the block of every \
     * layout. passes_test.c */ \
    LIMIT(sql_stretch, 4 << 20, 256, 768) \
    /* Numbers that bloom_keys searches between two polls, and keys that it reads at a time. \
     * passes_test.c, and sql/bitmap.test */ \
    LIMIT(keys_searched, 32 << 20, 2048, 4099) \
    LIMIT(keys_listed, 128, 1, 3) \
    /* A shorter line of bloom_lines is given to SQLite with a zero after it. sql/lines.test */ \
    LIMIT(line_terminated, 128, 1, 3) \
    /* Memory for a key of a filter table that is larger is freed after use. table_test.py */ \
    LIMIT(kept_key_room, 4096, 0, 3) \
    /* Pins have serial numbers, so they fall into the buckets in turn. sql/pins.test */ \
    LIMIT(pin_buckets, 256, 1, 3) \
    /* From this size on, memory is in pages of 2 MB, because it is read at random places. 2 MiB \
     * at least. table_test.py, sizes_test.py */ \
    LIMIT(huge_pages_from, 32 << 20, 2 << 20, (2 << 20) + 17) \
    /* Rows that a query reads by statement before it opens a BLOB handle. sql/table_damage.test, \
     * cost_test.c */ \
    LIMIT(reads_before_reader, 4, 0, 3) \
    /* A row of so many bytes is read by the handle at once, because copying it takes longer than \
     * opening the handle. sizes_test.py */ \
    LIMIT(large_row_bytes, 16000, 0, 523) \
    /* Bytes of memory that the filter tables of a connection may use, and that those of all \
     * connections may keep while they are idle. If the cache_size of a database is larger, it \
     * counts instead. table_test.py */ \
    LIMIT(cache_bytes, 32 << 20, 6000, 30013) \
    /* Slots of the table of known rows at first. A power of two. */ \
    LIMIT(row_slots, 16, 2, 4)
/* clang-format on */

#define BLOOM_LIMIT_MEMBER(name, users, smallest, odd) unsigned name;
#define BLOOM_LIMIT_USERS(name, users, smallest, odd) .name = (users),
#define BLOOM_LIMIT_MOST(name, users, smallest, odd) BLOOM_MOST(name) = (users),

struct bloom_limits {
    BLOOM_LIMITS(BLOOM_LIMIT_MEMBER)
};
enum { BLOOM_LIMITS(BLOOM_LIMIT_MOST) };

#ifdef BLOOM_TEST
extern struct bloom_limits bloom_limits;
#else
static const struct bloom_limits bloom_limits = {BLOOM_LIMITS(BLOOM_LIMIT_USERS)};
#endif

#endif
