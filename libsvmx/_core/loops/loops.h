/* The table of hot loops: one pointer for each, set at import to what this CPU runs fastest (dispatch.pyx).
 *
 * A family of loops is a header, with its constants, types and a list LOOP(what it returns, name, parameters), and a file
 * of the same name that has the loops and says what each does. Modules call them as svmx_<name>, which dispatch.pxd turns
 * into svmx_loops.<name>.
 */
#pragma once

#include "bits.h"
#include "breakpoints.h"
#include "dense_rows.h"
#include "dot_products.h"
#include "interior_steps.h"
#include "kernel_functions.h"
#include "rbf.h"
#include "shapley.h"
#include "smo_steps.h"
#include "subproblem_steps.h"
#include "test_panels.h"
#include "vectors.h"

#define SVMX_LOOPS(LOOP)                                                                                                  \
    SVMX_BIT_LOOPS(LOOP)                                                                                                  \
    SVMX_BREAKPOINT_LOOPS(LOOP)                                                                                           \
    SVMX_DENSE_ROW_LOOPS(LOOP)                                                                                            \
    SVMX_DOT_PRODUCT_LOOPS(LOOP)                                                                                          \
    SVMX_INTERIOR_LOOPS(LOOP)                                                                                             \
    SVMX_KERNEL_LOOPS(LOOP)                                                                                               \
    SVMX_RBF_LOOPS(LOOP)                                                                                                  \
    SVMX_SHAPLEY_LOOPS(LOOP)                                                                                              \
    SVMX_SMO_LOOPS(LOOP)                                                                                                  \
    SVMX_SUBPROBLEM_LOOPS(LOOP)                                                                                           \
    SVMX_TEST_PANEL_LOOPS(LOOP)                                                                                           \
    SVMX_VECTOR_LOOPS(LOOP)

typedef struct {
#define SVMX_MEMBER(result, name, parameters) result(*name) parameters;
    SVMX_LOOPS(SVMX_MEMBER)
} svmx_loop_table;
