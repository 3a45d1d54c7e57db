/* Interface of libsvmx's libsvm.so.4 and libsvm.so.3: names and memory layout of LIBSVM.
 *
 * Programs may include this header or LIBSVM's own. LIBSVM_VERSION, 337 by default, selects the structures:
 *
 *     337      of LIBSVM 3.37, in libsvm.so.4
 *     324      of LIBSVM 3.24, in libsvm.so.3, as in Debian: a model has no prob_density_marks
 */
#ifndef _LIBSVM_H
#define _LIBSVM_H

#ifndef LIBSVM_VERSION
#define LIBSVM_VERSION 337
#endif

#ifdef __cplusplus
extern "C" {
#endif

extern int libsvm_version;

/* One entry of a row. Indices ascend; -1 ends the row. */
struct svm_node {
    int index;
    double value;
};

struct svm_problem {
    int l;               /* rows */
    double *y;           /* (l,) labels or targets */
    struct svm_node **x; /* (l,) rows */
};

enum { C_SVC, NU_SVC, ONE_CLASS, EPSILON_SVR, NU_SVR };
enum { LINEAR, POLY, RBF, SIGMOID, PRECOMPUTED };

struct svm_parameter {
    int svm_type;
    int kernel_type;
    int degree;
    double gamma;
    double coef0;

    /* for training only */
    double cache_size; /* MB */
    double eps;        /* tolerance */
    double C;
    int nr_weight;
    int *weight_label; /* (nr_weight,) classes */
    double *weight;    /* (nr_weight,) factors of C */
    double nu;
    double p; /* epsilon of the loss of epsilon-SVR */
    int shrinking;
    int probability;
};

struct svm_model {
    struct svm_parameter param;
    int nr_class; /* 2 in regression and one-class */
    int l;        /* support vectors */
    struct svm_node **SV;
    double **sv_coef; /* (nr_class - 1, l) */
    double *rho;      /* (nr_class (nr_class - 1) / 2,), as probA and probB */
    double *probA;
    double *probB;
#if LIBSVM_VERSION >= 331
    double *prob_density_marks; /* (10,), one-class */
#endif
    int *sv_indices; /* (l,) training row of each vector, from 1; NULL in a loaded model */
    int *label;      /* (nr_class,), classification */
    int *nSV;        /* (nr_class,), classification */
    int free_sv;     /* 1 if the model owns its vectors (loaded); 0 if they are rows of the problem */
};

struct svm_model *svm_train(const struct svm_problem *prob, const struct svm_parameter *param);
void svm_cross_validation(const struct svm_problem *prob, const struct svm_parameter *param, int nr_fold, double *target);

int svm_save_model(const char *model_file_name, const struct svm_model *model);
struct svm_model *svm_load_model(const char *model_file_name);

int svm_get_svm_type(const struct svm_model *model);
int svm_get_nr_class(const struct svm_model *model);
void svm_get_labels(const struct svm_model *model, int *label);
void svm_get_sv_indices(const struct svm_model *model, int *sv_indices);
int svm_get_nr_sv(const struct svm_model *model);
double svm_get_svr_probability(const struct svm_model *model);

double svm_predict_values(const struct svm_model *model, const struct svm_node *x, double *dec_values);
double svm_predict(const struct svm_model *model, const struct svm_node *x);
double svm_predict_probability(const struct svm_model *model, const struct svm_node *x, double *prob_estimates);

void svm_free_model_content(struct svm_model *model_ptr);
void svm_free_and_destroy_model(struct svm_model **model_ptr_ptr);
void svm_destroy_param(struct svm_parameter *param);

const char *svm_check_parameter(const struct svm_problem *prob, const struct svm_parameter *param);
int svm_check_probability_model(const struct svm_model *model);

void svm_set_print_string_function(void (*print_func)(const char *));

#ifdef __cplusplus
}
#endif

#endif
