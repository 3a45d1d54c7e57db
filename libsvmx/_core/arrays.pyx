"""Loops over plain buffers that Python would be slow at."""

from cpython.buffer cimport PyBUF_WRITE
from cpython.bytearray cimport PyByteArray_Resize
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.memoryview cimport PyMemoryView_FromMemory
from libc.math cimport fabs
from libc.stdint cimport int32_t

from libsvmx._core.buffers import SIZE_OF, zeros

cdef extern from *:
    """
    #if defined(__GLIBC__)
    #include <malloc.h>
    static void svmx_trim(void) { malloc_trim(0); }
    #else
    static void svmx_trim(void) {}
    #endif
    """
    void svmx_trim() nogil

# Values of a training from which on to give memory back takes much less time than the training has.
cdef Py_ssize_t WORTH_GIVING_BACK = 1 << 20


def empty(str kind, Py_ssize_t n):
    """As ``buffers.zeros``, but of any content: whoever fills it, touches it first."""
    memory = bytearray()
    PyByteArray_Resize(memory, n * <Py_ssize_t>SIZE_OF[kind])  # _FromStringAndSize complains when memory runs out
    return memoryview(memory).cast(kind)


def unwritten_bytes(Py_ssize_t n):
    """(bytes, memoryview): n bytes of any content, and how they are written before anybody else sees them."""
    content = PyBytes_FromStringAndSize(NULL, n)
    return content, PyMemoryView_FromMemory(PyBytes_AS_STRING(content), n, PyBUF_WRITE)


def give_back(Py_ssize_t n_values):
    """After work on so many values: free memory goes back to the system.

    Once an array of up to 32 MB was freed, glibc takes others of its size from its heaps, and keeps them.
    """
    if n_values >= WORTH_GIVING_BACK:
        with nogil:
            svmx_trim()


def ramp(Py_ssize_t n):
    """0, 1, …, n-1: buffer of int32."""
    out_ = zeros("i", n)
    cdef int32_t[::1] out = out_
    cdef Py_ssize_t i
    for i in range(n):
        out[i] = <int32_t>i
    return out_


def take_int32(values, positions):
    """values[positions], buffers of int32."""
    cdef const int32_t[::1] v = values, p = positions
    cdef Py_ssize_t i
    out_ = zeros("i", p.shape[0])
    cdef int32_t[::1] out = out_
    for i in range(p.shape[0]):
        out[i] = v[p[i]]
    return out_


def inverse(positions, Py_ssize_t n):
    """k at positions[k], 0 where there is none: buffer of int32, shape (n,). All positions are below n."""
    cdef const int32_t[::1] p = positions
    cdef Py_ssize_t k
    out_ = zeros("i", n)
    cdef int32_t[::1] out = out_
    for k in range(p.shape[0]):
        out[p[k]] = <int32_t>k
    return out_


def take_float64(values, positions):
    """values[positions], float64 by int32."""
    cdef const double[::1] v = values
    cdef const int32_t[::1] p = positions
    cdef Py_ssize_t i
    out_ = zeros("d", p.shape[0])
    cdef double[::1] out = out_
    for i in range(p.shape[0]):
        out[i] = v[p[i]]
    return out_


def nonzero(values):
    """Positions of the values that are not 0 (nor nan): buffer of int32."""
    cdef const double[::1] v = values
    cdef Py_ssize_t i, n = 0
    out_ = zeros("i", v.shape[0])
    cdef int32_t[::1] out = out_
    for i in range(v.shape[0]):
        if fabs(v[i]) > 0:
            out[n] = <int32_t>i
            n += 1
    return out_[:n]


def marked(flags):
    """Positions of the bytes that are not 0 (flags: bytes-like): buffer of int32."""
    cdef const unsigned char[::1] flag = flags
    cdef Py_ssize_t i, n = 0
    out_ = zeros("i", flag.shape[0])
    cdef int32_t[::1] out = out_
    for i in range(flag.shape[0]):
        if flag[i]:
            out[n] = <int32_t>i
            n += 1
    return out_[:n]


def counted_from_one(rows):
    """rows + 1: buffers of int32."""
    cdef const int32_t[::1] row = rows
    cdef Py_ssize_t i
    out_ = zeros("i", row.shape[0])
    cdef int32_t[::1] out = out_
    for i in range(row.shape[0]):
        out[i] = row[i] + 1
    return out_


def add_up_scores(predictions, targets, sums_):
    """How many predictions v are their targets y; the sums of (v - y)^2, v, y, v^2, y^2, v y, and how far targets are
    above and below, go on in ``sums_``."""
    cdef const double[::1] v = predictions, y = targets
    cdef double[::1] sums = sums_
    cdef Py_ssize_t k, correct = 0
    for k in range(v.shape[0]):
        correct += v[k] == y[k]
        sums[0] += (v[k] - y[k]) * (v[k] - y[k])
        sums[1] += v[k]
        sums[2] += y[k]
        sums[3] += v[k] * v[k]
        sums[4] += y[k] * y[k]
        sums[5] += v[k] * y[k]
        sums[6] += max(y[k] - v[k], 0.0)
        sums[7] += max(v[k] - y[k], 0.0)
    return correct
