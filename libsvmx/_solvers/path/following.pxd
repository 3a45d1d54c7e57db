from libsvmx._solvers.path.motion cimport Motion

cdef int follow(Motion motion) except -1
