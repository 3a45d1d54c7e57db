/* What is behind a model of either header: the fields of LIBSVM's, in memory of malloc. */
#ifndef SVMX_MODEL_H
#define SVMX_MODEL_H

#include "svm.h"

#define SVMX_MARKS 10 /* of a one-class SVM with probability estimates */

/* Fields as of svm_model in svm.h. */
typedef struct {
    struct svm_parameter param;
    int nr_class, l;
    struct svm_node **SV;
    double **sv_coef;
    double *rho, *probA, *probB, *prob_density_marks;
    int *sv_indices, *label, *nSV;
    int free_sv;
} svmx_c_model;

/* Frees what the model points at, and makes it NULL. */
void svmx_free_content(svmx_c_model *model);

/* Decision values, (number of functions,), OUT, of one row, and the label, target or sign that they say: LIBSVM's numbers.
 * Not a number where the row lacks what a precomputed kernel needs, or without memory, with a line on standard error. */
double svmx_decide(const svmx_c_model *model, const struct svm_node *x, double *values);

/* The label of the most probable class, or the sign of one-class, and the probabilities, (nr_class,), OUT; of a model
 * without them the same as svmx_decide. ``unfinished``, OUT: whether the coupling met its iteration limit. */
double svmx_estimate(const svmx_c_model *model, const struct svm_node *x, double *estimates, int *unfinished);

/* Whether it can give probabilities, or the noise scale of a regression. */
int svmx_has_probability(const svmx_c_model *model);

#endif
