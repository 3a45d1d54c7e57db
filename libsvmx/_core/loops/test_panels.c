/* Loops of prediction; see test_panels.h. */
#include "simd.h"

/* Sums stand in two arrays of this size: GCC keeps those in registers, but not one of 32 (4 times slower). */
#define SVMX_HALF 16
/* Vectors of doubles of a panel's rows. */
#define SVMX_PARTS (SVMX_TESTS / SVMX_WIDTH)

/* Doubles that are added at once, said explicitly where GCC 12 makes scalars of an array: in two loops that share sums.
 * Four even on AVX-512, where the sums wait for each other and not for units (44 ns a value against 40 with eight, and
 * 91 as an array; 446 slots, 151 entries), since without it eight would be kept in memory (280 ns). */
#if defined(__AVX__)
#define SVMX_PACK 4
#else
#define SVMX_PACK 2
#endif
typedef double svmx_pack __attribute__((vector_size(SVMX_PACK * sizeof(double)), aligned(sizeof(double)), may_alias));
#define SVMX_PACKS (SVMX_TESTS / SVMX_PACK)

/* Of the entries of vector v. */
SVMX_INLINE const int32_t *svmx_features_of(const svmx_vectors *vectors, int64_t v)
{
    return vectors->index + (vectors->regular ? 0 : vectors->ptr[v]);
}

SVMX_INLINE void svmx_distances_of(const svmx_vectors *vectors, int64_t begin, int64_t end, int64_t n_slots,
                                   const int32_t *slot_feature, const double *SVMX_RESTRICT panel,
                                   const double *SVMX_RESTRICT squares, double *SVMX_RESTRICT out, const int in_float)
{
    for (int64_t v = begin; v < end; ++v, out += SVMX_TESTS) {
        const int64_t first = vectors->ptr[v], n = vectors->ptr[v + 1] - first;
        const int32_t *index = svmx_features_of(vectors, v);
        svmx_pack sum[SVMX_PACKS];
        int64_t s = 1;
        for (int r = 0; r < SVMX_PACKS; ++r)
            sum[r] = (svmx_pack){0.0};
        for (int64_t k = 0;; ++k) {
            const int32_t f = k < n ? index[k] : INT32_MAX;
            for (; slot_feature[s] < f; ++s) {
                const svmx_pack *square = (const svmx_pack *)(squares + s * SVMX_TESTS);
                for (int r = 0; r < SVMX_PACKS; ++r)
                    sum[r] += square[r];
            }
            if (k == n)
                break;
            const int64_t met = s <= n_slots && slot_feature[s] == f;
            const svmx_pack *x = (const svmx_pack *)(panel + (met ? s : 0) * SVMX_TESTS);
            const double z = svmx_number(vectors->value, first + k, in_float);
            for (int r = 0; r < SVMX_PACKS; ++r)
                sum[r] += (x[r] - z) * (x[r] - z);
            s += met;
        }
        for (int r = 0; r < SVMX_PACKS; ++r)
            ((svmx_pack *)out)[r] = sum[r];
    }
}

/* out[v - begin][r] = squared distance in LIBSVM's prediction form, the sum of (x_f - z_f)^2 over the features of
 * either, ascending.
 * slot_feature: (n_slots + 2,) feature of each slot, INT32_MAX behind the last;
 * squares: the panel's, for features that the vector lacks. */
void SVMX_LOOP(panel_distances)(const svmx_vectors *vectors, int64_t begin, int64_t end, int64_t n_slots,
                                const int32_t *slot_feature, const double *panel, const double *squares, double *out)
{
    if (vectors->value.in_float)
        svmx_distances_of(vectors, begin, end, n_slots, slot_feature, panel, squares, out, 1);
    else
        svmx_distances_of(vectors, begin, end, n_slots, slot_feature, panel, squares, out, 0);
}

SVMX_INLINE void svmx_meetings_of(const int product, const svmx_vectors *vectors, int64_t begin, int64_t end,
                                  const int32_t *slot_of, const double *SVMX_RESTRICT panel, const double *square_z,
                                  const double *SVMX_RESTRICT square_x, double *SVMX_RESTRICT out, const int in_float)
{
    for (int64_t v = begin; v < end; ++v, out += SVMX_TESTS) {
        const int64_t first = vectors->ptr[v], n = vectors->ptr[v + 1] - first;
        const int32_t *index = svmx_features_of(vectors, v);
        double low[SVMX_HALF], high[SVMX_HALF];
        for (int r = 0; r < SVMX_HALF; ++r)
            low[r] = high[r] = 0.0;
        for (int64_t k = 0; k < n; ++k) {
            const double *x = panel + (int64_t)slot_of[index[k]] * SVMX_TESTS;
            const double z = svmx_number(vectors->value, first + k, in_float);
            for (int r = 0; r < SVMX_HALF; ++r)
                low[r] += svmx_meeting(product, x[r], z);
            for (int r = 0; r < SVMX_HALF; ++r)
                high[r] += svmx_meeting(product, x[SVMX_HALF + r], z);
        }
        if (square_z != NULL) {
            for (int r = 0; r < SVMX_HALF; ++r)
                low[r] = square_x[r] + square_z[v] - 2.0 * low[r];
            for (int r = 0; r < SVMX_HALF; ++r)
                high[r] = square_x[SVMX_HALF + r] + square_z[v] - 2.0 * high[r];
        }
        for (int r = 0; r < SVMX_HALF; ++r)
            out[r] = low[r];
        for (int r = 0; r < SVMX_HALF; ++r)
            out[SVMX_HALF + r] = high[r];
    }
}

/* out[v - begin][r] = dot product, features ascending; or, where square_z is not NULL, |x|^2 + |z|^2 - 2 <x, z>, which
 * rounding may put below 0: square_z: of each vector, square_x: (32,), of each row.
 * slot_of: by feature, 0 for those outside the panel: its zeros add +-0, which changes no bit. */
void SVMX_LOOP(panel_products)(const svmx_vectors *vectors, int64_t begin, int64_t end, const int32_t *slot_of,
                               const double *panel, const double *square_z, const double *square_x, double *out)
{
    if (vectors->value.in_float)
        svmx_meetings_of(SVMX_DOT, vectors, begin, end, slot_of, panel, square_z, square_x, out, 1);
    else
        svmx_meetings_of(SVMX_DOT, vectors, begin, end, slot_of, panel, square_z, square_x, out, 0);
}

/* As panel_products without square_z, of SVMX_MINIMA or SVMX_HARMONIC (kernel_functions.h). */
void SVMX_LOOP(test_meetings)(int product, const svmx_vectors *vectors, int64_t begin, int64_t end,
                                     const int32_t *slot_of, const double *panel, double *out)
{
    if (product == SVMX_MINIMA && vectors->value.in_float)
        svmx_meetings_of(SVMX_MINIMA, vectors, begin, end, slot_of, panel, NULL, NULL, out, 1);
    else if (product == SVMX_MINIMA)
        svmx_meetings_of(SVMX_MINIMA, vectors, begin, end, slot_of, panel, NULL, NULL, out, 0);
    else if (vectors->value.in_float)
        svmx_meetings_of(SVMX_HARMONIC, vectors, begin, end, slot_of, panel, NULL, NULL, out, 1);
    else
        svmx_meetings_of(SVMX_HARMONIC, vectors, begin, end, slot_of, panel, NULL, NULL, out, 0);
}

/* values: (n, 32), IN squared distances, which are integers, OUT the entries of the table at these. */
void SVMX_LOOP(panel_table)(int64_t n, const double *SVMX_RESTRICT table, double *SVMX_RESTRICT values)
{
    for (int64_t v = 0; v < n; ++v, values += SVMX_TESTS) {
        int32_t distance[SVMX_TESTS];
        for (int r = 0; r < SVMX_TESTS; ++r)
            distance[r] = (int32_t)values[r];
        for (int r = 0; r < SVMX_TESTS; ++r)
            values[r] = table[distance[r]];
    }
}

/* sum[r] += coef[v] * values[v][r] for v in [0, n), in the order of v. */
void SVMX_LOOP(weighted_sum)(int64_t n, const double *coef, const double *SVMX_RESTRICT values,
                             double *SVMX_RESTRICT sum)
{
    svmx_doubles so_far[SVMX_PARTS];
    SVMX_UNROLL
    for (int r = 0; r < SVMX_PARTS; ++r)
        so_far[r] = SVMX_DOUBLES(sum + r * SVMX_WIDTH);
    for (int64_t v = 0; v < n; ++v) {
        SVMX_UNROLL
        for (int r = 0; r < SVMX_PARTS; ++r)
            so_far[r] += coef[v] * SVMX_DOUBLES(values + v * SVMX_TESTS + r * SVMX_WIDTH);
    }
    SVMX_UNROLL
    for (int r = 0; r < SVMX_PARTS; ++r)
        SVMX_STORE(sum + r * SVMX_WIDTH, so_far[r]);
}

/* Of a single row: sum[line] += coef[line * stride + v] * values[v] for v in [0, n), in the order of v. Four lines at a
 * time, since each addition waits for the one before. */
void SVMX_LOOP(weighted_lines)(int64_t n, int64_t lines, const double *coef, int64_t stride,
                                const double *SVMX_RESTRICT values, double *SVMX_RESTRICT sum)
{
    int64_t line = 0;
    for (; line + 4 <= lines; line += 4) {
        const double *a = coef + line * stride, *b = a + stride, *c = b + stride, *d = c + stride;
        double p = sum[line], q = sum[line + 1], r = sum[line + 2], s = sum[line + 3];
        for (int64_t v = 0; v < n; ++v) {
            p += a[v] * values[v];
            q += b[v] * values[v];
            r += c[v] * values[v];
            s += d[v] * values[v];
        }
        sum[line] = p, sum[line + 1] = q, sum[line + 2] = r, sum[line + 3] = s;
    }
    for (; line < lines; ++line)
        for (int64_t v = 0; v < n; ++v)
            sum[line] += coef[line * stride + v] * values[v];
}
