/* Put in front of all, this leaves a compiler nothing but C11: no 128-bit integers, byte swaps or
 * bit counts. The headers of the C library need it as it is, so they come before. */
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#undef __GNUC__
#undef __SIZEOF_INT128__
