/* What Python does for the C library: a table of functions that bridge.pyx fills. */
#ifndef SVMX_BRIDGE_H
#define SVMX_BRIDGE_H

#include <stddef.h>

#include "model.h"

/* Where the transcript of a training goes. */
typedef void (*svmx_print)(const char *text);

/* Each takes the interpreter's lock itself and may be called from any thread. Each returns 0, or -1 with the cause in
 * ``message``, of ``SVMX_MESSAGE`` bytes. */
#define SVMX_MESSAGE 1024

typedef struct {
    int (*check)(const struct svm_problem *problem, const struct svm_parameter *param, char *message);
    int (*train)(const struct svm_problem *problem, const struct svm_parameter *param, svmx_print print,
                 svmx_c_model *model, char *message);
    int (*cross_validate)(const struct svm_problem *problem, const struct svm_parameter *param, int n_folds,
                          svmx_print print, double *target, char *message);
    int (*save)(const char *path, const svmx_c_model *model, char *message);
    /* -1 with an empty message: there is no such file, or it cannot be read */
    int (*load)(const char *path, svmx_c_model *model, char *message);
} svmx_bridge;

/* The table, from the interpreter of the process, or from one that is started now; NULL with the cause in ``message``. */
const svmx_bridge *svmx_find_bridge(char *message);

#endif
