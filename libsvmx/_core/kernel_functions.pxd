from libc.stdint cimport int64_t

cimport libsvmx._core.dispatch  # for svmx_loops

cdef extern from "loops.h" nogil:
    enum: SVMX_GIVEN
    enum: SVMX_PRODUCT
    enum: SVMX_DISTANCE
    enum: SVMX_COSINE
    enum: SVMX_TANIMOTO
    enum: SVMX_DOT
    enum: SVMX_MINIMA
    enum: SVMX_HARMONIC
    double svmx_meeting(int product, double u, double v) noexcept

    ctypedef struct svmx_kernel:
        const svmx_kernel_function *function
        int degree
        double gamma
        double coef0

    ctypedef struct svmx_kernel_function:
        const char *name
        int argument
        int product
        void (*values)(int64_t n, const svmx_kernel *kernel, double *t) noexcept nogil
        int in_lanes
        int one_pass
        void (*about)(int64_t n, const svmx_kernel *kernel, double *t) noexcept nogil
        double (*about_error)(double n, const svmx_kernel *kernel, double reach) noexcept nogil

    const svmx_kernel_function *svmx_kernel_function_of "svmx_loops.kernel_function"(int kind) noexcept
    double svmx_kernel_value "svmx_loops.kernel_value"(const svmx_kernel *kernel, double t) noexcept
    double svmx_kernel_with_itself "svmx_loops.kernel_with_itself"(const svmx_kernel *kernel, double square) noexcept
    void svmx_kernel_arguments "svmx_loops.kernel_arguments"(
            int64_t n, const svmx_kernel *kernel, const double *squares, double square, double *t) noexcept
    void svmx_tanimoto_row "svmx_loops.tanimoto_row"(
            int64_t n, float ones, const float *ones_of, float *values) noexcept
    void svmx_kernel_row "svmx_loops.kernel_row"(
            int64_t n, const svmx_kernel *kernel, const double *dots, const double *squares, double square,
            float *out) noexcept
    void svmx_kernel_doubles "svmx_loops.kernel_doubles"(
            int64_t n, const svmx_kernel *kernel, const double *dots, const double *squares, double square,
            double *out) noexcept
