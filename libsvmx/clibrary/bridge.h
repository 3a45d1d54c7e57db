/* Table of the functions implemented in Python; filled by bridge.pyx. */
#ifndef SVMX_BRIDGE_H
#define SVMX_BRIDGE_H

#include <stddef.h>

#include "model.h"

/* Receives the transcript of a training. */
typedef void (*svmx_print)(const char *text);

/* Thread-safe: each takes the interpreter's lock. Each returns 0, or -1 with the cause in ``message``, OUT, of
 * SVMX_MESSAGE bytes. */
#define SVMX_MESSAGE 1024

typedef struct {
    int (*check)(const struct svm_problem *problem, const struct svm_parameter *param, char *message);
    int (*train)(const struct svm_problem *problem, const struct svm_parameter *param, svmx_print print,
                 svmx_c_model *model, char *message);
    int (*cross_validate)(const struct svm_problem *problem, const struct svm_parameter *param, int n_folds,
                          svmx_print print, double *target, char *message);
    int (*save)(const char *path, const svmx_c_model *model, char *message);
    /* -1 with an empty message if the file cannot be read */
    int (*load)(const char *path, svmx_c_model *model, char *message);
} svmx_bridge;

/* The table, after starting an interpreter if the process has none; NULL with the cause in ``message``. */
const svmx_bridge *svmx_find_bridge(char *message);

#endif
