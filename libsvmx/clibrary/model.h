/* A model independent of LIBSVM_VERSION: LIBSVM's fields, allocated by malloc; and prediction from it. */
#ifndef SVMX_MODEL_H
#define SVMX_MODEL_H

#include "svm.h"

#define SVMX_MARKS 10 /* density marks of one-class probability estimates */

/* Fields as in svm_model of svm.h. */
typedef struct {
    struct svm_parameter param;
    int nr_class, l;
    struct svm_node **SV;
    double **sv_coef;
    double *rho, *probA, *probB, *prob_density_marks;
    int *sv_indices, *label, *nSV;
    int free_sv;
} svmx_c_model;

/* Frees the arrays, and sets their pointers to NULL. */
void svmx_free_content(svmx_c_model *model);

/* Decision values of one row, (n_functions,), OUT, equal to LIBSVM's; returns the label, target or sign. NaN, with a
 * line on standard error, if the row lacks values of a precomputed kernel or there is no memory. */
double svmx_decide(const svmx_c_model *model, const struct svm_node *x, double *values);

/* Probabilities of one row, (nr_class,), OUT; returns the most probable label, or one-class's sign. Without probability
 * estimates as svmx_decide. ``unfinished``, OUT: whether the coupling met its iteration limit. */
double svmx_estimate(const svmx_c_model *model, const struct svm_node *x, double *estimates, int *unfinished);

/* Whether the model has probability estimates, or the noise scale of a regression. */
int svmx_has_probability(const svmx_c_model *model);

#endif
