cdef class Point:
    cdef readonly object w, r_w, ybar, predictor
    cdef readonly double rho, mu, gap, objective, r_alpha, r_u, r_s, dual, inverse
