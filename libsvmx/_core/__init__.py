"""Buffers, sparse rows, factors, threads, and the hot loops in C.

    CsrMatrix (matrix)              all data of the package; `regular` if all rows have the same features. Open first
    interchange                     the same for NumPy, SciPy and scikit-learn: rows by any index, dense, sparse
    entries                         from arrays of NumPy and SciPy in two passes; checks of every value
    buffers, arrays                 typed memoryviews in place of NumPy, and loops over them
    allocation                      C arrays that grow
    Cholesky (cholesky)             a triangular factor whose rows are added and removed
    ThreadPool (process)            worker threads of one solve
    threads                         number of threads; jobs on them in Python and NumPy
    machine                         free memory, time, processors
    memory                          checks before work that there is enough memory
    copy_and_swap                   changes of objects by one assignment
    packages                        errors for missing packages of extras
    suggestions                     similar names, for a mistyped one
    records, enumerations, contexts  dataclasses, enums and context managers that are fast to import
    dense                           BLAS and LAPACK with checks for a stop
    blas                            one BLAS thread, where sums must not depend on their number
    Token (stopping)                checks for a stop between pieces of work; of a solve its Control
    say_on (process)                message at the end by a signal

    dispatch                        the table of hot loops for the CPU target chosen at import

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
