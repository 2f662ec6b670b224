/* Which instructions an x86-64 processor and its system support.
 *
 * This queries the processor itself, because __builtin_cpu_supports reads a table in the compiler's
 * library, and zig, which makes our binaries, brings a library whose table stays empty.
 *
 * Source: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 1, 14.3 (AVX) and
 * 15.2 (AVX-512). A feature may be used when the processor has it, and when XCR0 shows that the
 * system saves the registers that it uses. */
#ifndef BLOOM_BASE_PROCESSOR_X86_H
#define BLOOM_BASE_PROCESSOR_X86_H

#if defined(__x86_64__) && defined(__GNUC__)
#include <cpuid.h>
#include <stdbool.h>
#include <stdint.h>

/* Bits of XCR0 for registers of 128 and 256 bits, and for masks and registers of 512 bits. */
enum { BLOOM_STATE_AVX = 0x06, BLOOM_STATE_AVX512 = 0xe6 };

/* Returns true when leaf 7 of CPUID has a bit of EBX, and the system saves the registers. */
static inline bool bloom_processor_has(uint32_t feature, uint32_t state) {
    uint32_t a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d) || (c & bit_OSXSAVE) == 0)
        return false;
    __asm__ volatile("xgetbv" : "=a"(a), "=d"(d) : "c"(0));
    if ((a & state) != state || !__get_cpuid_count(7, 0, &a, &b, &c, &d))
        return false;
    return (b & feature) != 0;
}

static inline bool bloom_processor_has_avx2(void) {
    return bloom_processor_has(bit_AVX2, BLOOM_STATE_AVX);
}

static inline bool bloom_processor_has_avx512f(void) {
    return bloom_processor_has(bit_AVX512F, BLOOM_STATE_AVX512);
}

#endif
#endif
