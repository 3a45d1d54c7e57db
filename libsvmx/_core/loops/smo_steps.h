/* Steps of SMO: float kernel rows move scores in double, and the working set is found by second-order information.
 *
 * Notation: V_i = -y_i G_i, beta_i = y_i alpha_i, K without labels (Fan, Chen & Lin, JMLR 6, 2005, rewritten in
 * label-free scores). Arrays are IN and of length n, the active variables, but where smo_steps.c says so; V and scores are
 * IN and OUT, out and lanes are OUT.
 *
 * Who calls: _solvers/smo (positions.pyx the working set, positions.pyx the replay); gather and axpy_row also
 * _kernels/rowstore.pyx, _kernels/sharedrows.pyx, _solvers/decomposition and _solvers/seeding.
 */
#ifndef SVMX_SMO_STEPS_H
#define SVMX_SMO_STEPS_H

#include <stdint.h>

/* Curvature floor of LIBSVM: keeps the pair step finite where K_ii + K_jj - 2 K_ij <= 0. */
#define SVMX_TAU 1e-12
/* Rows that are replayed together. */
#define SVMX_REPLAY 16
/* Maxima are found block by block, and the last place of one by looking into its block again. */
#define SVMX_SPAN 256
/* svmx_partner's scratch has a float for so many positions, and for another SVMX_SPAN positions. */
#define SVMX_PER_TOP 4

/* What pairing i with the positions depends on: V, low (0 inside I_low, +inf outside), QD and K_i. ``unit``: QD is 1
 * throughout, as in RBF. */
typedef struct {
    const double *V, *QD;
    const float *low, *K;
    double Vmax, QD_i;
    int unit;
} svmx_pairing;

#define SVMX_SMO_LOOPS(LOOP)                                                                                              \
    LOOP(void, gather, (int64_t n, const float *row, const int32_t *index, float *out))                                   \
    LOOP(void, axpy_row, (int64_t n, double a, const float *K, double *V))                                                \
    LOOP(void, axpy_rows, (int64_t n, int64_t count, const double *a, const float *const *K, int64_t first, double *V))   \
    LOOP(void, axpy_at, (int64_t n, double a, const float *K, const int32_t *at, double *scores))                         \
    LOOP(void, interleave, (int64_t n, int64_t stride, const float *rows, int64_t between, float *out))                   \
    LOOP(void, replay, (int64_t n, const int32_t *source, const double *coef, const float *K, double *scores))            \
    LOOP(int64_t, max_violator, (int64_t n, double *V, const float *up, double *maximum))                                 \
    LOOP(int64_t, update_max_violator,                                                                                    \
         (int64_t n, double *V, const float *Ki, const float *Kj, double dbeta_i, double dbeta_j, const float *up,        \
          double *maximum))                                                                                               \
    LOOP(int64_t, conjugate_max_violator,                                                                                 \
         (int64_t n, double *V, const float *Ki, const float *Kj, double gamma, double step, double *Kd,                  \
          const float *up, double *maximum))                                                                              \
    LOOP(int, move_inside,                                                                                                \
         (int64_t n, double step, const double *d, const double *alpha, const double *C, double *moved))                  \
    LOOP(int64_t, partner,                                                                                                \
         (const svmx_pairing *pair, int64_t n, double eps, float *tops, double *largest, double *gap))

#endif
