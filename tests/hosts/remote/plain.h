/* Put in front of all, this makes a compiler one that offers C11 alone: no 128-bit integers, no byte
 * swap, no bit counting. The C library's headers need it as it is, so they come before. */
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#undef __GNUC__
#undef __SIZEOF_INT128__
