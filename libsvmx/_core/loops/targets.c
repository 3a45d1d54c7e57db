/* Which CPU targets are built, and which of them this CPU can run. Compiled once, for the baseline. */
#include "targets.h"

#include <stddef.h>

static int always(void)
{
    return 1;
}

#ifdef SVMX_X86_TARGETS /* as meson.build has compiled them */

extern const svmx_loop_table svmx_table_avx2, svmx_table_avx512;

/* ---- what the CPU says of itself: Intel's manual, volume 2, CPUID --------------------------------------------------- */

#include <cpuid.h>

static void ask(unsigned leaf, unsigned *ebx, unsigned *ecx)
{
    unsigned eax, edx;
    if (!__get_cpuid_count(leaf, 0, &eax, ebx, ecx, &edx))
        *ebx = *ecx = 0;
}

static unsigned kept_registers(void)
{
    unsigned low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

#define BIT(k) (1u << (k))
/* Leaf 1, ecx: SSE3, SSSE3, FMA, CX16, SSE4.1, SSE4.2, MOVBE, POPCNT, OSXSAVE, AVX, F16C. */
#define OSXSAVE BIT(27)
#define V3_OF_1 (BIT(0) | BIT(9) | BIT(12) | BIT(13) | BIT(19) | BIT(20) | BIT(22) | BIT(23) | OSXSAVE | BIT(28) | BIT(29))
/* Leaf 7, ebx: BMI, AVX2, BMI2; AVX-512 F, DQ, CD, BW, VL. */
#define V3_OF_7 (BIT(3) | BIT(5) | BIT(8))
#define V4_OF_7 (BIT(16) | BIT(17) | BIT(28) | BIT(30) | BIT(31))
/* Leaf 0x80000001, ecx: LAHF, LZCNT. */
#define V3_OF_EXTENDED (BIT(0) | BIT(5))
/* Registers that the operating system keeps for each thread (XCR0): those of AVX; masks and both parts of AVX-512's. */
#define KEEPS_AVX (BIT(1) | BIT(2))
#define KEEPS_AVX512 (KEEPS_AVX | BIT(5) | BIT(6) | BIT(7))

static int has(unsigned found, unsigned wanted)
{
    return (found & wanted) == wanted;
}

/* Whether there is x86-64-v3, and these bits of leaf 7 and these registers besides. */
static int has_v3_and(unsigned of_7, unsigned registers)
{
    unsigned ebx_1, ecx_1, ebx_7, ecx_7, ebx_extended, ecx_extended;
    ask(1, &ebx_1, &ecx_1);
    ask(7, &ebx_7, &ecx_7);
    ask(0x80000001u, &ebx_extended, &ecx_extended);
    return has(ecx_1, V3_OF_1) && has(ebx_7, V3_OF_7 | of_7) && has(ecx_extended, V3_OF_EXTENDED)
           && has(kept_registers(), registers);
}

static int runs_avx2(void)
{
    return has_v3_and(0, KEEPS_AVX);
}

static int runs_avx512(void)
{
    return has_v3_and(V4_OF_7, KEEPS_AVX512);
}

#define SVMX_BUILT(name) &svmx_table_##name, runs_##name
#else
#define SVMX_BUILT(name) NULL, always
#endif

extern const svmx_loop_table svmx_table_baseline;

const svmx_cpu_target svmx_cpu_targets[SVMX_N_TARGETS] = {
    {"avx512", SVMX_BUILT(avx512)},
    {"avx2", SVMX_BUILT(avx2)},
    {"baseline", &svmx_table_baseline, always},
};
