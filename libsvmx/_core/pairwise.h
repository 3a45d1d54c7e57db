/* Probabilities from decision values, step by step as LIBSVM computes them.
 *
 * Who calls: _train/probability.pyx, and clibrary/prediction.c, which must not need Python.
 */
#pragma once

#include <math.h>

/* LIBSVM's bounds of pairwise probabilities */
#define SVMX_MIN_PROBABILITY 1e-7

/* Probability of the first of two classes at decision value f (Platt 2000): 1 / (1 + exp(A f + B)), kept from 0 and 1. */
static inline double svmx_pair_probability(double f, double A, double B)
{
    const double z = f * A + B;
    const double p = z >= 0 ? exp(-z) / (1.0 + exp(-z)) : 1.0 / (1 + exp(z));
    /* in this order what is not a number becomes the least, as in LIBSVM */
    const double above = p > SVMX_MIN_PROBABILITY ? p : SVMX_MIN_PROBABILITY;
    return above < 1 - SVMX_MIN_PROBABILITY ? above : 1 - SVMX_MIN_PROBABILITY;
}

/* Class probabilities p, (k,), OUT, of pairwise ones r, (k, k): the second method of Wu, Lin & Weng (2004). Q, (k, k), and
 * Qp, (k,), are room. Returns whether it converged before the iteration limit. */
static inline int svmx_couple(int k, const double *r, double *p, double *Q, double *Qp)
{
    const int limit = k > 100 ? k : 100;
    const double eps = 0.005 / k;
    for (int t = 0; t < k; ++t) {
        p[t] = 1.0 / k;
        Q[t * k + t] = 0;
        for (int j = 0; j < k; ++j)
            if (j != t) {
                Q[t * k + t] += r[j * k + t] * r[j * k + t];
                Q[t * k + j] = j < t ? Q[j * k + t] : -r[j * k + t] * r[t * k + j];
            }
    }
    for (int iteration = 0; iteration < limit; ++iteration) {
        double pQp = 0, worst = 0;
        for (int t = 0; t < k; ++t) {
            Qp[t] = 0;
            for (int j = 0; j < k; ++j)
                Qp[t] += Q[t * k + j] * p[j];
            pQp += p[t] * Qp[t];
        }
        for (int t = 0; t < k; ++t)
            worst = fabs(Qp[t] - pQp) > worst ? fabs(Qp[t] - pQp) : worst;
        if (worst < eps)
            return 1;
        for (int t = 0; t < k; ++t) {
            const double diff = (-Qp[t] + pQp) / Q[t * k + t];
            p[t] += diff;
            pQp = (pQp + diff * (diff * Q[t * k + t] + 2 * Qp[t])) / (1 + diff) / (1 + diff);
            for (int j = 0; j < k; ++j) {
                Qp[j] = (Qp[j] + diff * Q[t * k + j]) / (1 + diff);
                p[j] /= (1 + diff);
            }
        }
    }
    return 0;
}

/* Probability that a row with this decision value of a one-class SVM is normal; marks: (10,), ascending (Que & Lin 2022). */
static inline double svmx_normal_probability(double value, const double *marks)
{
    if (value < marks[0])
        return 0.001;
    if (value > marks[9])
        return 0.999;
    for (int i = 1; i < 10; ++i)
        if (value < marks[i])
            return (double)i / 10;
    return 0.0;
}
