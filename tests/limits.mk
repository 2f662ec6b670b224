# The numbers at which the code changes its way, each as NAME=SMALLEST:ODD. The sources have them
# behind #ifndef, with the value that users get. README.md says what stands on both sides of each.
# Two builds have other values, so that small tests cross all of them: in the one each limit is at
# its smallest, in the other at a prime a little above, or at what it has to be a multiple of.
LIMITS = \
    BLOOM_READS_BEFORE_READER=0:3 \
    BLOOM_LARGE_ROW_BYTES=0:523 \
    BLOOM_CACHE_BYTES=6000:30013 \
    BLOOM_ROW_SLOTS=2:4 \
    BLOOM_KEY_SET_UNPARTITIONED=1:3 \
    BLOOM_KEY_SET_PARTITION_BITS=1:11 \
    BLOOM_KEY_CHUNK_SHARE=1:3 \
    BLOOM_KEY_CHUNK_WORDS_FEWEST=4:5 \
    BLOOM_KEY_CHUNK_WORDS_MOST=4:11 \
    BLOOM_SETTLE_FACTOR=2:3 \
    BLOOM_KEYS_BETWEEN_QUESTIONS=1:3 \
    BLOOM_STACK_SLOTS=16:32 \
    BLOOM_BUILDER_WORDS=4:12 \
    BLOOM_MERGE_STRETCH=256:768 \
    BLOOM_KEY_ROOM_INSIDE=1:331 \
    BLOOM_BLOCKS_AHEAD=1:3 \
    BLOOM_FUSE_BATCH=1:3 \
    BLOOM_FUSE_PLACES_SEARCHED=1:3 \
    BLOOM_FUSE_WAITING_FIRST=3:5 \
    BLOOM_FUSE_KEYS_ASSIGNED=1:3 \
    BLOOM_LIST_STRETCH=64:211 \
    BLOOM_URL_PLAIN=0:1 \
    BLOOM_SQL_STRETCH=256:768 \
    BLOOM_KEYS_SEARCHED=2048:4099 \
    BLOOM_KEYS_LISTED=1:3 \
    BLOOM_LINE_TERMINATED=1:3 \
    BLOOM_KEPT_KEY_ROOM=0:3 \
    BLOOM_PIN_BUCKETS=1:3 \
    BLOOM_HUGE_PAGES_FROM=2097152:2097169 \
    BLOOM_CHECKED_TOGETHER=1:3

# $(call limits_of,1): flags that set each limit to its smallest; 2: to its odd value. Compilers
# warn that no number is below 0.
name_of_limit = $(firstword $(subst =, ,$(1)))
values_of_limit = $(subst :, ,$(lastword $(subst =, ,$(1))))
limits_of = -DOTHER_LIMITS -Wno-type-limits $(foreach limit,$(LIMITS),\
    -D$(call name_of_limit,$(limit))=$(word $(1),$(call values_of_limit,$(limit))))
