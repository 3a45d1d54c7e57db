from libsvmx._solvers.dual cimport Dual


cdef struct Formulation:
    int kind            # an SvmType
    double nu
    double cost         # C, in regression
    double p
    double tau


cdef struct Recovered:
    double rho          # IN  of the dual problem, OUT of the decision function
    double objective    # likewise
    Py_ssize_t n_sv
    Py_ssize_t n_bsv
    double value        # of the formulation's quantity
    bint has_value


cdef Formulation formulation_of(param)
cdef void write_dual(const Formulation *of, Py_ssize_t l, const double *z, double Cp, double Cn, const double *w,
                     Dual *dual) noexcept nogil
cdef void recover(const Formulation *of, Py_ssize_t l, const double *w, const Dual *dual, const double *beta, double r,
                  double *coefficients, Recovered *found) noexcept nogil
