from libc.stdint cimport int8_t, int32_t


cdef struct Formulation:
    int kind            # an SvmType
    double nu
    double cost         # C; of regression
    double p


cdef struct Dual:
    Py_ssize_t size     # variables: as many as rows, or twice as many in regression
    double *linear
    double *lower
    double *upper
    double *beta
    int8_t *group
    int32_t *row


cdef struct Recovered:
    double rho          # IN as the dual problem has it, OUT of the decision function; so is the objective
    double objective
    Py_ssize_t n_sv
    Py_ssize_t n_bsv
    double value        # of the quantity that the formulation yields
    bint has_value


cdef Formulation formulation_of(param)
cdef void write_dual(const Formulation *of, Py_ssize_t l, const double *z, double Cp, double Cn, const double *w,
                     Dual *dual) noexcept nogil
cdef void recover(const Formulation *of, Py_ssize_t l, const double *w, const Dual *dual, const double *beta, double r,
                  double *coefficients, Recovered *found) noexcept nogil
