/* Layout blocked with a slower kernel than the processor's best: the unchanged source of the layout with its
 * table of kernels cut down, and under another name, the only one that run.sh leaves visible to other objects.
 * Compiled once with -DFLOOR_AVX2, once with -DFLOOR_PORTABLE.
 */
#include "filter/blocked_kernel.h"

#if defined(FLOOR_AVX2)
#define bloom_layout_blocked floor_layout_avx2
#define bloom_blocked_avx512 bloom_blocked_avx2
#else
#define bloom_layout_blocked floor_layout_portable
#undef BLOOM_X86_KERNELS
#endif

#include "../../ext/filter/blocked.c"
