/* Loops over dense rows; see dense_rows.h. */
#include "simd.h"

/* Sums in registers: SVMX_SIDE features, or pairs of SVMX_SIDE with SVMX_HIGH others. */
#define SVMX_SIDE 8
#define SVMX_PARTS (SVMX_SIDE / SVMX_WIDTH)
#if SVMX_WIDTH == 8
#define SVMX_HIGH 8
#else
#define SVMX_HIGH 4
#endif

SVMX_INLINE int64_t svmx_padded(int64_t n)
{
    return (n + SVMX_SIDE - 1) / SVMX_SIDE * SVMX_SIDE;
}

/* ``count`` rows from number ``begin`` on, of padded n features: where they are, or copied to ``room``, which has zeros
 * beyond n already. */
SVMX_INLINE const double *svmx_padded_rows(int64_t begin, int64_t count, int64_t n, const double *X, const int64_t *members,
                                           double *SVMX_RESTRICT room)
{
    const int64_t stride = svmx_padded(n);
    if (stride == n && !members)
        return X + begin * n;
    for (int64_t i = 0; i < count; ++i) {
        const double *x = X + (members ? members[begin + i] : begin + i) * n;
        for (int64_t c = 0; c < n; ++c)
            room[i * stride + c] = x[c];
    }
    return room;
}

/* out[r][c] += weight x[a + r] x[b + c] over the rows, r < SVMX_HIGH, c < SVMX_SIDE. */
SVMX_INLINE void svmx_add_outer(int64_t count, int64_t stride, const double *rows, const double *weights, int64_t a,
                                int64_t b, double *SVMX_RESTRICT out)
{
    svmx_doubles sum[SVMX_HIGH][SVMX_PARTS];
    SVMX_UNROLL
    for (int r = 0; r < SVMX_HIGH; ++r) {
        SVMX_UNROLL
        for (int p = 0; p < SVMX_PARTS; ++p)
            sum[r][p] = SVMX_DOUBLES(out + r * stride + p * SVMX_WIDTH);
    }
    for (int64_t i = 0; i < count; ++i) {
        const double *x = rows + i * stride;
        svmx_doubles weighted[SVMX_PARTS];
        SVMX_UNROLL
        for (int p = 0; p < SVMX_PARTS; ++p)
            weighted[p] = weights[i] * SVMX_DOUBLES(x + b + p * SVMX_WIDTH);
        SVMX_UNROLL
        for (int r = 0; r < SVMX_HIGH; ++r) {
            SVMX_UNROLL
            for (int p = 0; p < SVMX_PARTS; ++p)
                sum[r][p] += x[a + r] * weighted[p];
        }
    }
    SVMX_UNROLL
    for (int r = 0; r < SVMX_HIGH; ++r) {
        SVMX_UNROLL
        for (int p = 0; p < SVMX_PARTS; ++p)
            SVMX_STORE(out + r * stride + p * SVMX_WIDTH, sum[r][p]);
    }
}

/* The lower triangle of sum weight x x', outer (n, n), 0 above it; total (n,) = sum weight x. Rows are ``members`` (q,), NULL
 * for the first q. ``room``: SVMX_NARROW_ROOM doubles, that are written over. */
void SVMX_LOOP(narrow_gram)(int64_t q, int64_t n, const double *X, const int64_t *members, const double *weights,
                            double *room, double *outer, double *total)
{
    const int64_t stride = svmx_padded(n);
    double *sums = room + SVMX_CHUNK * SVMX_NARROW, weighted[SVMX_NARROW];
    memset(room, 0, (size_t)(SVMX_CHUNK * stride) * sizeof(double));
    memset(sums, 0, (size_t)(stride * stride) * sizeof(double));
    memset(weighted, 0, (size_t)stride * sizeof(double));
    for (int64_t begin = 0; begin < q; begin += SVMX_CHUNK) {
        const int64_t count = q - begin < SVMX_CHUNK ? q - begin : SVMX_CHUNK;
        const double *rows = svmx_padded_rows(begin, count, n, X, members, room);
        for (int64_t a = 0; a < stride; a += SVMX_HIGH)
            for (int64_t b = 0; b < a + SVMX_HIGH; b += SVMX_SIDE)
                svmx_add_outer(count, stride, rows, weights + begin, a, b, sums + a * stride + b);
        for (int64_t i = 0; i < count; ++i)
            for (int64_t c = 0; c < stride; ++c)
                weighted[c] += weights[begin + i] * rows[i * stride + c];
    }
    memset(outer, 0, (size_t)(n * n) * sizeof(double));
    for (int64_t a = 0; a < n; ++a)
        memcpy(outer + a * n, sums + a * stride, (size_t)(a + 1) * sizeof(double));
    memcpy(total, weighted, (size_t)n * sizeof(double));
}
