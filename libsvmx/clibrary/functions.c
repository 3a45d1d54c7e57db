/* LIBSVM's functions, for the structures of LIBSVM_VERSION; compiled once for each soname.
 *
 * Training and model files go through the bridge to Python; the rest is C. Errors that LIBSVM's functions cannot return
 * are printed to standard error.
 */
#include "svm.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bridge.h"

#define PUBLIC __attribute__((visibility("default")))

PUBLIC int libsvm_version = LIBSVM_VERSION;

/* ---- structures of the program, and ours ------------------------------------------------------------------------- */

#if LIBSVM_VERSION >= 331
#define HAS_MARKS 1
#define SET_MARKS(to, from) ((to).prob_density_marks = (from).prob_density_marks)
#else
#define HAS_MARKS 0
#define SET_MARKS(to, from) ((void)0)
#endif

#define COPY_FIELDS(to, from)                                                                                             \
    ((to).param = (from).param, (to).nr_class = (from).nr_class, (to).l = (from).l, (to).SV = (from).SV,                  \
     (to).sv_coef = (from).sv_coef, (to).rho = (from).rho, (to).probA = (from).probA, (to).probB = (from).probB,          \
     (to).sv_indices = (from).sv_indices, (to).label = (from).label, (to).nSV = (from).nSV, (to).free_sv = (from).free_sv)

/* The program's model as an svmx_c_model that shares its arrays. */
static svmx_c_model ours(const struct svm_model *model)
{
    svmx_c_model out = {0};
    COPY_FIELDS(out, *model);
    SET_MARKS(out, *model);
    return out;
}

/* A model for the program, which then owns the arrays; NULL with a message on failure. */
static struct svm_model *theirs(svmx_c_model *model, char *message)
{
    struct svm_model *out = NULL;
    if (!HAS_MARKS && model->prob_density_marks != NULL)
        strcpy(message, "probability estimates of a one-class SVM: the program is compiled for a LIBSVM before 3.31, "
                        "which has none");
    else if ((out = calloc(1, sizeof *out)) == NULL)
        strcpy(message, "out of memory");
    if (out == NULL) {
        svmx_free_content(model);
        return NULL;
    }
    COPY_FIELDS(*out, *model);
    SET_MARKS(*out, *model);
    return out;
}

static void complain(const char *function, const char *message)
{
    fflush(stdout);
    fprintf(stderr, "libsvm: %s: %s\n", function, message);
}

/* ---- where the transcript goes ----------------------------------------------------------------------------------- */

static void print_to_stdout(const char *text)
{
    fputs(text, stdout);
    fflush(stdout);
}

static _Atomic(svmx_print) print = print_to_stdout;

PUBLIC void svm_set_print_string_function(void (*print_func)(const char *))
{
    atomic_store(&print, print_func == NULL ? print_to_stdout : print_func);
}

/* ---- training ---------------------------------------------------------------------------------------------------- */

PUBLIC const char *svm_check_parameter(const struct svm_problem *prob, const struct svm_parameter *param)
{
    static _Thread_local char message[SVMX_MESSAGE]; /* returned; valid until the thread's next call */
    const svmx_bridge *bridge;
    if (!HAS_MARKS && param->svm_type == ONE_CLASS && param->probability)
        return "probability estimates of a one-class SVM need a program compiled for LIBSVM 3.31 or later";
    bridge = svmx_find_bridge(message);
    return bridge != NULL && bridge->check(prob, param, message) == 0 ? NULL : message;
}

PUBLIC struct svm_model *svm_train(const struct svm_problem *prob, const struct svm_parameter *param)
{
    char message[SVMX_MESSAGE];
    const svmx_bridge *bridge = svmx_find_bridge(message);
    svmx_c_model model = {0};
    struct svm_model *out = NULL;
    if (bridge != NULL && bridge->train(prob, param, atomic_load(&print), &model, message) == 0)
        out = theirs(&model, message);
    if (out == NULL)
        complain("svm_train", message);
    return out;
}

PUBLIC void svm_cross_validation(const struct svm_problem *prob, const struct svm_parameter *param, int nr_fold,
                                 double *target)
{
    char message[SVMX_MESSAGE];
    const svmx_bridge *bridge = svmx_find_bridge(message);
    if (bridge != NULL && bridge->cross_validate(prob, param, nr_fold, atomic_load(&print), target, message) == 0)
        return;
    for (int i = 0; i < prob->l; ++i)
        target[i] = NAN;
    complain("svm_cross_validation", message);
}

/* ---- model files ------------------------------------------------------------------------------------------------- */

PUBLIC int svm_save_model(const char *model_file_name, const struct svm_model *model)
{
    char message[SVMX_MESSAGE] = "there is no model";
    const svmx_bridge *bridge = model == NULL ? NULL : svmx_find_bridge(message);
    if (bridge != NULL) {
        const svmx_c_model content = ours(model);
        if (bridge->save(model_file_name, &content, message) == 0)
            return 0;
    }
    complain("svm_save_model", message);
    return -1;
}

PUBLIC struct svm_model *svm_load_model(const char *model_file_name)
{
    char message[SVMX_MESSAGE];
    const svmx_bridge *bridge = svmx_find_bridge(message);
    svmx_c_model model = {0};
    struct svm_model *out = NULL;
    if (bridge != NULL && bridge->load(model_file_name, &model, message) == 0)
        out = theirs(&model, message);
    if (out == NULL && *message != '\0')
        complain("svm_load_model", message);
    return out;
}

/* ---- fields of a model ------------------------------------------------------------------------------------------- */

PUBLIC int svm_get_svm_type(const struct svm_model *model)
{
    return model->param.svm_type;
}

PUBLIC int svm_get_nr_class(const struct svm_model *model)
{
    return model->nr_class;
}

PUBLIC void svm_get_labels(const struct svm_model *model, int *label)
{
    if (model->label != NULL)
        memcpy(label, model->label, (size_t)model->nr_class * sizeof(int));
}

PUBLIC void svm_get_sv_indices(const struct svm_model *model, int *sv_indices)
{
    if (model->sv_indices != NULL)
        memcpy(sv_indices, model->sv_indices, (size_t)model->l * sizeof(int));
}

PUBLIC int svm_get_nr_sv(const struct svm_model *model)
{
    return model->l;
}

PUBLIC double svm_get_svr_probability(const struct svm_model *model)
{
    if ((model->param.svm_type == EPSILON_SVR || model->param.svm_type == NU_SVR) && model->probA != NULL)
        return model->probA[0];
    complain("svm_get_svr_probability", "this model is not a regression with probability estimates");
    return 0;
}

PUBLIC int svm_check_probability_model(const struct svm_model *model)
{
    const svmx_c_model content = ours(model);
    return svmx_has_probability(&content);
}

/* ---- prediction -------------------------------------------------------------------------------------------------- */

PUBLIC double svm_predict_values(const struct svm_model *model, const struct svm_node *x, double *dec_values)
{
    const svmx_c_model content = ours(model);
    return svmx_decide(&content, x, dec_values);
}

PUBLIC double svm_predict(const struct svm_model *model, const struct svm_node *x)
{
    const svmx_c_model content = ours(model);
    const size_t k = content.nr_class > 1 ? (size_t)content.nr_class : 2;
    double *values = malloc(k * (k - 1) / 2 * sizeof(double)), result = NAN;
    if (values != NULL)
        result = svmx_decide(&content, x, values);
    else
        complain("svm_predict", "out of memory");
    free(values);
    return result;
}

PUBLIC double svm_predict_probability(const struct svm_model *model, const struct svm_node *x, double *prob_estimates)
{
    const svmx_c_model content = ours(model);
    int unfinished;
    const double result = svmx_estimate(&content, x, prob_estimates, &unfinished);
    if (unfinished)
        atomic_load(&print)("Exceeds max_iter in multiclass_prob\n");
    return result;
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

PUBLIC void svm_free_model_content(struct svm_model *model_ptr)
{
    svmx_c_model content = ours(model_ptr);
    svmx_free_content(&content);
    COPY_FIELDS(*model_ptr, content);
    SET_MARKS(*model_ptr, content);
}

PUBLIC void svm_free_and_destroy_model(struct svm_model **model_ptr_ptr)
{
    if (model_ptr_ptr == NULL || *model_ptr_ptr == NULL)
        return;
    svm_free_model_content(*model_ptr_ptr);
    free(*model_ptr_ptr);
    *model_ptr_ptr = NULL;
}

PUBLIC void svm_destroy_param(struct svm_parameter *param)
{
    free(param->weight_label);
    free(param->weight);
}
