cdef extern from "targets.h" nogil:
    ctypedef struct svmx_loop_table:
        pass
    ctypedef struct svmx_cpu_target:
        const char *name
        const svmx_loop_table *loops
        int (*runs)() noexcept nogil

    enum: SVMX_N_TARGETS
    const svmx_cpu_target svmx_cpu_targets[]

# The loops of this process. In C its name is what the .pxd files of the families of loops call.
cdef svmx_loop_table svmx_loops "svmx_loops"
