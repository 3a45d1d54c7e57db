/* Calls every loop of a table (libsvmx/_core/loops) on random data of many lengths, with tails and ties, and returns a
 * checksum of all outputs of each. Equal checksums mean equal bits.
 *
 * As a library, it has loops_checksums for a table of the installed package (test_dispatch.py). As a program, compiled
 * with the loops and -DPROGRAM, it prints the checksums of each CPU target that can run here, to be compared with those
 * of another machine or compiler; exit code 1 if targets differ.
 */
#include "targets.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define MOST 1100
#define FEATURES 24
#define PLACES 600 /* targets of panels */

static const int64_t lengths[] = {0,  1,  2,  3,  5,   7,   8,   9,   15,  16,  17,  24,  31,  32,   33,   63,
                                  64, 65, 66, 95, 100, 127, 255, 256, 257, 300, 511, 512, 513, 1000, 1024, 1031};
#define N_LENGTHS ((int)(sizeof(lengths) / sizeof(lengths[0])))

/* ---- drawn numbers and checksums ------------------------------------------------------------------------------------ */

static uint64_t state;

static uint64_t drawn(void) /* splitmix64 */
{
    uint64_t z = (state += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

/* In [-1, 1); with ``coarse``, few different values, so that there are ties. */
static double number(int coarse)
{
    const double x = (double)(int64_t)drawn() * 0x1p-63;
    return coarse ? floor(x * 4) / 4 : x;
}

static uint64_t sum;

static void add(const void *bytes, size_t n)
{
    for (size_t k = 0; k < n; ++k)
        sum = (sum ^ ((const unsigned char *)bytes)[k]) * 0x100000001B3u;
}

static void add_double(double x)
{
    x += 0.0; /* one zero */
    add(&x, sizeof(x));
}

static void add_doubles(const double *x, int64_t n)
{
    for (int64_t k = 0; k < n; ++k)
        add_double(x[k]);
}

static void add_floats(const float *x, int64_t n)
{
    for (int64_t k = 0; k < n; ++k)
        add_double(x[k]);
}

static _Alignas(64) double D[8][MOST * 16 + 64];
static float F[8][MOST * 16 + 64];
static int32_t I[4][MOST * 16];
static int64_t L[2][MOST * 16];
static uint16_t H[MOST * 16];
static uint64_t W[2][MOST * 16];

/* Fills D and F with the same random numbers every time. */
static void fill(int coarse)
{
    static double doubles[2][sizeof(D) / sizeof(double)];
    static float floats[2][sizeof(F) / sizeof(float)];
    static int done;
    for (; done < 2; ++done)
        for (size_t k = 0; k < sizeof(D) / sizeof(double); ++k) {
            doubles[done][k] = number(done);
            floats[done][k] = (float)number(done);
        }
    memcpy(D, doubles[coarse], sizeof(D));
    memcpy(F, floats[coarse], sizeof(F));
}

/* ---- a case for each loop: try_<its name>(table, n, coarse) ----------------------------------------------------------- */

#define TRY(name) static void try_##name(const svmx_loop_table *t, int64_t n, int coarse)
#define UNUSED (void)t, (void)n, (void)coarse

TRY(sum)
{
    UNUSED;
    add_double(t->sum(n, D[0] + 1));
}

TRY(dot)
{
    UNUSED;
    add_double(t->dot(n, D[0] + 1, D[1]));
}

TRY(dot_two)
{
    double xy, xz;
    UNUSED;
    t->dot_two(n, D[0], D[1] + 1, D[2], &xy, &xz);
    add_double(xy), add_double(xz);
}

TRY(axpy)
{
    UNUSED;
    t->axpy(n, D[2][0], D[0] + 1, D[1]);
    add_doubles(D[1], n + 1);
}

TRY(axpy_two)
{
    UNUSED;
    t->axpy_two(n, D[2][0], D[2][1], D[0], D[1], D[3] + 1);
    add_doubles(D[1], n + 1), add_doubles(D[3], n + 2);
}

TRY(add_rows)
{
    const double *rows[21];
    UNUSED;
    for (int r = 0; r < 21; ++r)
        rows[r] = D[0] + 7 * r;
    for (int count = 0; count <= 21; count += 7)
        t->add_rows(n, count, D[1], rows, 3, D[2]);
    add_doubles(D[2], n + 1);
}

/* Values of rows of both classes, y in D[0], with all variables of the point above 0. */
static double *interior_values(int64_t n)
{
    for (int64_t k = 0; k < n; ++k)
        D[0][k] = D[0][k] < 0 ? -1 : 1;
    for (int64_t k = 0; k < SVMX_Z * n; ++k)
        D[1][k] += 1.5;
    return D[1];
}

TRY(interior_residuals)
{
    double largest[2];
    UNUSED;
    double *values = interior_values(n);
    t->interior_residuals(n, D[0], D[5], D[6], 0.25, values, largest);
    add_doubles(values, SVMX_VALUES * n + 1);
    add_doubles(largest, 2);
}

TRY(interior_right_side)
{
    UNUSED;
    t->interior_right_side(n, D[0], interior_values(n), D[5], D[2]);
    add_doubles(D[2], n + 1);
}

TRY(interior_direction)
{
    UNUSED;
    const double *values = interior_values(n);
    add_double(n ? t->interior_direction(n, D[0], values, D[5], 0.25, D[2]) : 0.0);
    add_doubles(D[2], SVMX_POINT * n + 1);
}

TRY(interior_corrector)
{
    UNUSED;
    t->interior_corrector(n, interior_values(n), D[5], 0.25, D[2]);
    add_doubles(D[2], 2 * n + 1);
}

TRY(interior_move)
{
    UNUSED;
    t->interior_move(n, 0.3, D[0], D[1] + 1, D[2]);
    add_doubles(D[2], n + 1);
}

/* Rows of 1 to 64 features; all of them, and some. */
TRY(narrow_gram)
{
    static double room[SVMX_NARROW_ROOM];
    const int64_t width = n % SVMX_NARROW + 1, m = MOST * 16 / width < 201 ? MOST * 16 / width : 201;
    UNUSED;
    for (int64_t k = 0; k < m; ++k)
        L[0][k] = (k * 7) % m;
    for (int chosen = 0; chosen < 2; ++chosen) {
        t->narrow_gram(m - chosen, width, D[0] + 1, chosen ? L[0] : NULL, D[1], room, D[2], D[3] + 1);
        add_doubles(D[2], width * width + 1), add_doubles(D[3], width + 2);
    }
}

TRY(rotate)
{
    UNUSED;
    t->rotate(n, 0.6, 0.8, D[0], D[1] + 1);
    add_doubles(D[0], n + 1), add_doubles(D[1], n + 2);
}

static void draw_places(int32_t *at, int64_t n, int64_t below)
{
    for (int64_t k = 0; k < n; ++k)
        at[k] = (int32_t)(drawn() % (uint64_t)below);
}

TRY(gather)
{
    UNUSED;
    draw_places(I[0], n, MOST);
    t->gather(n, F[0], I[0], F[1] + 1);
    add_floats(F[1], n + 2);
}

TRY(axpy_row)
{
    UNUSED;
    t->axpy_row(n, D[1][0], F[0] + 1, D[0]);
    add_doubles(D[0], n + 1);
}

TRY(axpy_rows)
{
    const float *rows[3] = {F[0], F[1] + 1, F[2]};
    UNUSED;
    for (int count = 0; count <= 3; ++count)
        t->axpy_rows(n, count, D[1], rows, 1, D[0]);
    add_doubles(D[0], n + 1);
}

TRY(axpy_at)
{
    UNUSED;
    draw_places(I[0], n, MOST);
    t->axpy_at(n, D[1][0], F[0], I[0], D[0]);
    add_doubles(D[0], n + 1);
}

TRY(interleave)
{
    UNUSED;
    const int64_t between = SVMX_REPLAY + (n < 32); /* wider ones would not fit F[1] */
    t->interleave(n, n + 3, F[0], between, F[1]);
    add_floats(F[1], n * between + 1);
}

TRY(shapley_of_products)
{
    UNUSED;
    const int64_t size = n < MOST - 8 ? n : MOST - 8;
    t->shapley_of_products(size, 3, D[2], D[2] + 8, D[0] + 1, D[1], D[3], D[4] + 1);
    add_doubles(D[4], size * SVMX_GAMES + 2);
}

TRY(replay)
{
    UNUSED;
    draw_places(I[0], n, MOST);
    t->replay(n, I[0], D[0], F[0], D[1]);
    add_doubles(D[1], SVMX_REPLAY + 1);
}

/* up or low: 0 for most, ``off`` for the others; for n = 7 ``off`` for all. */
static void draw_sides(float *side, int64_t n, float off)
{
    for (int64_t k = 0; k < n; ++k)
        side[k] = n == 7 || drawn() % 4 == 0 ? off : 0.0f;
}

TRY(max_violator)
{
    double maximum;
    UNUSED;
    draw_sides(F[0], n, -HUGE_VALF);
    const int64_t at = t->max_violator(n, D[0], F[0], &maximum);
    add(&at, sizeof(at)), add_double(maximum), add_doubles(D[0], n + 1);
}

TRY(update_max_violator)
{
    double maximum;
    UNUSED;
    draw_sides(F[0], n, -HUGE_VALF);
    const int64_t at = t->update_max_violator(n, D[0], F[1], F[2], D[1][0], D[1][1], F[0], &maximum);
    add(&at, sizeof(at)), add_double(maximum), add_doubles(D[0], n + 1);
}

TRY(conjugate_max_violator)
{
    double maximum;
    UNUSED;
    draw_sides(F[0], n, -HUGE_VALF);
    const int64_t at =
        t->conjugate_max_violator(n, D[0], F[1], F[2], n % 4 == 0 ? 0.0 : D[1][0], D[1][1], D[2], F[0], &maximum);
    add(&at, sizeof(at)), add_double(maximum), add_doubles(D[0], n + 1), add_doubles(D[2], n + 1);
}

TRY(move_inside)
{
    UNUSED;
    for (int64_t k = 0; k < n; ++k)
        D[1][k] = fabs(D[1][k]), D[2][k] = k + 1 == n && n % 3 == 0 ? D[1][k] : 1e300; /* of a third, the last is outside */
    const int inside = t->move_inside(n, 1e-300, D[0], D[1], D[2], D[3]);
    add(&inside, sizeof(inside)), add_doubles(D[3], n + 1);
}

TRY(partner)
{
    double largest, gap;
    UNUSED;
    draw_sides(F[0], n, HUGE_VALF);
    for (int64_t k = 0; k < n; ++k)
        D[1][k] = fabs(D[1][k]) + 1.0;
    /* From 2 on near-ties of rows of length 1: below 0, around 2^-54, with NaN and tiny gains. */
    for (int kind = 0; kind < 5; ++kind) {
        const int unit = kind > 0;
        for (int64_t k = 0; k < n && unit; ++k) {
            const float nth = (float)(drawn() % 64);
            D[0][k] = kind == 4 ? -1e-17 : kind > 1 ? -1.0 : D[0][k];
            D[1][k] = 1.0;
            if (kind > 1)
                F[1][k] = kind == 3 ? (nth - 32.0f) * 0x1p-58f : kind == 4 && nth < 4 ? NAN : -0.5f + 1e-7f * nth;
        }
        const svmx_pairing pair = {D[0], D[1], F[0], F[1], kind == 4 ? 0.0 : 1.0 - 0.25 * (double)(n % 5), unit ? 1.0 : D[1][0],
                                   unit};
        const int64_t at = t->partner(&pair, n, 1e-3, F[2], &largest, &gap);
        add(&at, sizeof(at)), add_double(largest), add_double(gap);
    }
}

/* Ascending places below ``below``, each with probability 1 / 2; returns their number. */
static int64_t draw_ascending(int32_t *at, int below)
{
    int64_t n = 0;
    for (int32_t f = 0; f < below; ++f)
        if (drawn() % 2 == 0)
            at[n++] = f;
    return n;
}

/* D[k] itself, or after rounding its numbers to F[k]. */
static svmx_numbers numbers(int k, int in_float)
{
    for (int j = 0; in_float && j < MOST * 16; ++j)
        D[k][j] = F[k][j] = (float)D[k][j];
    return in_float ? (svmx_numbers){NULL, F[k]} : (svmx_numbers){D[k], NULL};
}

TRY(panel_dots)
{
    UNUSED;
    const int64_t nnz = draw_ascending(I[0], FEATURES), panels = n / 32;
    for (int kind = 0; kind < 3; ++kind) { /* panels and row in double, the row in float, both */
        t->panel_dots(panels, FEATURES, numbers(0, kind == 2), nnz, I[0], numbers(1, kind > 0), D[2]);
        add_doubles(D[2], panels * SVMX_PANEL + 1);
    }
}

/* Nonnegative numbers, for the harmonic product. */
static void make_positive(int k, int product)
{
    for (int j = 0; product == SVMX_HARMONIC && j < MOST * 16; ++j)
        D[k][j] = fabs(D[k][j]);
}

TRY(panel_meetings)
{
    UNUSED;
    const int64_t nnz = draw_ascending(I[0], FEATURES), panels = n / 32;
    for (int product = SVMX_MINIMA; product <= SVMX_HARMONIC; ++product)
        for (int kind = 0; kind < 3; ++kind) { /* panels and row in double, the row in float, both */
            make_positive(0, product), make_positive(1, product);
            t->panel_meetings(product, panels, FEATURES, numbers(0, kind == 2), nnz, I[0], numbers(1, kind > 0), D[2]);
            add_doubles(D[2], panels * SVMX_PANEL + 1);
        }
}

TRY(panel_row_distances)
{
    UNUSED;
    const int64_t nnz = draw_ascending(I[0], FEATURES), panels = n / 32;
    for (int64_t k = 0; k < nnz; ++k)
        I[0][k] = k % 5 == 4 ? ~I[0][k] : I[0][k];
    t->panel_row_distances(panels, FEATURES, D[0], nnz, I[0], D[1], D[2]);
    add_doubles(D[2], panels * SVMX_PANEL + 1);
}

TRY(postings_distances)
{
    UNUSED;
    const int64_t nnz = draw_ascending(I[0], FEATURES);
    int64_t j = 0;
    for (int f = 0; f < FEATURES; ++f) {
        L[0][f] = j;
        for (int64_t place = 0; place < n && j < MOST * 15; ++place)
            if (drawn() % 3 == 0)
                H[j++] = (uint16_t)place;
    }
    L[0][FEATURES] = j;
    for (int64_t k = 0; k < nnz; ++k)
        I[0][k] = k % 5 == 4 ? ~I[0][k] : I[0][k];
    t->postings_distances(n, FEATURES, L[0], H, D[0], nnz, I[0], D[1], D[2], D[3]);
    add_doubles(D[3], n + 1);
}

TRY(stream_dots)
{
    UNUSED;
    int64_t p = 0;
    for (int64_t row = 0; row < 64; ++row) {
        L[0][row] = p;
        p += draw_ascending(I[1] + p, row % 9 == 0 ? 0 : FEATURES);
    }
    L[0][64] = p;
    draw_places(I[0], n, 64);
    for (int in_float = 0; in_float < 2; ++in_float) {
        t->stream_dots(n, I[0], L[0], I[1], numbers(0, in_float), D[1], D[2]);
        add_doubles(D[2], n * SVMX_SOURCES + 1);
    }
}

TRY(panel_block)
{
    UNUSED;
    for (int in_float = 0; in_float < 2; ++in_float) {
        t->panel_block(n / 8, numbers(0, in_float), SVMX_PANEL * 3, D[1], SVMX_PANEL + 3, D[2]);
        add_doubles(D[2], (SVMX_PANEL + 3) * SVMX_SOURCES);
    }
}

/* Pairs of numbers with |x|^2 below 2^31: with ``coarse`` two features of the largest 16-bit size, else all of them. */
static int64_t draw_pairs(int16_t *to, int64_t n, int coarse)
{
    for (int64_t k = 0; k < n; ++k)
        to[k] = (int16_t)(coarse ? (drawn() % 2 ? 32767 : -32767) : (int64_t)(drawn() % 18919) - 9459);
    return coarse ? 1 : FEATURES / 2;
}

TRY(integer_dots)
{
    UNUSED;
    const int64_t panels = n / 32, pairs = draw_pairs((int16_t *)H, MOST * 16, coarse);
    t->integer_dots(panels, pairs, (int16_t *)H + 1, (int16_t *)H, D[0]);
    add_doubles(D[0], panels * SVMX_PANEL + 1);
}

TRY(integer_block)
{
    UNUSED;
    const int64_t pairs = draw_pairs((int16_t *)H, MOST * 16, coarse) * n / MOST;
    t->integer_block(pairs, (int16_t *)H + 1, (int16_t *)H + n, SVMX_PANEL + 3, D[0]);
    add_doubles(D[0], (SVMX_PANEL + 3) * SVMX_SOURCES);
}

TRY(by_source)
{
    UNUSED;
    t->by_source(n, D[0], n, D[1]);
    add_doubles(D[1], n * SVMX_SOURCES + 1);
}

static void draw_columns(void)
{
    for (int64_t k = 0; k < MOST * 16; ++k)
        W[0][k] = drawn() & drawn();
}

TRY(bit_row)
{
    UNUSED;
    const int64_t stride = (MOST / SVMX_BIT_BLOCK + 1) * (SVMX_BIT_BLOCK / 64);
    for (int ones = 0; ones <= 600; ones = 3 * ones + 1) {
        draw_columns();
        draw_places(I[0], ones, 16 * MOST / stride);
        draw_places(I[1], MOST, 20);
        for (int n_table = 24; n_table <= 4096; n_table += 4072) {
            const int base = 2 * ones + 4;
            if (n_table == 24 && base + 20 > 24)
                continue;
            for (int k = n_table; k < 32; ++k)
                F[0][k] = F[0][n_table - 1];
            t->bit_row(n, ones, I[0], W[0], stride, I[1], base, F[0], n_table, F[1]);
            add_floats(F[1], n);
        }
    }
}

TRY(column_words)
{
    UNUSED;
    const int64_t words = n / 64, nnz = draw_ascending(I[0], FEATURES), stride = 20;
    draw_columns();
    for (int in_float = 0; in_float < 2; ++in_float) {
        t->column_words(words, nnz, I[0], numbers(0, in_float), D[1], W[0], stride, D[2]);
        add_doubles(D[2], words * 64 + 1);
    }
}

static svmx_waiting waiting(int64_t n, int per_row)
{
    for (int64_t k = 0; k < n; ++k)
        D[0][k] = (double)(drawn() % 3) - 1;
    const svmx_waiting w = {n - n % per_row, per_row, D[0], D[1], D[2], D[3], D[4], 0.25, 0.125};
    return w;
}

TRY(nearest)
{
    UNUSED;
    for (int per_row = 1; per_row <= 2; ++per_row) {
        const svmx_waiting w = waiting(n, per_row);
        add_double(t->nearest(&w, 1e-9, 1e-3, 5.0));
    }
}

TRY(fastest)
{
    UNUSED;
    for (int per_row = 1; per_row <= 2; ++per_row)
        for (double length = 0.01; length < 10; length *= 10) {
            const svmx_waiting w = waiting(n, per_row);
            double speed = 1e-3, found = -1;
            const int64_t at = t->fastest(&w, length, &speed, &found);
            add(&at, sizeof(at)), add_double(speed), add_double(found);
        }
}

static int64_t padded(int64_t n)
{
    return (n + SVMX_LEAF_PAD - 1) / SVMX_LEAF_PAD * SVMX_LEAF_PAD;
}

TRY(leaf_move)
{
    float top;
    UNUSED;
    if (n == 0)
        return;
    draw_sides(F[3], padded(n), -HUGE_VALF);
    const int64_t at = t->leaf_move(padded(n), F[0], F[1], F[2], 0.25f, F[3], &top);
    add(&at, sizeof(at)), add_floats(&top, 1), add_floats(F[0], padded(n) + 1);
}

TRY(leaf_partner)
{
    float gain, widest;
    UNUSED;
    if (n == 0)
        return;
    draw_sides(F[1], padded(n), HUGE_VALF);
    for (int64_t k = 0; k < padded(n); ++k)
        F[3][k] = fabsf(F[3][k]) + 0.5f;
    const int64_t at = t->leaf_partner(padded(n), F[0], F[1], F[2], F[3], 1.0f, 0.75f, &gain, &widest);
    add(&at, sizeof(at)), add_floats(&gain, 1), add_floats(&widest, 1);
}

TRY(add_float_rows)
{
    const float *rows[21];
    UNUSED;
    for (int r = 0; r < 21; ++r)
        rows[r] = F[0] + 7 * r;
    for (int count = 0; count <= 21; count += 7)
        t->add_float_rows(n, count, D[1], rows, 3, D[2]);
    add_doubles(D[2], n + 1);
}

/* Support vectors with ascending features, values from ``numbers``. */
static svmx_vectors drawn_vectors(int count, int in_float)
{
    int64_t p = 0;
    for (int v = 0; v < count; ++v) {
        L[0][v] = p;
        p += draw_ascending(I[0] + p, v == 2 ? 0 : 2 * FEATURES);
    }
    L[0][count] = p;
    const svmx_vectors vectors = {L[0], I[0], numbers(0, in_float), 0};
    return vectors;
}

TRY(panel_distances)
{
    UNUSED;
    const int count = (int)(n % 40);
    const svmx_vectors vectors = drawn_vectors(count, count % 2);
    const int64_t slots = draw_ascending(I[1] + 1, 2 * FEATURES);
    I[1][0] = -1, I[1][slots + 1] = INT32_MAX;
    double *panel = svmx_aligned(D[1]), *squares = svmx_aligned(D[2]), *out = svmx_aligned(D[3]);
    memset(panel, 0, SVMX_TESTS * sizeof(double));
    for (int64_t k = 0; k < (slots + 1) * SVMX_TESTS; ++k)
        squares[k] = panel[k] * panel[k];
    t->panel_distances(&vectors, 0, count, slots, I[1], panel, squares, out);
    add_doubles(out, count * SVMX_TESTS + 1);
}

TRY(panel_products)
{
    UNUSED;
    const int count = (int)(n % 40);
    const svmx_vectors vectors = drawn_vectors(count, count % 2);
    double *panel = svmx_aligned(D[1]), *out = svmx_aligned(D[3]);
    memset(panel, 0, SVMX_TESTS * sizeof(double));
    draw_places(I[1], 2 * FEATURES, FEATURES);
    t->panel_products(&vectors, 0, count, I[1], panel, NULL, NULL, out);
    add_doubles(out, count * SVMX_TESTS + 1);
    t->panel_products(&vectors, 0, count, I[1], panel, D[4], D[5], out);
    add_doubles(out, count * SVMX_TESTS + 1);
}

TRY(test_meetings)
{
    UNUSED;
    const int count = (int)(n % 40);
    double *panel = svmx_aligned(D[1]), *out = svmx_aligned(D[3]);
    draw_places(I[1], 2 * FEATURES, FEATURES);
    for (int product = SVMX_MINIMA; product <= SVMX_HARMONIC; ++product) {
        make_positive(0, product), make_positive(1, product), make_positive(2, product);
        const svmx_vectors vectors = drawn_vectors(count, count % 2);
        memset(panel, 0, SVMX_TESTS * sizeof(double));
        t->test_meetings(product, &vectors, 0, count, I[1], panel, out);
        add_doubles(out, count * SVMX_TESTS + 1);
    }
}

TRY(panel_table)
{
    UNUSED;
    const int64_t count = n % 40;
    for (int64_t k = 0; k < count * SVMX_TESTS; ++k)
        D[1][k] = (double)(drawn() % MOST);
    t->panel_table(count, D[0], D[1]);
    add_doubles(D[1], count * SVMX_TESTS + 1);
}

TRY(weighted_sum)
{
    UNUSED;
    const int64_t count = n % 40 + 1;
    double *values = svmx_aligned(D[1]), *total = svmx_aligned(D[2]);
    t->weighted_sum(count, D[0], values, total);
    add_doubles(total, SVMX_TESTS + 1);
}

TRY(weighted_lines)
{
    UNUSED;
    t->weighted_lines(n, 7, D[0], n + 1, D[1], D[2]);
    add_doubles(D[2], 8);
}

/* ---- kernels: libm's exp and tanh may differ between machines in the last bit of a double, not of a float ----------------- */

TRY(kernel_function)
{
    UNUSED;
    for (int kind = -1; t->kernel_function(kind) != NULL || kind < 0; ++kind) {
        const svmx_kernel_function *function = t->kernel_function(kind);
        if (function == NULL)
            continue;
        const svmx_kernel kernel = {function, 3, 0.5, 0.25};
        add(function->name, strlen(function->name));
        memcpy(D[1], D[0], (size_t)n * sizeof(double));
        for (int64_t k = 0; k < n && function->argument == SVMX_DISTANCE; ++k)
            D[1][k] = fabs(D[1][k]);
        memcpy(D[2], D[1], (size_t)n * sizeof(double));
        memcpy(D[3], D[1], (size_t)n * sizeof(double));
        if (function->values != NULL)
            function->values(n, &kernel, D[1]);
        for (int64_t k = 0; k < n; ++k)
            add_double((float)D[1][k]);
        if (function->doubles != NULL)
            function->doubles(n, &kernel, D[2]), add_doubles(D[2], n);
        if (function->about != NULL)
            function->about(n, &kernel, D[3]), add_doubles(D[3], n);
        if (function->about_error != NULL)
            add_double(function->about_error((double)n, &kernel, 3.0));
    }
}

TRY(kernel_value)
{
    UNUSED;
    for (int kind = 0; t->kernel_function(kind) != NULL; ++kind) {
        const svmx_kernel kernel = {t->kernel_function(kind), 3, 0.5, 0.25};
        add_double((float)t->kernel_value(&kernel, fabs(D[0][n])));
    }
}

TRY(kernel_with_itself)
{
    UNUSED;
    for (int kind = 0; t->kernel_function(kind) != NULL; ++kind) {
        const svmx_kernel kernel = {t->kernel_function(kind), 3, 0.5, 0.25};
        add_double((float)t->kernel_with_itself(&kernel, fabs(D[0][n])));
        add_double((float)t->kernel_with_itself(&kernel, 0.0));
    }
}

/* squares, in D[1], that belong to dot products in D[0] */
static void draw_squares(int64_t n)
{
    for (int64_t k = 0; k < n; ++k)
        D[1][k] = 1.0 + 3.0 * fabs(D[1][k]);
}

TRY(kernel_arguments)
{
    UNUSED;
    draw_squares(n);
    for (int kind = 0; t->kernel_function(kind) != NULL; ++kind) {
        const svmx_kernel kernel = {t->kernel_function(kind), 3, 0.7, 0.25};
        memcpy(D[2], D[0], (size_t)n * sizeof(double));
        t->kernel_arguments(n, &kernel, D[1], 2.0, D[2]);
        add_doubles(D[2], n + 1);
    }
}

TRY(tanimoto_row)
{
    UNUSED;
    for (int64_t k = 0; k < n; ++k) {
        F[0][k] = (float)(drawn() % 50);
        F[1][k] = (float)(drawn() % ((uint64_t)F[0][k] + 1));
    }
    t->tanimoto_row(n, 50.0f, F[0], F[1]);
    add_floats(F[1], n + 1);
}

TRY(kernel_row)
{
    UNUSED;
    draw_squares(n);
    for (int kind = 0; t->kernel_function(kind) != NULL; ++kind)
        for (double gamma = 1e-4; gamma < 1e3; gamma *= 30) {
            const svmx_kernel kernel = {t->kernel_function(kind), 3, gamma, 0.25};
            t->kernel_row(n, &kernel, D[0], D[1], 2.0, F[0]);
            add_floats(F[0], n + 1);
        }
}

TRY(kernel_doubles)
{
    UNUSED;
    draw_squares(n);
    for (int kind = 0; t->kernel_function(kind) != NULL; ++kind) {
        const svmx_kernel kernel = {t->kernel_function(kind), 3, 0.7, 0.25};
        t->kernel_doubles(n, &kernel, D[0], D[1], 2.0, D[2]);
        for (int64_t k = 0; k < n; ++k)
            add_double(kernel.function->doubles != NULL ? D[2][k] : (float)D[2][k]);
    }
}

TRY(rbf_row)
{
    UNUSED;
    draw_squares(n);
    for (double gamma = 1e-4; gamma < 1e3; gamma *= 30) {
        t->rbf_row(n, D[0], D[1], 2.0, -gamma, F[0]);
        add_floats(F[0], n + 1);
    }
}

/* Targets and their features: those that fit D, with few features, or with two stretches of them and some more. */
static int features, places;

/* Returns the number of targets from ``begin`` on, up to n and ``most``. */
static int64_t set_size(int wide, int64_t n, int64_t begin, int64_t most)
{
    features = wide ? 2 * SVMX_FEATURES + 3 : FEATURES;
    places = wide ? MOST / features * SVMX_PANEL : PLACES;
    most = most < places - begin ? most : places - begin;
    return n < most ? n : most;
}

/* The rows of a table (D[1]) that targets are, of features from 1 on; NULL: those of panels are. */
static const int32_t *in_place;

static double of_target(int64_t j, int f)
{
    if (in_place)
        return f == 0 ? 0 : D[1][in_place[j] * (features - 1) + f - 1];
    return D[1][j / SVMX_PANEL * features * SVMX_PANEL + f * SVMX_PANEL + j % SVMX_PANEL];
}

/* LIBSVM's value for row s of the sources (feature by feature, D[0]) and target j. */
static float exact(int s, int64_t j, double gamma)
{
    double dot = 0, square = 0, other = 0;
    for (int f = 0; f < features; ++f) {
        const double u = D[0][f * SVMX_SOURCES + s], v = of_target(j, f);
        dot += u * v, square += u * u, other += v * v;
    }
    return (float)exp(-gamma * (square + other - 2 * dot));
}

static double largest;

static svmx_targets drawn_targets(double gamma, int in_float, int rows)
{
    const svmx_numbers panels = numbers(1, in_float);
    draw_places(I[2], places + SVMX_PANEL, places);
    in_place = rows ? I[2] : NULL;
    for (int s = 0; rows && s < SVMX_SOURCES; ++s)
        D[0][s] = 0;
    largest = 0;
    for (int64_t j = 0; j < places; ++j) {
        D[2][j] = 0;
        for (int f = 0; f < features; ++f) {
            const double v = of_target(j, f);
            D[2][j] += v * v;
        }
        largest = D[2][j] > largest ? D[2][j] : largest;
    }
    return svmx_rbf_targets(features, panels, in_place, D[2], gamma);
}

static svmx_source drawn_source(const svmx_targets *targets, int s)
{
    svmx_source source;
    double square = 0;
    for (int f = 0; f < features; ++f)
        square += D[0][f * SVMX_SOURCES + s] * D[0][f * SVMX_SOURCES + s];
    svmx_rbf_source(targets, square, largest, &source);
    return source;
}

/* Values in doubt, which may differ between targets, are recomputed like LIBSVM's. */
TRY(rbf_one)
{
    UNUSED;
    const int64_t begin = 3 * SVMX_PANEL;
    for (int kind = 0; kind < 10; ++kind) /* panels and row in double, the row in float, both; in place, in double, in float */
        for (double gamma = 1e-3; gamma < 30; gamma *= 30) {
            const int rows = kind % 5 > 2, in_float = kind % 5 == 1 || kind % 5 == 2 || kind % 5 == 4;
            const int64_t m = set_size(kind / 5, n, begin, SVMX_RBF_TILE);
            numbers(0, in_float);
            const svmx_targets targets = drawn_targets(gamma, in_float && kind % 5 > 1, rows);
            for (int f = 0; f < features; ++f) {
                I[0][f] = f;
                D[3][f] = D[0][f * SVMX_SOURCES + 2];
            }
            const svmx_numbers row = svmx_numbers_from(numbers(3, in_float), rows);
            const int64_t doubtful = m == 0 ? 0
                                            : t->rbf_one(&targets, begin, m, features - rows, I[0], row,
                                                         drawn_source(&targets, 2), F[0], I[1]);
            for (int64_t k = 0; k < doubtful; ++k)
                F[0][I[1][k]] = exact(2, begin + I[1][k], gamma);
            add_floats(F[0], m);
        }
}

TRY(rbf_block)
{
    UNUSED;
    static int32_t doubtful[SVMX_SOURCES * SVMX_RBF_BLOCK];
    const int64_t begin = 2 * SVMX_PANEL;
    const int count = (int)(n % SVMX_SOURCES) + 1;
    for (int kind = 0; kind < 8; ++kind) /* in double, in float; the same in place */
        for (double gamma = 1e-3; gamma < 30; gamma *= 30) {
            const int64_t m = set_size(kind / 4, n, begin, SVMX_RBF_BLOCK);
            const svmx_targets targets = drawn_targets(gamma, kind % 2, kind / 2 % 2);
            svmx_source sources[SVMX_SOURCES];
            int64_t n_doubtful[SVMX_SOURCES];
            float *out[SVMX_SOURCES];
            for (int s = 0; s < count; ++s) {
                sources[s] = drawn_source(&targets, s);
                out[s] = F[0] + s * MOST;
            }
            t->rbf_block(&targets, begin, m, count, D[0], sources, out, n_doubtful, doubtful);
            for (int s = 0; s < count; ++s) {
                for (int64_t k = 0; k < n_doubtful[s]; ++k)
                    out[s][begin + doubtful[s * SVMX_RBF_BLOCK + k]] =
                        exact(s, begin + doubtful[s * SVMX_RBF_BLOCK + k], gamma);
                add_floats(out[s] + begin, m);
            }
        }
}

/* ---- all loops ----------------------------------------------------------------------------------------------------------- */

#define NAME(result, name, parameters) #name,
static const char *const names[] = {SVMX_LOOPS(NAME)};
#define N_LOOPS ((int)(sizeof(names) / sizeof(names[0])))

#define CASE(result, name, parameters) try_##name,
static void (*const cases[])(const svmx_loop_table *, int64_t, int) = {SVMX_LOOPS(CASE)};

#if defined(_WIN32)
__declspec(dllexport)
#endif
const char *loops_name(int k)
{
    return k < N_LOOPS ? names[k] : NULL;
}

#if defined(_WIN32)
__declspec(dllexport)
#endif
void loops_checksums(const svmx_loop_table *table, uint64_t *sums)
{
    fill(0);
    for (int k = 0; k < N_LOOPS; ++k) {
        sum = 0xCBF29CE484222325u, state = (uint64_t)k;
        for (int length = 0; length < N_LENGTHS; ++length)
            for (int coarse = 0; coarse < 2; ++coarse) {
                fill(coarse);
                cases[k](table, lengths[length], coarse);
            }
        sums[k] = sum;
    }
}

#ifdef PROGRAM
int main(void)
{
    uint64_t first[N_LOOPS], sums[N_LOOPS];
    int tried = 0, differ = 0;
    for (int j = SVMX_N_TARGETS - 1; j >= 0; --j) {
        const svmx_cpu_target *target = &svmx_cpu_targets[j];
        if (target->loops == NULL || !target->runs())
            continue;
        loops_checksums(target->loops, sums);
        for (int k = 0; k < N_LOOPS; ++k) {
            printf("%s %s %016llx\n", target->name, names[k], (unsigned long long)sums[k]);
            if (tried == 0)
                first[k] = sums[k];
            differ |= sums[k] != first[k];
        }
        ++tried;
    }
    printf("%s\n", differ ? "targets differ" : "targets agree");
    return differ;
}
#endif
