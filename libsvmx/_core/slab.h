/* Large blocks of memory whose first touch is cheap: the only header that allocates.
 *
 * Who calls: _core/arrays.pyx, for _kernels/rowstore.pyx and _kernels/sharedrows.pyx. They own what they take until they
 * give it back.
 */
#pragma once

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#ifdef __linux__
#include <sys/mman.h>
#endif

#define SVMX_HUGE_PAGE ((size_t)2 << 20)

/* Uninitialised memory for free(), or NULL. In huge pages on Linux: clearing pages of 4 kB, a fault each, was half the
 * time of a training with cheap rows. */
static void *svmx_allocate(size_t bytes)
{
#ifdef __linux__
    if (bytes >= SVMX_HUGE_PAGE) {
        void *block = aligned_alloc(SVMX_HUGE_PAGE, (bytes + SVMX_HUGE_PAGE - 1) / SVMX_HUGE_PAGE * SVMX_HUGE_PAGE);
#ifdef MADV_HUGEPAGE
        if (block != NULL)
            (void)madvise(block, bytes, MADV_HUGEPAGE);
#endif
        return block;
    }
#endif
    return malloc(bytes);
}

/* ---- slabs -------------------------------------------------------------------------------- */

/* Slabs from SVMX_LEAST_SLAB on are rounded up to this size, and kept for reuse; smaller and larger ones are not kept. */
#define SVMX_SLAB ((size_t)4 << 20)
#define SVMX_LEAST_SLAB ((size_t)1 << 19)

static size_t svmx_slab_of(size_t bytes)
{
    return bytes >= SVMX_LEAST_SLAB && bytes < SVMX_SLAB ? SVMX_SLAB : bytes;
}

/* A few slabs are kept for the next solve: a multi-class training is hundreds of small ones, and the first touch of
 * memory would be a tenth of it. */
#define SVMX_KEPT_SLABS 4
static _Atomic uintptr_t svmx_kept[SVMX_KEPT_SLABS];

static inline void *svmx_take_slab(size_t bytes)
{
    bytes = svmx_slab_of(bytes);
    if (bytes == SVMX_SLAB)
        for (int k = 0; k < SVMX_KEPT_SLABS; ++k) {
            void *slab = (void *)atomic_exchange(&svmx_kept[k], (uintptr_t)0);
            if (slab != NULL)
                return slab;
        }
    return svmx_allocate(bytes);
}

static inline void svmx_give_slab(void *slab, size_t bytes)
{
    if (slab != NULL && svmx_slab_of(bytes) == SVMX_SLAB)
        for (int k = 0; k < SVMX_KEPT_SLABS; ++k) {
            uintptr_t none = 0;
            if (atomic_compare_exchange_strong(&svmx_kept[k], &none, (uintptr_t)slab))
                return;
        }
    free(slab);
}

static inline void svmx_drop_slabs(void)
{
    for (int k = 0; k < SVMX_KEPT_SLABS; ++k)
        free((void *)atomic_exchange(&svmx_kept[k], (uintptr_t)0));
}

/* Gives back those of n slabs that were taken, and frees the list of them. */
static inline void svmx_give_slabs(float **slabs, ptrdiff_t n, size_t bytes)
{
    for (ptrdiff_t s = 0; slabs != NULL && s < n; ++s)
        svmx_give_slab(slabs[s], bytes);
    free(slabs);
}
