"""Buffers, sparse rows, factors, threads, and the hot loops in C.

    CsrMatrix (matrix)              the one form in which data enters the package, `regular` if all rows have the same
                                    features; open this first
    interchange                     the same for NumPy, SciPy and scikit-learn: rows by any index, dense, sparse
                                    from arrays of NumPy and SciPy in two passes; checks of every value
    buffers, arrays                 typed memoryviews in place of NumPy, and loops over them
    Cholesky (cholesky)             a triangular factor whose rows come and go
    ThreadPool (process)            helper threads of one solve
    threads                         how many to use; what they do in Python and NumPy while the caller asks
    machine                         free memory, the time, processors: all that the machine is asked
    memory                          work that would not find enough is refused before it begins
    copy_and_swap                   objects that a call changes by one assignment
    packages                        an error where one is missing that only an extra installs
    suggestions                     what somebody may have meant who has mistyped a name
    records, enumerations, contexts  dataclasses, enums and context managers whose import costs next to nothing
    dense                           BLAS and LAPACK for those who have NumPy, so that it is asked whether to stop
    blas                            one thread for them where sums must not depend on how many there are
    Token (process), stopping       whether to stop: what is asked between two pieces of work
    say_on (process)                what a process says when a signal ends it

    dispatch                        the table of hot loops, of the CPU target that is chosen at import

Hot loops in C, compiled for each CPU target; a header states a family's arrays and callers, its .c has the loops:

    loops/loops.h                   the table; open this first        targets.h  .c   CPU targets, and what this CPU has
    loops/simd.h                    what all loops include            numbers.h  numbers in double or in float
    loops/dot_products  bits        one row, or sixteen, with many rows
    loops/kernel_functions          K(t) of a dot product or a distance: all kernels     <- rbf  exp.h
    loops/test_panels               test rows with support vectors
    loops/smo_steps                 scores and working set of SMO
    loops/subproblem_steps          the same in float, for small problems in cache
    loops/vectors  breakpoints      doubles: sums of rows, and the next breakpoint of a path

Other C headers: thread_pool.h, tickets.h, pieces.h (threads), system_threads.h (what Windows or POSIX has of them),
slab.h (memory), pairwise.h (probabilities), clock.h, last_words.h, left_behind.h.
"""
