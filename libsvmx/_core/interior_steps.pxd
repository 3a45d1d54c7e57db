from libc.stdint cimport int64_t

cimport libsvmx._core.dispatch  # for svmx_loops

cdef extern from "loops.h" nogil:
    ctypedef struct svmx_interior_rows:
        int64_t n
        const double *y
        const double *alpha
        const double *u
        const double *xi
        const double *s

    ctypedef struct svmx_interior_sides:
        const double *r_s
        const double *r_u
        const double *inverse
        const double *c_s
        const double *c_u

    ctypedef struct svmx_interior_direction:
        double *alpha
        double *u
        double *xi
        double *s

    void svmx_interior_residuals "svmx_loops.interior_residuals"(
            const svmx_interior_rows *at, double rho, const double *z, const double *upper, const double *linear,
            double *r_s, double *r_u, double *inverse, double *y_alpha, double *hinge, double *largest) noexcept
    void svmx_interior_right_side "svmx_loops.interior_right_side"(
            const svmx_interior_rows *at, const svmx_interior_sides *sides, double *out) noexcept
    double svmx_interior_direction_of "svmx_loops.interior_direction"(
            const svmx_interior_rows *at, const svmx_interior_sides *sides, double drho, const double *d_z,
            const svmx_interior_direction *out) noexcept
    void svmx_interior_corrector "svmx_loops.interior_corrector"(
            const svmx_interior_rows *at, const svmx_interior_direction *d, double sigma_mu, double *c_s,
            double *c_u) noexcept
    void svmx_interior_move "svmx_loops.interior_move"(
            int64_t n, double step, const double *x, const double *d, double *out) noexcept
