from libc.stdint cimport int8_t, int32_t, int64_t

from libsvmx._core.tickets cimport svmx_countdown
from libsvmx._kernels.gram cimport GramRows, KernelValues
from libsvmx._solvers.control cimport Control
from libsvmx._solvers.seeding.ato_path cimport AtoPath, PathBudget
from libsvmx._solvers.seeding.fold_change cimport FoldStart, Replacement, ValueRows
from libsvmx._train.formulation cimport Dual, Formulation, Recovered


cdef struct Task:
    Py_ssize_t first            # in ``rows``: its rows, then those held out
    Py_ssize_t n
    Py_ssize_t n_positive       # the rows of target +1 come first; -1: it has targets of its own
    Py_ssize_t targets          # of these, in ``targets``
    Py_ssize_t n_held
    Py_ssize_t n_left           # rows, after the others, that took part in the optimum it starts from; -1: from nothing
    Py_ssize_t parent           # the task whose optimum that is, the rows that left are those held out; -1: ``known``
    Py_ssize_t n_left_positive  # the first of them are of class +1
    Py_ssize_t plane_positive   # of ``known``, of its rows of class +1
    Py_ssize_t plane_negative
    bint turned                 # that optimum has the classes the other way round
    double known_rho            # of that optimum
    double known_objective
    double known_gap
    double work_from_nothing    # values that the solve of that optimum, or of the first of the chain, has worked on
    bint chained                # the optimum is that of the task before in its chain, and its own is for the next
    Py_ssize_t after            # in a chain: that task, -1 for the first, which starts from nothing
    double Cp
    double Cn
    Py_ssize_t out              # of its coefficients; -1 if they are not kept
    Py_ssize_t values           # of the decision values of the rows held out
    Py_ssize_t sigmoid          # that waits for these; -1 for none
    Py_ssize_t fold             # that waits for the coefficients; -1 for none
    # what came of it
    Recovered found
    double gap
    double reach
    double seconds
    double seeding_seconds      # of these, for the start
    bint along_path             # of ATO
    int64_t iterations
    int64_t rows_computed
    int64_t values_computed
    bint converged
    bint begun                  # before the end of the call
    char *marks
    Py_ssize_t n_marks
    Py_ssize_t room


# What steps of SMO work on: for each variable two rows, and the choice of the next two; and what a step takes besides, as
# much as so many variables.
cdef enum:
    VALUES_OF_A_STEP = 3
    VARIABLES_OF_A_STEP = 256


cdef inline double work_of_steps(Py_ssize_t n_variables, double iterations) noexcept nogil:
    return VALUES_OF_A_STEP * <double>(n_variables + VARIABLES_OF_A_STEP) * iterations


# Whether it starts from an optimum.
cdef inline bint has_start(const Task *task) noexcept nogil:
    return task.n_left >= 0 and not (task.chained and task.after < 0)


# What becomes of the coefficients of rows that leave: see _solvers/seeding.
cdef enum QueueSeeder:
    NEAR
    SIR
    MIR
    ATO
    AUTO


cdef struct Sigmoid:
    Py_ssize_t n
    Py_ssize_t n_positive
    Py_ssize_t values           # of the decision values of its rows
    int n_solves                # inner folds that are solved
    svmx_countdown left         # of these
    # what came of it
    double A
    double B
    int trouble
    bint done


cdef struct Fold:
    Py_ssize_t first            # in ``rows``: its rows by class, then those held out, the solve of each pair, the starts
    Py_ssize_t n
    Py_ssize_t n_held
    int k                       # classes; 1 for a single function of all rows
    Py_ssize_t n_functions
    Py_ssize_t values           # of decision values, row by row
    svmx_countdown left         # solves
    bint solved
    bint done                   # the decision values are there


cdef class TaskList:
    cdef readonly KernelValues kernel_values
    cdef readonly object param
    cdef object matrix_of
    cdef object matrix              # the rows, in the order of ``kernel_values``; None while no values are wanted
    cdef Formulation of
    cdef bint doubled               # two variables for a row
    cdef const double[::1] weights
    cdef bint weighted
    # of ``start_from``, each of shape (planes, kernel_values.n)
    cdef const double[::1] known
    cdef const double[::1] known_scores
    cdef bint has_starts            # some tasks start from an optimum
    cdef bint has_parents           # of another task
    cdef QueueSeeder seeder
    # of ``begin_chains``: the same memory, to be written
    cdef double[::1] chain_known
    cdef double[::1] chain_scores
    cdef Py_ssize_t n_chains
    cdef dict last_of_chain         # by the two planes of a chain, the smaller first: its last task
    cdef int32_t *rows
    cdef readonly Py_ssize_t n_rows
    cdef Py_ssize_t room_for_rows
    cdef double *targets
    cdef Py_ssize_t n_targets
    cdef Py_ssize_t room_for_targets
    cdef Task *tasks
    cdef readonly Py_ssize_t n_tasks
    cdef Py_ssize_t room_for_tasks
    cdef Sigmoid *sigmoids
    cdef readonly Py_ssize_t n_sigmoids
    cdef Py_ssize_t room_for_sigmoids
    cdef Fold *folds
    cdef readonly Py_ssize_t n_folds
    cdef Py_ssize_t most_rows       # of a solve
    cdef Py_ssize_t most_held       # rows held out of a solve
    cdef Py_ssize_t most_labels     # of a sigmoid
    cdef Py_ssize_t most_functions  # of a fold
    cdef int64_t[::1] order         # in which tasks are done
    cdef int64_t[::1] unit          # where each unit begins in ``order``, which one worker does in turn, and the end
    cdef bint by_group              # folds are solved at the very end, all of them
    cdef bint predicts              # decision values are wanted
    cdef bint by_floats             # those of folds from the kernel values that solves have
    cdef bint held_by_floats        # those of rows held out of a solve
    cdef bint tabulates             # K of all rows with all is computed once for all decision values
    cdef double[::1] table          # it, for a CrossTable; None before it is there
    cdef list constants             # decision values that need no solve: (place, value)
    # what comes of it
    cdef Py_ssize_t n_out
    cdef Py_ssize_t n_values
    cdef double[::1] coefficient    # (n_out,)
    cdef double[::1] score          # the same, V of each row, if it ``keeps_scores``
    cdef bint keeps_scores
    cdef double[::1] value          # (n_values,)
    cdef Task *task(self, Py_ssize_t t) except NULL
    cdef bint crosses(self) noexcept
    cdef Py_ssize_t number_of(self, const Task *task) noexcept nogil
    cdef int append(self, Py_ssize_t n_rows) except -1
    cdef int add_targets(self, Task *task, targets) except -1
    cdef Task *new_task(self) except NULL
    cdef Sigmoid *new_sigmoid(self) except NULL
    cdef int add_left(self, Task *task, positive, negative, Py_ssize_t plane_positive, Py_ssize_t plane_negative,
                      bint turned, double rho, double objective, double gap, double work) except -1
    cdef int add_to_chain(self, Task *task, Py_ssize_t number) except -1
    cdef int add_places(self, Task *task, Py_ssize_t parent, const int32_t *at, Py_ssize_t n, Py_ssize_t first,
                        Py_ssize_t last, Py_ssize_t n_positive) except -1


cdef class QueueStarts:
    cdef TaskList todo
    cdef GramRows kernel_rows
    cdef Control control
    cdef FoldStart at
    cdef ValueRows rows
    cdef AtoPath path
    cdef Replacement replacement
    cdef Py_ssize_t last_task       # of whose margin the path has the factor; -1: of none
    cdef PathBudget budget
    cdef double[::1] V, origin      # of the rows of a task in the optimum from which it starts: V and beta
    cdef double[::1] leaving, before
    cdef int8_t[::1] entering
    cdef int8_t[::1] is_new         # by row of ``kernel_values``: it has come back into the fold
    cdef int32_t[::1] new           # T
    cdef Py_ssize_t n_new
    cdef int32_t[::1] free          # rows that may take what rows that left had
    cdef Py_ssize_t n_free
    cdef void look_up(self, Task *task) noexcept nogil
    cdef void begin_at_optimum(self, Task *task, const int32_t *rows, double *start) noexcept nogil
    cdef const int32_t *left_of(self, const Task *task) noexcept nogil
    cdef double beta_left(self, const Task *task, Py_ssize_t k) noexcept nogil
    cdef bint stands(self, const Task *task) noexcept nogil
    cdef int make(self, Task *task, const int32_t *rows, Dual *dual, double *scores) except -1 nogil
    cdef int leave_to_next(self, const Task *task, const int32_t *rows, const Dual *dual, const double *beta,
                           const double *scores) except -1 nogil
    cdef const float *row_of(self, int32_t row) noexcept nogil
    cdef double worth_a_path(self, const Task *task, double most_work) noexcept nogil
    cdef int hand_on(self, const Task *task, const int32_t *left) except -1 nogil
    cdef int describe(self, const Task *task, const int32_t *rows, Dual *dual) except -1 nogil
    cdef bint make_feasible(self) except -1 nogil
    cdef int hand_over_all(self, const Task *task, const int32_t *left) except -1 nogil
    cdef void hand_over(self, const float *K, double beta) noexcept nogil
    cdef Py_ssize_t nearest(self, const float *K, bint growing) noexcept nogil
    cdef int replace_each(self, const Task *task, const int32_t *left) except -1 nogil
