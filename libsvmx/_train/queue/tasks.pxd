from libc.stdint cimport int8_t, int32_t, int64_t

from libsvmx._core.tickets cimport svmx_countdown
from libsvmx._kernels.sharedrows cimport SharedRows
from libsvmx._solvers.seeding.paying cimport StartKind
from libsvmx._solvers.seeding.seeders cimport SeederKind
from libsvmx._train.formulation cimport Formulation, Recovered


cdef struct Task:
    Py_ssize_t first            # index into ``rows``: its rows, then held-out ones, then the places of their values
    Py_ssize_t n
    Py_ssize_t n_positive       # rows of target +1, which come first; -1: given targets
    Py_ssize_t targets          # index into ``targets``
    Py_ssize_t n_held
    Py_ssize_t n_variables      # one or two per row
    Py_ssize_t parent           # task from whose optimum it starts; -1: cold start
    bint of_earlier             # parent is in ``earlier``
    bint chained                # in a chain: the parent is the previous task, except for the first
    int pilot                   # in a star: number among the first to start there, by whose work the others decide on a
                                # start; -1: none of them
    int n_pilots                # of the tasks that start from it
    StartKind pilot_kind[4]     # how these were begun, and what they have taken; 0: nothing
    float pilot_work[4]
    double growth               # > 0: the parent's problem with C times growth; 0: over other rows
    bint closed                 # rows that left are among its rows nevertheless, with closed boxes: leave-one-out
    bint turned                 # the parent has the two classes in reverse order
    Py_ssize_t places           # index into ``rows``: places of its rows in the parent, -1: new
    Py_ssize_t left             # the same of the rows that left
    Py_ssize_t n_left           # rows of the parent not in this task
    Py_ssize_t n_new            # rows not in the parent
    StartKind start_kind        # COLD in spite of a parent: a start is not expected to pay, or infeasible
    double start_work           # of its start, in values (_solvers/seeding/paying.pyx)
    double work                 # of its steps
    double values_checked       # kernel values that a check of its gap computes in double
    double cold_work            # of a row of the last cold start among its ancestors
    bint keeps                  # whether its optimum is kept for others
    Py_ssize_t optimum          # index into ``kept_beta`` and ``kept_scores``
    double Cp
    double Cn
    Formulation of              # of its training, at its C
    const double *weights       # by row of ``kernel_values`` in its training; NULL: 1
    Py_ssize_t out              # index of its coefficients; -1: not kept
    Py_ssize_t values           # index of the decision values of held-out rows
    Py_ssize_t sigmoid          # waits for these; -1: none
    Py_ssize_t fold             # waits for the coefficients; -1: none
    # results
    Recovered found
    double gap
    double width                # of the interval of possible rho
    double reach
    double seconds
    double seeding_seconds      # for the start, included in ``seconds``
    double r                    # see Optimum
    int64_t iterations
    int64_t rows_computed
    int64_t values_computed
    bint converged
    bint too_slow               # a check of the trial has ended it
    bint rounding               # status ROUNDING: in double the gap exceeds the tolerance, or it does not fall further
    bint begun                  # begun before the end of the call
    char *marks
    Py_ssize_t n_marks
    Py_ssize_t room


# Whether it has the same rows as its parent: a pair of classes without rows in the fold.
cdef inline bint is_as_parent(const Task *task) noexcept nogil:
    return task.growth == 0 and task.n_left == 0 and task.n_new == 0


# Whether its star has many folds, so that these gain more by what four pilots show, two of which follow a path, than the
# pilots lose.
cdef inline bint is_of_many(const Task *task) noexcept nogil:
    return 20 * task.n_left <= task.n


cdef inline bint has_start(const Task *task) noexcept nogil:
    return task.parent >= 0


cdef struct Sigmoid:
    Py_ssize_t n
    Py_ssize_t n_positive
    Py_ssize_t values           # index of the decision values of its rows
    int n_solves                # inner folds with a solve
    svmx_countdown left         # unfinished ones
    # results
    double A
    double B
    int trouble
    bint done


cdef struct Fold:
    Py_ssize_t first            # in ``rows``: rows by class, held-out ones, solve per pair, begins of classes
    Py_ssize_t n
    Py_ssize_t n_held
    int k                       # classes; 1 for a single function of all rows
    Py_ssize_t n_functions
    Py_ssize_t values           # index of decision values, row by row
    svmx_countdown left         # unfinished solves
    bint solved
    bint done                   # decision values are computed


# The optimum that a task starts from.
cdef struct Parent:
    const Task *task
    const int32_t *rows
    const double *beta          # by variable
    const double *V
    const int8_t *free          # whether beta is inside its bounds


cdef class TaskList:
    cdef readonly SharedRows kernel_values
    cdef readonly object param
    cdef object matrix_of
    cdef object matrix              # the rows, in the order of ``kernel_values``; None if no values are needed
    cdef Formulation of             # of tasks added next
    cdef bint doubled               # two variables per row
    cdef const double *weights      # of tasks added next
    cdef list kept_weights          # buffers that tasks point to; [0]: the constructor's
    cdef TaskList earlier           # of ``start_from``
    cdef bint has_pilots
    cdef bint has_starts            # whether some tasks have a parent
    cdef bint has_larger            # whether some have ``growth`` > 0
    cdef bint keeps_all
    cdef readonly object trial      # how SMO tries the solves, and leaves them to another solver; None: solves all
    cdef bint tries
    cdef int64_t[::1] unchecked     # steps before the first check of the trial, by number of rows
    cdef double eps
    cdef bint divides               # nu-SVC: decision values are divided by r
    cdef bint may_stand             # whether an optimum is unchanged without its unused rows
    cdef bint seeds                 # there is a seeder; cold starts, too, are then to eps r in nu-SVC
    cdef bint has_models            # but for solves of models
    cdef SeederKind seeder
    cdef SeederKind in_a_star       # see FoldSeeder
    cdef Py_ssize_t n_chains
    cdef int32_t[::1] position      # scratch of ``link``, by row; -1 between calls
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
    cdef Py_ssize_t most_held       # held-out rows of a solve
    cdef Py_ssize_t most_labels     # of a sigmoid
    cdef Py_ssize_t most_functions  # of a fold
    cdef int64_t[::1] order         # of tasks
    cdef int64_t[::1] unit          # begin of each unit in ``order``, solved in turn by one worker; and the end
    cdef bint by_group              # folds are evaluated at the end, all together
    cdef bint predicts              # decision values are needed
    cdef bint by_floats             # decision values of folds use the solves' kernel values, in float
    cdef bint held_by_floats        # those of held-out rows of a solve do
    cdef bint tabulates             # K of all rows with all is computed once for all decision values
    cdef double[::1] table          # these values, (n, n), flat; None: not computed yet
    cdef list constants             # decision values without a solve: (index, value)
    # results
    cdef Py_ssize_t n_out
    cdef Py_ssize_t n_values
    cdef double[::1] coefficient    # (n_out,)
    cdef double[::1] kept_beta      # optima of tasks with ``keeps``, by variable
    cdef double[::1] kept_scores
    cdef int8_t[::1] kept_free      # 0 where a pair of classes has taken over its optimum
    cdef double[::1] value          # (n_values,)
    cdef Task *task(self, Py_ssize_t t) except NULL
    cdef bint stops_by_r(self, const Task *task) noexcept nogil
    cdef bint crosses(self) noexcept
    cdef Py_ssize_t number_of(self, const Task *task) noexcept nogil
    cdef int append(self, Py_ssize_t n_rows) except -1
    cdef int add_targets(self, Task *task, targets) except -1
    cdef int append_targets(self, const double *targets, Py_ssize_t n) except -1
    cdef int add_drawn(self, const int32_t *rows, const int64_t *of_i, const int64_t *of_j, double Cp, double Cn, rand,
                       Py_ssize_t parent, bint chained) except -1
    cdef int reserve_tasks(self, Py_ssize_t n_tasks) except -1
    cdef Task *new_task(self) except NULL
    cdef Sigmoid *new_sigmoid(self) except NULL
    cdef int link(self, Py_ssize_t number, Py_ssize_t parent, TaskList earlier) except -1
    cdef void number_pilot(self, Task *task, Task *former) noexcept nogil
    cdef int make_room(self) except -1
    cdef Parent parent_of(self, const Task *task) noexcept nogil
