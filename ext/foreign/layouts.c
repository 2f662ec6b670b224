/* The table of all layouts: ours, and those of other systems. A new one is one file and one row. */
#include "foreign/exchange.h"

static const struct bloom_layout *const LAYOUTS[] = {
    &bloom_layout_blocked,       &bloom_layout_classic,    &bloom_layout_classic32,
    &bloom_layout_counting,      &bloom_layout_fuse,       &bloom_layout_bitmap,
    &bloom_layout_classic_utf16, &bloom_layout_spark1,     &bloom_layout_spark2,
    &bloom_layout_dcso,          &bloom_layout_go,         &bloom_layout_parquet,
    &bloom_layout_parquet_int32, &bloom_layout_redisbloom, NULL,
};

const struct bloom_layout *const *bloom_layouts(void) {
    return LAYOUTS;
}
