/* Prediction from the fields of a model: no Python, no lock, no state between calls. */
#include "model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pairwise.h"

/* Baseline kernel functions: with one row per call, wider vectors do not pay. */
#define SVMX_TARGET baseline
#include "simd.h"

static int is_classification(const svmx_c_model *model)
{
    return model->param.svm_type == C_SVC || model->param.svm_type == NU_SVC;
}

int svmx_has_probability(const svmx_c_model *model)
{
    if (is_classification(model))
        return model->probA != NULL && model->probB != NULL;
    return (model->param.svm_type == ONE_CLASS ? model->prob_density_marks : model->probA) != NULL;
}

void svmx_free_content(svmx_c_model *model)
{
    if (model->free_sv && model->l > 0 && model->SV != NULL)
        free(model->SV[0]); /* all vectors are in one allocation */
    if (model->sv_coef != NULL)
        for (int j = 0; j < model->nr_class - 1; ++j)
            free(model->sv_coef[j]);
    free(model->SV), free(model->sv_coef), free(model->rho), free(model->probA), free(model->probB);
    free(model->prob_density_marks), free(model->sv_indices), free(model->label), free(model->nSV);
    model->SV = NULL, model->sv_coef = NULL;
    model->rho = model->probA = model->probB = model->prob_density_marks = NULL;
    model->sv_indices = model->label = model->nSV = NULL;
}

/* <u, v>, in LIBSVM's order */
static double product(const struct svm_node *u, const struct svm_node *v)
{
    double sum = 0;
    while (u->index != -1 && v->index != -1) {
        if (u->index == v->index) {
            sum += u->value * v->value;
            ++u, ++v;
        } else if (u->index > v->index)
            ++v;
        else
            ++u;
    }
    return sum;
}

/* |u - v|^2, in LIBSVM's order */
static double distance(const struct svm_node *u, const struct svm_node *v)
{
    double sum = 0;
    while (u->index != -1 && v->index != -1) {
        if (u->index == v->index) {
            const double d = u->value - v->value;
            sum += d * d;
            ++u, ++v;
        } else if (u->index > v->index) {
            sum += v->value * v->value;
            ++v;
        } else {
            sum += u->value * u->value;
            ++u;
        }
    }
    for (; u->index != -1; ++u)
        sum += u->value * u->value;
    for (; v->index != -1; ++v)
        sum += v->value * v->value;
    return sum;
}

/* t[i] = K(x, SV[i]), (l,), OUT, of a precomputed kernel: entry number serial of x. Returns whether x has them all. */
static int given(const svmx_c_model *model, const struct svm_node *x, double *t)
{
    double n = 0; /* entries of x */
    while (x[(size_t)n].index != -1)
        ++n;
    for (int i = 0; i < model->l; ++i) {
        const double serial = model->SV[i]->value;
        if (!(serial >= 0 && serial < n))
            return 0;
        t[i] = x[(size_t)serial].value;
    }
    return 1;
}

/* t[i] = K(x, SV[i]), (l,), OUT. Returns 0 for an unknown kernel, or missing values of a precomputed one. */
static int kernel_values(const svmx_c_model *model, const struct svm_node *x, double *t)
{
    const svmx_kernel kernel = {SVMX_LOOP(kernel_function)(model->param.kernel_type), model->param.degree,
                                model->param.gamma, model->param.coef0};
    if (kernel.function == NULL) {
        fprintf(stderr, "libsvm: prediction: kernel_type %d is none of 0 to 4\n", model->param.kernel_type);
        return 0;
    }
    if (kernel.function->argument == SVMX_GIVEN) {
        if (given(model, x, t))
            return 1;
        fprintf(stderr, "libsvm: prediction: the row of a precomputed kernel must be 0:serial 1:K(row,1) 2:K(row,2) ... up "
                        "to the largest serial number of a support vector\n");
        return 0;
    }
    for (int i = 0; i < model->l; ++i)
        t[i] = kernel.function->argument == SVMX_DISTANCE ? distance(x, model->SV[i]) : product(x, model->SV[i]);
    if (kernel.function->values != NULL)
        kernel.function->values(model->l, &kernel, t);
    return 1;
}

/* sum + coef[i] t[i] over [begin, end), added in this order. */
static double add_up(double sum, const double *coef, const double *t, int begin, int end)
{
    for (int i = begin; i < end; ++i)
        sum += coef[i] * t[i];
    return sum;
}

/* Decision values of all pairs of classes, OUT; returns the index of the first class with most votes. Workspace:
 * ``start``, (nr_class + 1,), and ``votes``, (nr_class,). */
static int vote(const svmx_c_model *model, const double *t, double *values, int *start, int *votes)
{
    const int k = model->nr_class;
    int p = 0, best = 0;
    start[0] = 0;
    for (int c = 0; c < k; ++c) {
        start[c + 1] = start[c] + model->nSV[c];
        votes[c] = 0;
    }
    for (int i = 0; i < k; ++i)
        for (int j = i + 1; j < k; ++j, ++p) {
            const double sum = add_up(0.0, model->sv_coef[j - 1], t, start[i], start[i + 1]);
            values[p] = add_up(sum, model->sv_coef[i], t, start[j], start[j + 1]) - model->rho[p];
            ++votes[values[p] > 0 ? i : j];
        }
    for (int c = 1; c < k; ++c)
        best = votes[c] > votes[best] ? c : best;
    return best;
}

static double without_memory(void)
{
    fprintf(stderr, "libsvm: prediction: out of memory\n");
    return NAN;
}

double svmx_decide(const svmx_c_model *model, const struct svm_node *x, double *values)
{
    const size_t l = (size_t)model->l, k = is_classification(model) ? (size_t)model->nr_class : 0;
    double *t = malloc(l * sizeof(double) + (2 * k + 1) * sizeof(int)), result;
    if (t == NULL)
        return without_memory();
    if (!kernel_values(model, x, t)) {
        for (size_t p = 0; p < (k > 0 ? k * (k - 1) / 2 : 1); ++p)
            values[p] = NAN;
        result = NAN;
    } else if (k > 0) {
        int *room = (int *)(t + l);
        result = model->label[vote(model, t, values, room, room + k + 1)];
    } else {
        result = values[0] = add_up(0.0, model->sv_coef[0], t, 0, model->l) - model->rho[0];
        if (model->param.svm_type == ONE_CLASS)
            result = result > 0 ? 1 : -1;
    }
    free(t);
    return result;
}

double svmx_estimate(const svmx_c_model *model, const struct svm_node *x, double *estimates, int *unfinished)
{
    const size_t k = is_classification(model) ? (size_t)model->nr_class : 2;
    double *values, *r, *Q, result;
    *unfinished = 0;
    values = malloc((k * (k - 1) / 2 + 2 * k * k + k + 1) * sizeof(double));
    if (values == NULL)
        return without_memory();
    result = svmx_decide(model, x, values);
    if (result != result || !svmx_has_probability(model)) {
        free(values);
        return result;
    }
    if (model->param.svm_type == ONE_CLASS) {
        estimates[0] = svmx_normal_probability(values[0], model->prob_density_marks);
        estimates[1] = 1 - estimates[0];
    } else if (is_classification(model)) {
        size_t p = 0, best = 0;
        r = values + k * (k - 1) / 2, Q = r + k * k;
        for (size_t i = 0; i < k; ++i)
            for (size_t j = i + 1; j < k; ++j, ++p) {
                r[i * k + j] = svmx_pair_probability(values[p], model->probA[p], model->probB[p]);
                r[j * k + i] = 1 - r[i * k + j];
            }
        if (k == 1)
            estimates[0] = 1;
        else if (k == 2)
            estimates[0] = r[1], estimates[1] = r[2];
        else
            *unfinished = !svmx_couple((int)k, r, estimates, Q, Q + k * k);
        for (size_t c = 1; c < k; ++c)
            best = estimates[c] > estimates[best] ? c : best;
        result = model->label[best];
    }
    free(values);
    return result;
}
