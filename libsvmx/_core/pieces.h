/* Arrays of floats shared by threads, each filled by the first thread that needs it.
 *
 * A piece is absent, claimed, or there. A thread that finds it absent may claim, fill and publish it; then all threads can
 * read what was written before. A thread that finds it claimed does without: none waits.
 */
#ifndef SVMX_PIECES_H
#define SVMX_PIECES_H

#include "system_threads.h"

#include <stddef.h>
#include <stdint.h>

#if SVMX_HAS_THREADS
typedef _Atomic(uintptr_t) svmx_piece;
#define svmx_read_piece(piece) atomic_load_explicit(piece, memory_order_acquire)
#define svmx_write_piece(piece, value) atomic_store_explicit(piece, value, memory_order_release)
#define svmx_exchange_piece(piece, absent, claimed) atomic_compare_exchange_strong(piece, &(absent), claimed)
#else
typedef uintptr_t svmx_piece;
#define svmx_read_piece(piece) (*(piece))
#define svmx_write_piece(piece, value) (*(piece) = (value))
#define svmx_exchange_piece(piece, absent, claimed) (*(piece) == (absent) ? (*(piece) = (claimed), 1) : 0)
#endif

#define SVMX_CLAIMED ((uintptr_t)1)

/* The values, or NULL. */
static inline const float *svmx_piece_there(svmx_piece *piece)
{
    uintptr_t value = svmx_read_piece(piece);
    return value == SVMX_CLAIMED ? NULL : (const float *)value;
}

/* Whether the caller has claimed it, and must publish it. */
static inline int svmx_claim_piece(svmx_piece *piece)
{
    uintptr_t absent = 0;
    return svmx_exchange_piece(piece, absent, SVMX_CLAIMED);
}

/* Publish a claimed piece; NULL: it is absent again. */
static inline void svmx_publish_piece(svmx_piece *piece, const float *values)
{
    svmx_write_piece(piece, (uintptr_t)values);
}

#endif
