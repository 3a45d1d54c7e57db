/* Arrays of floats that several threads ask for, each of them filled by the first one that does.
 *
 * A piece is absent, being filled, or there. Who finds it absent may claim it, fill it, and publish it; what was written
 * before can be read by all who find it there. Who finds it claimed by another does without: nobody waits.
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

/* The values, NULL where they are not there. */
static inline const float *svmx_piece_there(svmx_piece *piece)
{
    uintptr_t value = svmx_read_piece(piece);
    return value == SVMX_CLAIMED ? NULL : (const float *)value;
}

/* Whether the caller is to fill it, and to publish it. */
static inline int svmx_claim_piece(svmx_piece *piece)
{
    uintptr_t absent = 0;
    return svmx_exchange_piece(piece, absent, SVMX_CLAIMED);
}

/* What was claimed is there; values of NULL: it is absent again. */
static inline void svmx_publish_piece(svmx_piece *piece, const float *values)
{
    svmx_write_piece(piece, (uintptr_t)values);
}

#endif
