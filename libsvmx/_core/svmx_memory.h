/* Large blocks of memory that cost little to touch for the first time. */
#ifndef SVMX_MEMORY_H
#define SVMX_MEMORY_H

#include <stdlib.h>
#ifdef __linux__
#include <sys/mman.h>
#endif

#define SVMX_HUGE_PAGE ((size_t)2 << 20)

/* Uninitialised, free() gives it back; NULL when there is none. On Linux huge pages are asked for: clearing
 * pages of 4 kB one fault at a time was half the time of a training whose rows are cheap. */
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

#endif
