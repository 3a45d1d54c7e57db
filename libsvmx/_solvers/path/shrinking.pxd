from libsvmx._solvers.path.motion cimport Motion

cdef int shrink_if_many(Motion motion) except -1
cdef int unshrink(Motion motion) except -1
