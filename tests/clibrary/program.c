/* A program that calls all functions of svm.h, and prints all fields of its models: the output must be the same with
 * libsvmx's library and with LIBSVM's.
 *
 *     program [options of svm-train] DATA MODEL       -v N: cross-validation instead; -S N: srand(N) first;
 *                                                     -q: no transcript; -T N: predict by N threads at once;
 *                                                     -C N: N threads call the library first, at once
 */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "svm.h"

static struct svm_problem problem;
static struct svm_parameter param = {C_SVC, RBF, 3, 0, 0, 100, 1e-3, 1, 0, NULL, NULL, 0.5, 0.1, 1, 0};
static int n_folds, n_threads, n_first;

static void quiet(const char *text)
{
    (void)text;
}

static void *grown(void *p, size_t n)
{
    if ((p = realloc(p, n)) == NULL)
        exit(3);
    return p;
}

static void read_data(const char *path)
{
    FILE *file = fopen(path, "r");
    char *line = NULL;
    size_t room = 0;
    int largest = 0;
    if (file == NULL)
        exit(2);
    while (getline(&line, &room, file) > 0) {
        struct svm_node *row = NULL;
        int n = 0, used;
        char *at = line;
        problem.y = grown(problem.y, (problem.l + 1) * sizeof(double));
        problem.x = grown(problem.x, (problem.l + 1) * sizeof(*problem.x));
        problem.y[problem.l] = strtod(at, &at);
        for (;; at += used, ++n) {
            row = grown(row, (n + 1) * sizeof(*row));
            memset(&row[n], 0, sizeof(*row));
            row[n].index = -1;
            if (sscanf(at, "%d:%lf%n", &row[n].index, &row[n].value, &used) < 2)
                break;
            largest = row[n].index > largest ? row[n].index : largest;
        }
        row[n].index = -1;
        problem.x[problem.l++] = row;
    }
    if (param.gamma == 0 && largest > 0)
        param.gamma = 1.0 / largest;
    free(line);
    fclose(file);
}

static void show(const char *name, const double *values, int n)
{
    printf("%s", name);
    for (int i = 0; values != NULL && i < n; ++i)
        printf(" %a", values[i]);
    printf("%s\n", values == NULL ? " NULL" : "");
}

static void show_ints(const char *name, const int *values, int n)
{
    printf("%s", name);
    for (int i = 0; values != NULL && i < n; ++i)
        printf(" %d", values[i]);
    printf("%s\n", values == NULL ? " NULL" : "");
}

static void show_model(const struct svm_model *m)
{
    const int k = m->nr_class, pairs = k * (k - 1) / 2;
    int *labels = calloc(k, sizeof(int)), *rows = calloc(m->l + 1, sizeof(int));
    printf("model %d %d %d %d %d\n", svm_get_svm_type(m), svm_get_nr_class(m), svm_get_nr_sv(m), m->free_sv,
           svm_check_probability_model(m));
    show("rho", m->rho, pairs), show("probA", m->probA, pairs), show("probB", m->probB, pairs);
#if LIBSVM_VERSION >= 331
    show("marks", m->prob_density_marks, 10);
#endif
    show_ints("sv_indices", m->sv_indices, m->l), show_ints("label", m->label, k), show_ints("nSV", m->nSV, k);
    for (int j = 0; j < k - 1; ++j)
        show("coef", m->sv_coef[j], m->l);
    for (int i = 0; i < m->l; ++i) {
        for (const struct svm_node *node = m->SV[i]; node->index != -1; ++node)
            printf("%d:%a ", node->index, node->value);
        if (m->sv_indices != NULL && m->SV[i] != problem.x[m->sv_indices[i] - 1])
            printf("no row of the problem");
        printf("\n");
    }
    svm_get_labels(m, labels), svm_get_sv_indices(m, rows);
    show_ints("labels", labels, k), show_ints("rows", rows, m->l);
    printf("sigma %a\n", m->param.svm_type >= EPSILON_SVR && m->probA != NULL ? svm_get_svr_probability(m) : 0.0);
    free(labels), free(rows);
}

/* For each row, three predictions, decision values, probabilities: returns an array with ``width`` numbers per row. */
static double *predicted(const struct svm_model *m, int *width)
{
    const int k = m->nr_class, pairs = k * (k - 1) / 2;
    double *out;
    *width = 3 + (pairs > 0 ? pairs : 1) + k;
    out = calloc((size_t)problem.l * *width, sizeof(double));
    for (int i = 0; i < problem.l; ++i) {
        double *row = out + (size_t)i * *width;
        row[0] = svm_predict(m, problem.x[i]);
        row[1] = svm_predict_values(m, problem.x[i], row + 3);
        row[2] = svm_predict_probability(m, problem.x[i], row + *width - k);
    }
    return out;
}

static void show_predictions(const struct svm_model *m)
{
    int width;
    double *values = predicted(m, &width);
    for (int i = 0; i < problem.l; ++i)
        show("row", values + (size_t)i * width, width);
    free(values);
}

static void *in_thread(void *model)
{
    int width;
    return predicted(model, &width);
}

static void compare_threads(struct svm_model *m)
{
    int width, equal = 0;
    double *alone = predicted(m, &width);
    pthread_t *threads = calloc(n_threads, sizeof(pthread_t));
    for (int t = 0; t < n_threads; ++t)
        pthread_create(&threads[t], NULL, in_thread, m);
    for (int t = 0; t < n_threads; ++t) {
        void *own;
        pthread_join(threads[t], &own);
        equal += memcmp(own, alone, (size_t)problem.l * width * sizeof(double)) == 0;
        free(own);
    }
    printf("%d of %d threads agree\n", equal, n_threads);
    free(alone), free(threads);
}

static void *check(void *unused)
{
    (void)unused;
    return (void *)svm_check_parameter(&problem, &param);
}

static void call_first(void)
{
    pthread_t *threads = calloc(n_first, sizeof(pthread_t));
    int agreed = 0;
    for (int t = 0; t < n_first; ++t)
        pthread_create(&threads[t], NULL, check, NULL);
    for (int t = 0; t < n_first; ++t) {
        void *complaint;
        pthread_join(threads[t], &complaint);
        agreed += complaint == NULL;
    }
    printf("%d of %d threads agree\n", agreed, n_first);
    free(threads);
}

static void parse(int argc, char **argv)
{
    for (int i = 1; i + 1 < argc; i += 2) {
        const char *value = argv[i + 1];
        switch (argv[i][1]) {
        case 's': param.svm_type = atoi(value); break;
        case 't': param.kernel_type = atoi(value); break;
        case 'd': param.degree = atoi(value); break;
        case 'g': param.gamma = atof(value); break;
        case 'r': param.coef0 = atof(value); break;
        case 'n': param.nu = atof(value); break;
        case 'm': param.cache_size = atof(value); break;
        case 'c': param.C = atof(value); break;
        case 'e': param.eps = atof(value); break;
        case 'p': param.p = atof(value); break;
        case 'h': param.shrinking = atoi(value); break;
        case 'b': param.probability = atoi(value); break;
        case 'v': n_folds = atoi(value); break;
        case 'S': srand(atoi(value)); break;
        case 'T': n_threads = atoi(value); break;
        case 'C': n_first = atoi(value); break;
        case 'q': svm_set_print_string_function(quiet), --i; break;
        case 'w':
            param.weight_label = grown(param.weight_label, (param.nr_weight + 1) * sizeof(int));
            param.weight = grown(param.weight, (param.nr_weight + 1) * sizeof(double));
            param.weight_label[param.nr_weight] = atoi(argv[i] + 2);
            param.weight[param.nr_weight++] = atof(value);
            break;
        default: exit(2);
        }
    }
}

int main(int argc, char **argv)
{
    const char *complaint;
    struct svm_model *model;
    if (argc < 3)
        return 2;
    parse(argc - 2, argv);
    read_data(argv[argc - 2]);
    if (n_first > 0)
        call_first();
    complaint = svm_check_parameter(&problem, &param);
    if (complaint != NULL) {
        printf("refused\n");
        fprintf(stderr, "%s\n", complaint);
        return 1;
    }
    if (n_folds > 0) {
        double *target = calloc(problem.l, sizeof(double));
        svm_cross_validation(&problem, &param, n_folds, target);
        show("target", target, problem.l);
        free(target);
    } else {
        model = svm_train(&problem, &param);
        if (model == NULL)
            return 1;
        show_model(model);
        show_predictions(model);
        if (n_threads > 0)
            compare_threads(model);
        printf("saved %d\n", svm_save_model(argv[argc - 1], model));
        svm_free_and_destroy_model(&model);
        model = svm_load_model(argv[argc - 1]);
        if (model == NULL)
            return 1;
        show_model(model);
        show_predictions(model);
        printf("saved again %d\n", svm_save_model(argv[argc - 1], model));
        svm_free_and_destroy_model(&model);
        printf("freed %d\n", model == NULL);
    }
    printf("next random number %d\n", rand());
    svm_destroy_param(&param);
    for (int i = 0; i < problem.l; ++i)
        free(problem.x[i]);
    free(problem.x), free(problem.y);
    return 0;
}
