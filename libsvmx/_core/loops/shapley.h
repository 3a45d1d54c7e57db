/* Shapley values of products of functions of one feature each.
 *
 * A game over features f: with the members of S as in one row and the others as in another row, a product is worth
 *
 *     v(S) = prod_{f in S} p_f  prod_{f not in S} q_f.
 *
 * The weights of Shapley's value are an integral over the share t of features that have joined (Owen, Multilinear
 * extensions of games, Management Science 18(5), 1972), so
 *
 *     phi_f = integral_0^1 (p_f - q_f)  prod_{g != f} (q_g + t (p_g - q_g))  dt,
 *
 * of a polynomial of degree n - 1 in t: n / 2 Gauss-Legendre nodes are exact.
 *
 * Who calls: _kernels/shapley.pyx, for SVMX_GAMES support vectors at a time.
 */
#pragma once

#include <stdint.h>

/* Products per call. */
#define SVMX_GAMES 16

#define SVMX_SHAPLEY_LOOPS(LOOP)                                                                                          \
    LOOP(void, shapley_of_products, (int64_t n, int64_t n_nodes, const double *node, const double *weight,                \
                                     const double *p, const double *q, double *before, double *phi))
