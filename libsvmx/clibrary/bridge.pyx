"""Training and model files for the C library.

``ADDRESS`` is that of the table of functions in bridge.h. Each takes Python's lock, and turns exceptions into messages.
"""

import os
import sys

from cpython.exc cimport PyErr_SetInterrupt
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport calloc, free, rand, realloc
from libc.string cimport memcpy

from libsvmx._core.matrix cimport CsrMatrix
from libsvmx._train.folds cimport Rand

from libsvmx._core.buffers import zeros
from libsvmx._train.checks import check_targets
from libsvmx._train.model import Model
from libsvmx._train.parameter import Parameter
from libsvmx._train.problem import Problem
from libsvmx.enums import KernelType, SvmType
from libsvmx.exceptions import DataError, ParameterError
from libsvmx.io.modelfile import load_model, save_model
from libsvmx.io.transcript import TrainingReport

cdef extern from "bridge.h":
    ctypedef void (*svmx_print)(const char *text) noexcept
    enum: SVMX_MESSAGE
    enum: SVMX_MARKS

    struct svm_node:
        int index
        double value

    struct svm_problem:
        int l
        double *y
        svm_node **x

    struct svm_parameter:
        int svm_type
        int kernel_type
        int degree
        double gamma
        double coef0
        double cache_size
        double eps
        double C
        int nr_weight
        int *weight_label
        double *weight
        double nu
        double p
        int shrinking
        int probability

    ctypedef struct svmx_c_model:
        svm_parameter param
        int nr_class
        int l
        svm_node **SV
        double **sv_coef
        double *rho
        double *probA
        double *probB
        double *prob_density_marks
        int *sv_indices
        int *label
        int *nSV
        int free_sv

    ctypedef struct svmx_bridge:
        int (*check)(const svm_problem *problem, const svm_parameter *param, char *message) noexcept
        int (*train)(const svm_problem *problem, const svm_parameter *param, svmx_print print, svmx_c_model *model,
                     char *message) noexcept
        int (*cross_validate)(const svm_problem *problem, const svm_parameter *param, int n_folds, svmx_print print,
                              double *target, char *message) noexcept
        int (*save)(const char *path, const svmx_c_model *model, char *message) noexcept
        int (*load)(const char *path, svmx_c_model *model, char *message) noexcept

    void svmx_free_content(svmx_c_model *model) nogil


# ---- random numbers --------------------------------------------------------------------------------------------------

cdef class Drawn:
    """Numbers drawn from C's rand() during one training; copies of a stream read them again."""

    cdef int *values
    cdef Py_ssize_t n, room

    def __cinit__(self):
        self.values, self.n, self.room = NULL, 0, 0

    def __dealloc__(self):
        free(self.values)

    cdef int value(self, Py_ssize_t at) noexcept nogil:
        cdef int *larger
        while self.n <= at:
            if self.n == self.room:
                larger = <int *>realloc(self.values, (2 * self.room + 1024) * sizeof(int))
                if larger == NULL:
                    return rand()  # no memory: other folds than LIBSVM's, but valid
                self.values, self.room = larger, 2 * self.room + 1024
            self.values[self.n] = rand()
            self.n += 1
        return self.values[at]


cdef class ProgramRand(Rand):
    """C's own rand(), which the program may have seeded, drawn from as LIBSVM does."""

    cdef Drawn drawn
    cdef Py_ssize_t at

    def __init__(self):
        self.drawn, self.at = Drawn(), 0

    def copy(self):
        cdef ProgramRand other = ProgramRand()
        other.drawn, other.at = self.drawn, self.at
        return other

    cdef int next(self) noexcept nogil:
        self.at += 1
        return self.drawn.value(self.at - 1)


# ---- from C ----------------------------------------------------------------------------------------------------------

cdef CsrMatrix matrix_of(svm_node **rows, int l, bint first_only=False):
    """Copy rows of nodes; ``first_only``: only the first node of each."""
    cdef int64_t i, k, n = 0
    if l < 0 or (l > 0 and rows == NULL):
        raise DataError(f"there are {l} rows at address {<size_t>rows}")
    indptr_ = zeros("q", l + 1)
    cdef int64_t[::1] indptr = indptr_
    for i in range(l):
        if rows[i] == NULL:
            raise DataError("the row is NULL", i)
        k = 0
        while rows[i][k].index != -1 and not (first_only and k == 1):
            k += 1
        n += k
        indptr[i + 1] = n
    indices_, values_ = zeros("i", n), zeros("d", n)
    cdef int32_t[::1] indices = indices_
    cdef double[::1] values = values_
    for i in range(l):
        for k in range(indptr[i + 1] - indptr[i]):
            indices[indptr[i] + k], values[indptr[i] + k] = rows[i][k].index, rows[i][k].value
    return CsrMatrix(indptr_, indices_, values_, False)


cdef doubles(const double *values, Py_ssize_t n):
    """A copy as a buffer of float64; None for NULL."""
    if values == NULL:
        return None
    out_ = zeros("d", n)
    cdef double[::1] out = out_
    if n:
        memcpy(&out[0], values, n * sizeof(double))
    return out_


cdef targets_of(const svm_problem *given):
    if given.l < 1 or given.y == NULL:
        raise DataError(f"no data: l is {given.l}, and y at address {<size_t>given.y}")
    return doubles(given.y, given.l)


cdef problem_of(const svm_problem *given):
    cdef svm_problem p = given[0]
    targets = targets_of(given)
    return Problem(matrix_of(p.x, p.l), targets)


cdef parameter_of(const svm_parameter *p):
    """Convert and check. Raises ParameterError."""
    cdef int i
    for name, value in (("shrinking", p.shrinking), ("probability", p.probability)):
        if value not in (0, 1):
            raise ParameterError(f"{name} must be 0 or 1, not {value}")
    if p.svm_type == SvmType.QUANTILE_SVR:  # svm_parameter has no field for tau
        raise ParameterError(f"svm_type {p.svm_type} is not one of LIBSVM's")
    if p.kernel_type > KernelType.PRECOMPUTED:
        raise ParameterError(f"kernel_type {p.kernel_type} is not one of LIBSVM's")
    weights = [(p.weight_label[i], p.weight[i]) for i in range(p.nr_weight)]
    return Parameter(
        svm_type=p.svm_type, kernel_type=p.kernel_type, degree=p.degree, gamma=p.gamma, coef0=p.coef0,
        cache_size=p.cache_size, eps=p.eps, C=p.C, weights=tuple(weights), nu=p.nu, p=p.p,
        shrinking=p.shrinking == 1, probability=p.probability == 1)


cdef model_of(const svmx_c_model *given):
    """Convert to a Model. Raises ValueError for invalid fields."""
    cdef svmx_c_model m = given[0]
    cdef int i, j
    cdef Py_ssize_t functions = m.nr_class * (m.nr_class - 1) // 2
    if m.param.kernel_type > KernelType.PRECOMPUTED:
        raise ParameterError(f"kernel_type {m.param.kernel_type} is not one of LIBSVM's")
    p = Parameter(svm_type=m.param.svm_type, kernel_type=m.param.kernel_type)
    # parameters that the kernel does not use may be anything
    used = {"degree": m.param.degree, "gamma": m.param.gamma, "coef0": m.param.coef0}
    p = Parameter(svm_type=p.svm_type, kernel_type=p.kernel_type, **{name: used[name] for name in p.kernel_type.uses})
    if m.rho == NULL or m.sv_coef == NULL:
        raise ValueError("the model has no rho or no sv_coef")
    coef_ = zeros("d", (m.nr_class - 1) * m.l)
    cdef double[::1] coef = coef_
    for j in range(m.nr_class - 1):
        for i in range(m.l):
            coef[j * m.l + i] = m.sv_coef[j][i]
    return Model(
        p, m.nr_class, matrix_of(m.SV, m.l, p.kernel_type == KernelType.PRECOMPUTED), coef_, doubles(m.rho, functions),
        None if m.label == NULL else tuple([m.label[i] for i in range(m.nr_class)]),
        None if m.nSV == NULL else tuple([m.nSV[i] for i in range(m.nr_class)]),
        doubles(m.probA, functions), doubles(m.probB, functions), doubles(m.prob_density_marks, SVMX_MARKS))


# ---- to C ------------------------------------------------------------------------------------------------------------

cdef void *room(Py_ssize_t n, size_t size) except NULL:
    """calloc for at least one item. Raises MemoryError."""
    cdef void *p = calloc(max(n, 1), size)
    if p == NULL:
        raise MemoryError("a model")
    return p


cdef double *c_doubles(values) except? NULL:
    """A copy allocated by malloc; NULL for None."""
    cdef const double[::1] given
    cdef double *p
    if values is None:
        return NULL
    given = values
    p = <double *>room(given.shape[0], sizeof(double))
    if given.shape[0]:
        memcpy(p, &given[0], given.shape[0] * sizeof(double))
    return p


cdef int *c_ints(values) except? NULL:
    cdef Py_ssize_t i
    cdef int *p
    if values is None:
        return NULL
    p = <int *>room(len(values), sizeof(int))
    for i in range(len(values)):
        p[i] = values[i]
    return p


cdef int put(model, svm_node **rows, svmx_c_model *out) except -1:
    """Fill ``out`` except param. Its vectors point into the training ``rows``, or are copies if that is NULL."""
    cdef Py_ssize_t i, j
    try:
        out.nr_class, out.l = model.nr_class, model.n_sv
        out.SV = <svm_node **>room(out.l, sizeof(svm_node *))
        out.sv_coef = <double **>room(out.nr_class - 1, sizeof(double *))
        for j in range(out.nr_class - 1):
            out.sv_coef[j] = c_doubles(model.coef[j * out.l:(j + 1) * out.l])
        out.rho, out.probA, out.probB = (
            c_doubles(model.offsets), c_doubles(model.sigmoid_a), c_doubles(model.sigmoid_b))
        out.prob_density_marks = c_doubles(model.marks)
        out.sv_indices, out.label, out.nSV = (
            c_ints(model.row_numbers), c_ints(model.class_labels), c_ints(model.class_sv))
        if rows == NULL:
            put_vectors(model.vectors, out)
        else:
            for i in range(out.l):
                out.SV[i] = rows[out.sv_indices[i] - 1]
    except BaseException:
        svmx_free_content(out)
        raise
    return 0


cdef int put_vectors(CsrMatrix vectors, svmx_c_model *out) except -1:
    """Copy the rows into one allocation, which out.SV[0] points at."""
    cdef Py_ssize_t i
    cdef int64_t k
    cdef const int32_t *feature
    cdef svm_node *node = <svm_node *>room(vectors.nnz + vectors.n_rows, sizeof(svm_node))
    out.SV[0] = node  # allocated even without vectors
    out.free_sv = 1
    for i in range(vectors.n_rows):
        out.SV[i], feature = node, vectors.features(i)
        for k in range(vectors.ptr[i + 1] - vectors.ptr[i]):
            node.index, node.value = feature[k], vectors.at(vectors.ptr[i] + k)
            node += 1
        node.index = -1
        node += 1
    return 0


# ---- the functions ---------------------------------------------------------------------------------------------------

def warn(remark):
    print(f"warning: {remark}", file=sys.stderr)


cdef reporter(svmx_print print_):
    """Observer that sends LIBSVM's transcript to a C function."""
    cdef size_t address = <size_t>print_

    def write(text):
        content = text.encode()
        (<svmx_print>address)(content)

    return TrainingReport(write, warn)


cdef int told(error, char *message) noexcept:
    """Write the error into ``message``; returns -1."""
    message[0] = 0
    try:
        known = isinstance(error, (ValueError, OSError)) and str(error)
        said = str(error) if known else f"{type(error).__name__}: {error}"
        text = said.encode("utf-8", "replace")[:SVMX_MESSAGE - 1]
        memcpy(message, <const char *>text, len(text) + 1)
    except BaseException:  # another Ctrl-C
        memcpy(message, b"interrupted", 12)
    if isinstance(error, KeyboardInterrupt):
        PyErr_SetInterrupt()  # a program in Python gets it after this call
    return -1


cdef int check(const svm_problem *problem, const svm_parameter *param, char *message) noexcept with gil:
    # rows are not checked, as in LIBSVM: Perl's module calls this before it has any
    try:
        targets = targets_of(problem)
        none = CsrMatrix(zeros("q", problem.l + 1), zeros("i", 0), zeros("d", 0), False)
        check_targets(Problem(none, targets), parameter_of(param))
    except BaseException as error:
        return told(error, message)
    return 0


cdef int train(const svm_problem *problem, const svm_parameter *param, svmx_print print_, svmx_c_model *model,
               char *message) noexcept with gil:
    cdef svm_problem p = problem[0]
    try:
        from libsvmx._train.training import train_problem  # lazy: only for programs that train

        trained = train_problem(problem_of(problem), parameter_of(param), ProgramRand(), reporter(print_))
        put(trained, p.x, model)
        model.param = param[0]
    except BaseException as error:
        return told(error, message)
    return 0


cdef int cross_validate(const svm_problem *problem, const svm_parameter *param, int n_folds, svmx_print print_,
                        double *target, char *message) noexcept with gil:
    cdef const double[::1] predicted
    try:
        from libsvmx._train.training import cross_validate_problem

        predicted = cross_validate_problem(
            problem_of(problem), parameter_of(param), n_folds, ProgramRand(), reporter(print_))
        memcpy(target, &predicted[0], predicted.shape[0] * sizeof(double))
    except BaseException as error:
        return told(error, message)
    return 0


cdef path_of(const char *name):
    """As text; ``-`` is a file name here, not standard input or output."""
    path = os.fsdecode(<bytes>name)
    return "./-" if path == "-" else path


cdef int save(const char *path, const svmx_c_model *model, char *message) noexcept with gil:
    try:
        save_model(path_of(path), model_of(model))
    except BaseException as error:
        return told(error, message)
    return 0


cdef int load(const char *path, svmx_c_model *model, char *message) noexcept with gil:
    try:
        try:
            loaded = load_model(path_of(path), warn)
        except OSError:
            message[0] = 0
            return -1
        loaded.param.require_one_gamma("LIBSVM's library")
        put(loaded, NULL, model)
        p = loaded.param
        model.param.svm_type, model.param.kernel_type, model.param.degree = p.svm_type, p.kernel_type, p.degree
        model.param.gamma, model.param.coef0 = p.gamma, p.coef0
    except BaseException as error:
        return told(error, message)
    return 0


cdef svmx_bridge table
table.check, table.train, table.cross_validate, table.save, table.load = check, train, cross_validate, save, load

ADDRESS = <size_t>&table
