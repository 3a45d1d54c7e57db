/* Dot products and distances; see dot_products.h. */
#include "simd.h"

/* ---- dot products of one row with many ---------------------------------------------- */

#define SVMX_PANEL_PARTS (SVMX_PANEL / SVMX_WIDTH)

SVMX_INLINE void svmx_dots_with_panels(int64_t n_panels, int64_t n_features, svmx_numbers panels, int64_t nnz,
                                       const int32_t *index, svmx_numbers value, double *SVMX_RESTRICT dots,
                                       const int panels_in_float, const int row_in_float)
{
    for (int64_t p = 0; p < n_panels; ++p) {
        const int64_t panel = p * n_features * SVMX_PANEL;
        svmx_doubles sum[SVMX_PANEL_PARTS];
        SVMX_UNROLL
        for (int r = 0; r < SVMX_PANEL_PARTS; ++r)
            sum[r] = (svmx_doubles){0};
        for (int64_t k = 0; k < nnz; ++k) {
            const int64_t lanes = panel + (int64_t)index[k] * SVMX_PANEL;
            const double v = svmx_number(value, k, row_in_float);
            SVMX_UNROLL
            for (int r = 0; r < SVMX_PANEL_PARTS; ++r)
                sum[r] += svmx_lanes(panels, lanes + r * SVMX_WIDTH, panels_in_float) * v;
        }
        SVMX_UNROLL
        for (int r = 0; r < SVMX_PANEL_PARTS; ++r)
            SVMX_STORE(dots + p * SVMX_PANEL + r * SVMX_WIDTH, sum[r]);
    }
}

/* dots[p*16+r] = sum over k of value[k] * panel_p[index[k]][r], in the order of k.
 * panels: n_panels blocks of n_features x 16 numbers; where they are in float the row is, too. Zeros in the panel add +-0:
 * no change. */
void SVMX_LOOP(panel_dots)(int64_t n_panels, int64_t n_features, svmx_numbers panels, int64_t nnz, const int32_t *index,
                           svmx_numbers value, double *dots)
{
    if (panels.in_float)
        svmx_dots_with_panels(n_panels, n_features, panels, nnz, index, value, dots, 1, 1);
    else if (value.in_float)
        svmx_dots_with_panels(n_panels, n_features, panels, nnz, index, value, dots, 0, 1);
    else
        svmx_dots_with_panels(n_panels, n_features, panels, nnz, index, value, dots, 0, 0);
}

/* ---- other products of one row with many ----------------------------------------------- */

SVMX_INLINE void svmx_meetings_with_panels(const int product, int64_t n_panels, int64_t n_features, svmx_numbers panels,
                                           int64_t nnz, const int32_t *index, svmx_numbers value,
                                           double *SVMX_RESTRICT sums, const int panels_in_float, const int row_in_float)
{
    for (int64_t p = 0; p < n_panels; ++p) {
        double sum[SVMX_PANEL];
        for (int r = 0; r < SVMX_PANEL; ++r)
            sum[r] = 0.0;
        for (int64_t k = 0; k < nnz; ++k) {
            const int64_t lanes = (p * n_features + index[k]) * SVMX_PANEL;
            const double v = svmx_number(value, k, row_in_float);
            for (int r = 0; r < SVMX_PANEL; ++r)
                sum[r] += svmx_meeting(product, v, svmx_number(panels, lanes + r, panels_in_float));
        }
        for (int r = 0; r < SVMX_PANEL; ++r)
            sums[p * SVMX_PANEL + r] = sum[r];
    }
}

SVMX_INLINE void svmx_meetings_of(const int product, int64_t n_panels, int64_t n_features, svmx_numbers panels, int64_t nnz,
                                  const int32_t *index, svmx_numbers value, double *sums)
{
    if (panels.in_float)
        svmx_meetings_with_panels(product, n_panels, n_features, panels, nnz, index, value, sums, 1, 1);
    else if (value.in_float)
        svmx_meetings_with_panels(product, n_panels, n_features, panels, nnz, index, value, sums, 0, 1);
    else
        svmx_meetings_with_panels(product, n_panels, n_features, panels, nnz, index, value, sums, 0, 0);
}

/* As panel_dots, of SVMX_MINIMA or SVMX_HARMONIC (kernel_functions.h): sums of what a number of the row and one of the
 * target give. Zeros in the panel give 0. */
void SVMX_LOOP(panel_meetings)(int product, int64_t n_panels, int64_t n_features, svmx_numbers panels, int64_t nnz,
                               const int32_t *index, svmx_numbers value, double *sums)
{
    if (product == SVMX_MINIMA)
        svmx_meetings_of(SVMX_MINIMA, n_panels, n_features, panels, nnz, index, value, sums);
    else
        svmx_meetings_of(SVMX_HARMONIC, n_panels, n_features, panels, nnz, index, value, sums);
}

/* ---- squared distances of one row from many ------------------------------------------- */

/* The sum of (x_f - z_f)^2 over ascending features f, of a row x that is given by its nonzeros: entry k has the feature
 * place[k], or is at none of the targets', and then comes before the feature ~place[k].
 * Where neither has a feature, 0 is added: no change. */
void SVMX_LOOP(panel_row_distances)(int64_t n_panels, int64_t n_features,
                                    const double *SVMX_RESTRICT panels, int64_t nnz, const int32_t *place,
                                    const double *value, double *SVMX_RESTRICT distances)
{
    for (int64_t p = 0; p < n_panels; ++p) {
        const double *lane = panels + p * n_features * SVMX_PANEL;
        double sum[SVMX_PANEL];
        int64_t f = 0;
        for (int r = 0; r < SVMX_PANEL; ++r)
            sum[r] = 0.0;
        for (int64_t k = 0;; ++k) {
            const int64_t next = k == nnz ? n_features : place[k] < 0 ? ~place[k] : place[k];
            for (; f < next; ++f, lane += SVMX_PANEL)
                for (int r = 0; r < SVMX_PANEL; ++r)
                    sum[r] += lane[r] * lane[r];
            if (k == nnz)
                break;
            const double v = value[k];
            if (place[k] < 0) {
                for (int r = 0; r < SVMX_PANEL; ++r)
                    sum[r] += v * v;
            } else {
                for (int r = 0; r < SVMX_PANEL; ++r)
                    sum[r] += (v - lane[r]) * (v - lane[r]);
                ++f;
                lane += SVMX_PANEL;
            }
        }
        for (int r = 0; r < SVMX_PANEL; ++r)
            distances[p * SVMX_PANEL + r] = sum[r];
    }
}

/* The same of a tile of n targets in postings: those of feature f are (place_of[j], x[j]), start[f] <= j < start[f + 1].
 * terms: (n,), room. */
void SVMX_LOOP(postings_distances)(int64_t n, int64_t n_features, const int64_t *start,
                                   const uint16_t *place_of, const double *x, int64_t nnz,
                                   const int32_t *place, const double *value,
                                   double *SVMX_RESTRICT terms, double *SVMX_RESTRICT distances)
{
    int64_t j = start[0];
    for (int64_t r = 0; r < n; ++r)
        distances[r] = 0.0;
    for (int64_t k = 0;; ++k) {
        const int64_t next = k == nnz ? n_features : place[k] < 0 ? ~place[k] : place[k];
        for (; j < start[next]; ++j)
            distances[place_of[j]] += x[j] * x[j];
        if (k == nnz)
            break;
        const double v = value[k];
        for (int64_t r = 0; r < n; ++r)
            terms[r] = v * v;
        if (place[k] >= 0)
            for (; j < start[next + 1]; ++j)
                terms[place_of[j]] = (v - x[j]) * (v - x[j]);
        for (int64_t r = 0; r < n; ++r)
            distances[r] += terms[r];
    }
}

/* ---- dot products of a block of rows with many ------------------------------------------ */

/* Vectors of a sum for each source. */
#define SVMX_PARTS (SVMX_SOURCES / SVMX_WIDTH)

SVMX_INLINE void svmx_stream(int64_t n, const int32_t *rows, const int64_t *ptr, const int32_t *SVMX_RESTRICT index,
                             svmx_numbers value, const double *SVMX_RESTRICT sources, double *SVMX_RESTRICT dots,
                             const int in_float)
{
    for (int64_t k = 0; k < n; ++k, dots += SVMX_SOURCES) {
        svmx_doubles sum[SVMX_PARTS];
        SVMX_UNROLL
        for (int r = 0; r < SVMX_PARTS; ++r)
            sum[r] = (svmx_doubles){0};
        for (int64_t p = ptr[rows[k]]; p < ptr[rows[k] + 1]; ++p) {
            const double *of_sources = sources + (int64_t)index[p] * SVMX_SOURCES;
            const double v = svmx_number(value, p, in_float);
            SVMX_UNROLL
            for (int r = 0; r < SVMX_PARTS; ++r)
                sum[r] += SVMX_DOUBLES(of_sources + r * SVMX_WIDTH) * v;
        }
        SVMX_UNROLL
        for (int r = 0; r < SVMX_PARTS; ++r)
            SVMX_STORE(dots + r * SVMX_WIDTH, sum[r]);
    }
}

/* dots[k * SVMX_SOURCES + s] = <source s, row rows[k]> for k in [0, n); sources: feature by feature, SVMX_SOURCES
 * values each. */
void SVMX_LOOP(stream_dots)(int64_t n, const int32_t *rows, const int64_t *ptr, const int32_t *index, svmx_numbers value,
                            const double *sources, double *dots)
{
    if (value.in_float)
        svmx_stream(n, rows, ptr, index, value, sources, dots, 1);
    else
        svmx_stream(n, rows, ptr, index, value, sources, dots, 0);
}

/* Sources whose sums, two vectors each, fit the registers. */
#define SVMX_GROUP (SVMX_BYTES == 64 ? 8 : 4)

/* dots[s * stride + r], r < SVMX_PANEL, by some features of a panel; if these are not the ``first_ones``, they are added. */
SVMX_INLINE void svmx_block_of_features(int64_t n_features, int first_ones, const double *SVMX_RESTRICT panel,
                                        const double *SVMX_RESTRICT sources, int64_t stride, double *SVMX_RESTRICT dots)
{
    for (int first = 0; first < SVMX_SOURCES; first += SVMX_GROUP)
        for (int lane = 0; lane < SVMX_PANEL; lane += 2 * SVMX_WIDTH) {
            svmx_doubles sum[2 * SVMX_GROUP];
            SVMX_UNROLL
            for (int s = 0; s < SVMX_GROUP; ++s) {
                const double *so_far = dots + (first + s) * stride + lane;
                sum[2 * s] = first_ones ? (svmx_doubles){0} : SVMX_DOUBLES(so_far);
                sum[2 * s + 1] = first_ones ? (svmx_doubles){0} : SVMX_DOUBLES(so_far + SVMX_WIDTH);
            }
            for (int64_t f = 0; f < n_features; ++f) {
                const double *at = panel + f * SVMX_PANEL + lane, *v = sources + f * SVMX_SOURCES + first;
                const svmx_doubles x = SVMX_DOUBLES(at), y = SVMX_DOUBLES(at + SVMX_WIDTH);
                SVMX_UNROLL
                for (int s = 0; s < SVMX_GROUP; ++s) {
                    sum[2 * s] += x * v[s];
                    sum[2 * s + 1] += y * v[s];
                }
            }
            SVMX_UNROLL
            for (int s = 0; s < SVMX_GROUP; ++s) {
                SVMX_STORE(dots + (first + s) * stride + lane, sum[2 * s]);
                SVMX_STORE(dots + (first + s) * stride + lane + SVMX_WIDTH, sum[2 * s + 1]);
            }
        }
}

/* The same as stream_dots for one panel of dense targets (see panel_dots), which begins at number ``begin``. */
void SVMX_LOOP(panel_block)(int64_t n_features, svmx_numbers panels, int64_t begin, const double *sources, int64_t stride,
                            double *dots)
{
    double widened[SVMX_FEATURES * SVMX_PANEL];
    int64_t f = 0;
    do {
        const int64_t size = n_features - f < SVMX_FEATURES ? n_features - f : SVMX_FEATURES;
        const double *panel = widened;
        if (panels.in_double)
            panel = panels.in_double + begin + f * SVMX_PANEL;
        else
            for (int64_t k = 0; k < size * SVMX_PANEL; k += SVMX_WIDTH)
                SVMX_STORE(widened + k, svmx_lanes(panels, begin + f * SVMX_PANEL + k, 1));
        svmx_block_of_features(size, f == 0, panel, sources + f * SVMX_SOURCES, stride, dots);
        f += SVMX_FEATURES;
    } while (f < n_features);
}

/* ---- rows of small integers ---------------------------------------------------------------- */

/* A register of sums, one for each target, and what adds to each of them the two products of a pair of features: of the
 * target's numbers with the row's, which are the halves of ``pair``. */
#if defined(__AVX512BW__)
typedef __m512i svmx_sums;
#define SVMX_PAIRS(p) _mm512_loadu_si512(p)
#define SVMX_ADD_PAIRS(sum, pairs, pair) _mm512_add_epi32(sum, _mm512_madd_epi16(pairs, _mm512_set1_epi32(pair)))
#elif defined(__AVX2__)
typedef __m256i svmx_sums;
#define SVMX_PAIRS(p) _mm256_loadu_si256((const __m256i *)(p))
#define SVMX_ADD_PAIRS(sum, pairs, pair) _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, _mm256_set1_epi32(pair)))
#elif defined(__SSE2__)
typedef __m128i svmx_sums;
#define SVMX_PAIRS(p) _mm_loadu_si128((const __m128i *)(p))
#define SVMX_ADD_PAIRS(sum, pairs, pair) _mm_add_epi32(sum, _mm_madd_epi16(pairs, _mm_set1_epi32(pair)))
#else
typedef struct {
    int32_t of[SVMX_PANEL];
} svmx_sums;
#endif

/* Vectors of sums for the targets of a panel, and rows whose sums fit the registers. */
#define SVMX_SUMS ((int)(SVMX_PANEL * sizeof(int32_t) / sizeof(svmx_sums)))
#define SVMX_ROWS (SVMX_BYTES == 64 ? 16 : 8 / SVMX_SUMS)

/* dots[s * stride + r] = sum over pairs of features of row s with target r, for ``rows`` rows, of which the first pair of row s
 * is at sources + 2 s, and the next ones follow every 2 ``step`` numbers. */
SVMX_INLINE void svmx_add_pairs(const int rows, int64_t n_pairs, const int16_t *SVMX_RESTRICT panel,
                                const int16_t *SVMX_RESTRICT sources, int64_t step, int64_t stride,
                                double *SVMX_RESTRICT dots)
{
    svmx_sums sum[SVMX_ROWS * SVMX_SUMS];
    memset(sum, 0, sizeof(sum));
    for (int64_t f = 0; f < n_pairs; ++f) {
        const int16_t *of_targets = panel + f * 2 * SVMX_PANEL, *of_sources = sources + f * 2 * step;
#ifdef SVMX_PAIRS
        svmx_sums pairs[SVMX_SUMS];
        SVMX_UNROLL
        for (int v = 0; v < SVMX_SUMS; ++v)
            pairs[v] = SVMX_PAIRS(of_targets + v * (int)(sizeof(svmx_sums) / sizeof(int16_t)));
        SVMX_UNROLL
        for (int s = 0; s < rows; ++s) {
            int32_t pair;
            memcpy(&pair, of_sources + 2 * s, sizeof(pair));
            SVMX_UNROLL
            for (int v = 0; v < SVMX_SUMS; ++v)
                sum[s * SVMX_SUMS + v] = SVMX_ADD_PAIRS(sum[s * SVMX_SUMS + v], pairs[v], pair);
        }
#else
        for (int s = 0; s < rows; ++s)
            for (int r = 0; r < SVMX_PANEL; ++r)
                sum[s].of[r] += (int32_t)of_targets[2 * r] * of_sources[2 * s]
                                + (int32_t)of_targets[2 * r + 1] * of_sources[2 * s + 1];
#endif
    }
    for (int s = 0; s < rows; ++s) {
        int32_t found[SVMX_PANEL];
        memcpy(found, sum + s * SVMX_SUMS, sizeof(found));
        for (int r = 0; r < SVMX_PANEL; ++r)
            dots[s * stride + r] = found[r];
    }
}

/* The same as panel_dots of integers of 16 bits, pair by pair of features: panels (n_panels, n_pairs, SVMX_PANEL, 2), the row
 * (n_pairs, 2). No |x|^2 may be 2^31. Then no sum of some of the products x_f z_f is, since sum |x_f z_f| <= |x| |z|: none
 * overflows 32 bits, nor rounds LIBSVM's sum in double, and any order gives the same. */
void SVMX_LOOP(integer_dots)(int64_t n_panels, int64_t n_pairs, const int16_t *panels, const int16_t *row, double *dots)
{
    for (int64_t p = 0; p < n_panels; ++p)
        svmx_add_pairs(1, n_pairs, panels + p * n_pairs * 2 * SVMX_PANEL, row, 1, 0, dots + p * SVMX_PANEL);
}

/* The same of one panel and SVMX_SOURCES rows, sources (n_pairs, SVMX_SOURCES, 2): row s to dots + s * stride. */
void SVMX_LOOP(integer_block)(int64_t n_pairs, const int16_t *panel, const int16_t *sources, int64_t stride, double *dots)
{
    for (int s = 0; s < SVMX_SOURCES; s += SVMX_ROWS)
        svmx_add_pairs(SVMX_ROWS, n_pairs, panel, sources + 2 * s, SVMX_SOURCES, stride, dots + s * stride);
}

/* out[s * stride + k] = dots[k * SVMX_SOURCES + s]. */
void SVMX_LOOP(by_source)(int64_t n, const double *SVMX_RESTRICT dots, int64_t stride,
                          double *SVMX_RESTRICT out)
{
    for (int s = 0; s < SVMX_SOURCES; ++s)
        for (int64_t k = 0; k < n; ++k)
            out[s * stride + k] = dots[k * SVMX_SOURCES + s];
}
