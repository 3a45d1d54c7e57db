/* Dot products and distances; see dot_products.h. The vectors are GCC's, which any width of register can be made to
 * hold. */
#include "simd.h"

/* ---- dot products of one row with many ---------------------------------------------- */

/* dots[p*16+r] = sum over k of value[k] * panel_p[index[k]][r], in the order of k.
 * panels: n_panels blocks of n_features x 16 doubles. Zeros in the panel add +-0: no change. */
void SVMX_LOOP(panel_dots)(int64_t n_panels, int64_t n_features, const double *SVMX_RESTRICT panels,
                           int64_t nnz, const int32_t *index, const double *value,
                           double *SVMX_RESTRICT dots)
{
    for (int64_t p = 0; p < n_panels; ++p) {
        const double *panel = panels + p * n_features * SVMX_PANEL;
        double sum[SVMX_PANEL];
        for (int r = 0; r < SVMX_PANEL; ++r)
            sum[r] = 0.0;
        for (int64_t k = 0; k < nnz; ++k) {
            const double *lane = panel + (int64_t)index[k] * SVMX_PANEL;
            const double v = value[k];
            for (int r = 0; r < SVMX_PANEL; ++r)
                sum[r] += v * lane[r];
        }
        for (int r = 0; r < SVMX_PANEL; ++r)
            dots[p * SVMX_PANEL + r] = sum[r];
    }
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

#if defined(__GNUC__)
typedef double svmx_vector __attribute__((vector_size(64), aligned(8), may_alias));
#define SVMX_LOAD(p) (*(const svmx_vector *)(p))
#define SVMX_STORE(p, v) (*(svmx_vector *)(p) = (v))

/* dots[k * SVMX_SOURCES + s] = <source s, row rows[k]> for k in [0, n); sources: feature by feature, SVMX_SOURCES
 * values each. Two targets at a time, since one sum after the other would wait for each addition. */
void SVMX_LOOP(stream_dots)(int64_t n, const int32_t *rows, const int64_t *ptr,
                            const int32_t *SVMX_RESTRICT index, const double *SVMX_RESTRICT value,
                            const double *SVMX_RESTRICT sources, double *SVMX_RESTRICT dots)
{
    int64_t k = 0;
    for (; k + 2 <= n; k += 2) {
        svmx_vector a = {0}, b = {0}, c = {0}, d = {0};
        int64_t p = ptr[rows[k]], q = ptr[rows[k + 1]];
        const int64_t p_end = ptr[rows[k] + 1], q_end = ptr[rows[k + 1] + 1];
        for (; p < p_end && q < q_end; ++p, ++q) {
            const double *x = sources + (int64_t)index[p] * SVMX_SOURCES, *y = sources + (int64_t)index[q] * SVMX_SOURCES;
            a += SVMX_LOAD(x) * value[p];
            b += SVMX_LOAD(x + 8) * value[p];
            c += SVMX_LOAD(y) * value[q];
            d += SVMX_LOAD(y + 8) * value[q];
        }
        for (; p < p_end; ++p) {
            const double *x = sources + (int64_t)index[p] * SVMX_SOURCES;
            a += SVMX_LOAD(x) * value[p];
            b += SVMX_LOAD(x + 8) * value[p];
        }
        for (; q < q_end; ++q) {
            const double *y = sources + (int64_t)index[q] * SVMX_SOURCES;
            c += SVMX_LOAD(y) * value[q];
            d += SVMX_LOAD(y + 8) * value[q];
        }
        double *out = dots + k * SVMX_SOURCES;
        SVMX_STORE(out, a);
        SVMX_STORE(out + 8, b);
        SVMX_STORE(out + 16, c);
        SVMX_STORE(out + 24, d);
    }
    if (k < n) {
        svmx_vector a = {0}, b = {0};
        for (int64_t p = ptr[rows[k]]; p < ptr[rows[k] + 1]; ++p) {
            const double *x = sources + (int64_t)index[p] * SVMX_SOURCES;
            a += SVMX_LOAD(x) * value[p];
            b += SVMX_LOAD(x + 8) * value[p];
        }
        SVMX_STORE(dots + k * SVMX_SOURCES, a);
        SVMX_STORE(dots + k * SVMX_SOURCES + 8, b);
    }
}

/* The same for one panel of dense targets (see svmx_panel_dots): dots[s * stride + r], r < SVMX_PANEL. */
void SVMX_LOOP(panel_block)(int64_t n_features, const double *SVMX_RESTRICT panel,
                            const double *SVMX_RESTRICT sources, int64_t stride,
                            double *SVMX_RESTRICT dots)
{
    for (int half = 0; half < SVMX_SOURCES; half += 8) {
        svmx_vector sum[16] = {{0}};
        for (int64_t f = 0; f < n_features; ++f) {
            const svmx_vector x = SVMX_LOAD(panel + f * SVMX_PANEL), y = SVMX_LOAD(panel + f * SVMX_PANEL + 8);
            const double *v = sources + f * SVMX_SOURCES + half;
            SVMX_UNROLL
            for (int s = 0; s < 8; ++s) {
                sum[2 * s] += x * v[s];
                sum[2 * s + 1] += y * v[s];
            }
        }
        SVMX_UNROLL
        for (int s = 0; s < 8; ++s) {
            SVMX_STORE(dots + (half + s) * stride, sum[2 * s]);
            SVMX_STORE(dots + (half + s) * stride + 8, sum[2 * s + 1]);
        }
    }
}

#else

void SVMX_LOOP(stream_dots)(int64_t n, const int32_t *rows, const int64_t *ptr, const int32_t *index,
                             const double *value, const double *sources, double *dots)
{
    for (int64_t k = 0; k < n; ++k) {
        double *sum = dots + k * SVMX_SOURCES;
        for (int s = 0; s < SVMX_SOURCES; ++s)
            sum[s] = 0.0;
        for (int64_t p = ptr[rows[k]]; p < ptr[rows[k] + 1]; ++p)
            for (int s = 0; s < SVMX_SOURCES; ++s)
                sum[s] += sources[(int64_t)index[p] * SVMX_SOURCES + s] * value[p];
    }
}

void SVMX_LOOP(panel_block)(int64_t n_features, const double *panel, const double *sources, int64_t stride,
                             double *dots)
{
    for (int s = 0; s < SVMX_SOURCES; ++s) {
        double *sum = dots + s * stride;
        for (int r = 0; r < SVMX_PANEL; ++r)
            sum[r] = 0.0;
        for (int64_t f = 0; f < n_features; ++f)
            for (int r = 0; r < SVMX_PANEL; ++r)
                sum[r] += sources[f * SVMX_SOURCES + s] * panel[f * SVMX_PANEL + r];
    }
}

#endif

/* out[s * stride + k] = dots[k * SVMX_SOURCES + s]. */
void SVMX_LOOP(by_source)(int64_t n, const double *SVMX_RESTRICT dots, int64_t stride,
                          double *SVMX_RESTRICT out)
{
    for (int s = 0; s < SVMX_SOURCES; ++s)
        for (int64_t k = 0; k < n; ++k)
            out[s * stride + k] = dots[k * SVMX_SOURCES + s];
}
