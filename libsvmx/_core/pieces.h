/* Arrays of floats shared by threads, each filled by the first thread that needs it.
 *
 * A piece is absent, claimed, or there. A thread that finds it absent may claim, fill and publish it; then all threads can
 * read what was written before. A thread that finds it claimed does without: none waits.
 */
#pragma once

#include "system_threads.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

typedef _Atomic(uintptr_t) svmx_piece;
#define SVMX_CLAIMED ((uintptr_t)1)

/* The values, or NULL. */
static inline const float *svmx_piece_there(svmx_piece *piece)
{
    uintptr_t value = atomic_load_explicit(piece, memory_order_acquire);
    return value == SVMX_CLAIMED ? NULL : (const float *)value;
}

/* Whether the caller has claimed it. */
static inline int svmx_claim_piece(svmx_piece *piece)
{
    uintptr_t absent = 0;
    return atomic_compare_exchange_strong(piece, &absent, SVMX_CLAIMED);
}

/* Publish a claimed piece. */
static inline void svmx_publish_piece(svmx_piece *piece, const float *values)
{
    atomic_store_explicit(piece, (uintptr_t)values, memory_order_release);
}
