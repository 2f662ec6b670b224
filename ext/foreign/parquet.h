/* What the format and the layouts of Parquet's filters have in common. */
#ifndef BLOOM_FOREIGN_PARQUET_H
#define BLOOM_FOREIGN_PARQUET_H

#include <stdint.h>

enum { BLOOM_PARQUET_BLOCK_BYTES = 32, BLOOM_PARQUET_PROBES = 8 /* one in each 32-bit word */ };

/* Writers make 32 bytes to 128 MiB; readers of bare blocks may hold more. The number of blocks has
 * 32 bits. */
#define BLOOM_PARQUET_BITS_MAXIMUM (UINT64_C(1) << 40)

#endif
