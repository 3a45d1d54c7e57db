"""Memory of plain buffers, and loops over them that Python would be slow at."""

from cpython.buffer cimport PyBUF_CONTIG_RO, PyBUF_FORMAT, PyBUF_WRITE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.float cimport PyFloat_AS_DOUBLE
from cpython.mem cimport PyMem_Calloc, PyMem_Free, PyMem_Malloc
from cpython.memoryview cimport PyMemoryView_FromMemory, PyMemoryView_FromObject, PyMemoryView_GET_BUFFER
from cpython.object cimport PyObject_GenericSetAttr
from cpython.unicode cimport PyUnicode_AsUTF8
from cython cimport freelist
from libc.math cimport fabs
from libc.stdint cimport int32_t, uintptr_t

from libsvmx._core.slab cimport svmx_drop_slabs, svmx_give_slab, svmx_give_slabs, svmx_take_slab

from _operator import index

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
    const Py_ssize_t PY_SSIZE_T_MAX

# Values of a training from which returning memory is cheap beside it.
cdef Py_ssize_t WORTH_GIVING_BACK = 1 << 20


# Buffers from so many bytes on begin at a cache line, after the address of what is to be freed: rows of RBF took up to a
# fifth longer where loads of whole vectors were across two lines.
cdef enum:
    LINE = 64
    LEAST_ALIGNED = 512


@freelist(32)
cdef class Memory:
    """Memory of a buffer. A bytearray with a cast view takes three times as long; a small training makes fifty."""

    def __dealloc__(self):
        if self.items != NULL:
            PyMem_Free((<void **>self.items - 1)[0] if self.n * self.size >= LEAST_ALIGNED else self.items)

    def __getbuffer__(self, Py_buffer *view, int flags):
        view.obj, view.buf, view.len, view.readonly = self, self.items, self.n * self.size, False
        view.itemsize, view.format, view.ndim = self.size, <char *>PyUnicode_AsUTF8(self.kind), self.ndim
        view.shape, view.strides, view.suboffsets, view.internal = self.shape, self.strides, NULL, NULL


cdef Memory memory(str kind, Py_ssize_t n, bint zeroed=True):
    cdef Memory made = Memory.__new__(Memory)
    cdef Py_UCS4 code = kind[0]
    cdef void *begin = NULL
    cdef Py_ssize_t bytes = 0
    made.size = 8 if code in "dqQ" else 4 if code in "if" else 2 if code in "hH" else 1
    made.kind, made.n, made.ndim, made.shape[0], made.strides[0] = kind, n, 1, n, made.size
    if n < 0:
        raise ValueError(f"a buffer of {n} items")
    if n <= PY_SSIZE_T_MAX // made.size - LINE:
        bytes = n * made.size + (LINE if n * made.size >= LEAST_ALIGNED else 0)
        begin = PyMem_Calloc(bytes, 1) if zeroed else PyMem_Malloc(bytes)
    if begin == NULL:
        raise MemoryError()
    made.items = begin
    if bytes > n * made.size:
        made.items = <void *>((<uintptr_t>begin // LINE + 1) * LINE)
        (<void **>made.items - 1)[0] = begin
    return made


cdef Memory memory_table(str kind, Py_ssize_t rows, Py_ssize_t columns):
    cdef Memory made
    if rows < 0 or columns < 0:
        raise ValueError(f"a table of {rows} rows and {columns} columns")
    if columns > PY_SSIZE_T_MAX // 8 // max(rows, 1):  # no kind has items of more bytes
        raise MemoryError()
    made = memory(kind, rows * columns)
    made.ndim, made.shape[0], made.shape[1] = 2, rows, columns
    made.strides[0], made.strides[1] = columns * made.size, made.size
    return made


cdef const void *items_of(values, char code, Py_ssize_t *n) except? NULL:
    """The items of a contiguous buffer whose format is ``code``, and their number; NULL for another one."""
    cdef Py_buffer view
    PyObject_GetBuffer(values, &view, PyBUF_CONTIG_RO | PyBUF_FORMAT)
    n[0] = view.shape[0] if view.ndim == 1 else -1
    cdef const void *items = view.buf if view.format[0] == code and view.format[1] == 0 and n[0] >= 0 else NULL
    PyBuffer_Release(&view)
    return items


cdef const int32_t *int32_of(values, Py_ssize_t *n) except NULL:
    cdef const int32_t *items = <const int32_t *>items_of(values, b"i", n)
    cdef const int32_t[::1] other
    if items == NULL:  # such as an int32 that is called long
        other = values
        n[0], items = other.shape[0], &other[0] if other.shape[0] else <const int32_t *>n
    return items


cdef const double *float64_of(values, Py_ssize_t *n) except NULL:
    cdef const double *items = <const double *>items_of(values, b"d", n)
    cdef const double[::1] other
    if items == NULL:
        other = values
        n[0], items = other.shape[0], &other[0] if other.shape[0] else <const double *>n
    return items


def zeros(str kind, Py_ssize_t n):
    """Writable memoryview of ``n`` zeros; ``kind`` is a struct code: 'd' float64, 'i' int32, 'q' int64, 'f' float32,
    'b' int8, 'h' int16, 'H' uint16, 'Q' uint64."""
    return PyMemoryView_FromObject(memory(kind, n, True))


def table(str kind, Py_ssize_t rows, Py_ssize_t columns):
    """Writable memoryview of zeros of shape (rows, columns). Raises ValueError, MemoryError."""
    return PyMemoryView_FromObject(memory_table(kind, rows, columns))


def empty(str kind, Py_ssize_t n):
    """As ``zeros``, but of any content: whoever fills it, touches it first."""
    return PyMemoryView_FromObject(memory(kind, n, False))


def doubles(values):
    """Writable memoryview of float64 holding the numbers of a list or tuple; errors as of ``array.array``."""
    cdef Py_ssize_t i = 0
    cdef Memory out = memory("d", len(values))
    for value in values:
        if i < out.n:  # a value's own conversion may change the list
            (<double *>out.items)[i] = PyFloat_AS_DOUBLE(value) if type(value) is float else value
            i += 1
    return PyMemoryView_FromObject(out)


def unwritten_bytes(Py_ssize_t n):
    """(bytes, memoryview): n uninitialised bytes, and a view to fill them before they are used."""
    content = PyBytes_FromStringAndSize(NULL, n)
    return content, PyMemoryView_FromMemory(PyBytes_AS_STRING(content), n, PyBUF_WRITE)


cdef void *take_slab(size_t bytes) noexcept nogil:
    """Uninitialised memory for ``give_slab``, or NULL."""
    return svmx_take_slab(bytes)


cdef void give_slab(void *slab, size_t bytes) noexcept nogil:
    """Free a slab, or keep it for the next ``take_slab``."""
    svmx_give_slab(slab, bytes)


cdef void give_slabs(float **slabs, Py_ssize_t n, size_t bytes) noexcept nogil:
    """``give_slab`` for n slabs, of which NULL is none, and free their list."""
    svmx_give_slabs(slabs, n, bytes)


def give_back(Py_ssize_t n_values):
    """Return free memory to the system after work on ``n_values`` values, with the slabs that are kept.

    After an array of up to 32 MB was freed, glibc takes others of that size from its heaps, and keeps them.
    """
    if n_values >= WORTH_GIVING_BACK:
        with nogil:
            svmx_drop_slabs()
            svmx_trim()


def ramp(Py_ssize_t n):
    """0, 1, …, n-1: buffer of int32."""
    cdef Memory made = memory("i", n, False)
    cdef int32_t *out = <int32_t *>made.items
    cdef Py_ssize_t i
    for i in range(n):
        out[i] = <int32_t>i
    return PyMemoryView_FromObject(made)


def take_int32(values, positions):
    """values[positions], buffers of int32."""
    cdef Py_ssize_t i, n, n_values
    cdef const int32_t *v = int32_of(values, &n_values)
    cdef const int32_t *p = int32_of(positions, &n)
    cdef Memory made = memory("i", n, False)
    cdef int32_t *out = <int32_t *>made.items
    for i in range(n):
        out[i] = v[p[i]]
    return PyMemoryView_FromObject(made)


def inverse(positions, Py_ssize_t n):
    """k at positions[k], 0 where there is none: buffer of int32, shape (n,). All positions are below n."""
    cdef Py_ssize_t k, n_positions
    cdef const int32_t *p = int32_of(positions, &n_positions)
    cdef Memory made = memory("i", n)
    cdef int32_t *out = <int32_t *>made.items
    for k in range(n_positions):
        out[p[k]] = <int32_t>k
    return PyMemoryView_FromObject(made)


def take_float64(values, positions):
    """values[positions], float64 by int32."""
    cdef Py_ssize_t i, n, n_values
    cdef const double *v = float64_of(values, &n_values)
    cdef const int32_t *p = int32_of(positions, &n)
    cdef Memory made = memory("d", n, False)
    cdef double *out = <double *>made.items
    for i in range(n):
        out[i] = v[p[i]]
    return PyMemoryView_FromObject(made)


def nonzero(values):
    """Positions of the values that are not 0 (nor nan): buffer of int32."""
    cdef Py_ssize_t i, n_values, n = 0
    cdef const double *v = float64_of(values, &n_values)
    cdef Memory made = memory("i", n_values, False)
    cdef int32_t *out = <int32_t *>made.items
    for i in range(n_values):
        if fabs(v[i]) > 0:
            out[n] = <int32_t>i
            n += 1
    return PyMemoryView_FromObject(made)[:n]


def counted_from_one(rows):
    """rows + 1: buffers of int32."""
    cdef Py_ssize_t i, n
    cdef const int32_t *row = int32_of(rows, &n)
    cdef Memory made = memory("i", n, False)
    cdef int32_t *out = <int32_t *>made.items
    for i in range(n):
        out[i] = row[i] + 1
    return PyMemoryView_FromObject(made)


def set_fields(of, tuple names, tuple values):
    """Set attributes of an object, frozen or not: ``object.__setattr__`` takes five times as long."""
    cdef Py_ssize_t k
    for k in range(len(names)):
        PyObject_GenericSetAttr(of, names[k], values[k])


def own_arrays(model, dict kinds, lengths):
    """Make the arrays of a model immutable, and check them; ``kinds``: format of each by its name, "" for a tuple of
    integers. Raises TypeError, ValueError."""
    cdef Py_buffer *own
    for (name, kind), length in zip(kinds.items(), lengths):
        value = held = getattr(model, name)
        if value is None:
            continue
        if kind == "":
            held = tuple([index(number) for number in value])
        else:
            view = value if type(value) is memoryview else memoryview(value)
            own = PyMemoryView_GET_BUFFER(view)
            len(view)  # raises if it was released
            if own.ndim != 1 or own.format == NULL or own.format[0] != ord(kind) or own.format[1] != 0:
                raise TypeError(f"{name} of a model must be a flat buffer of format {kind!r}, not {view.format!r}")
            if view is not value or type(view.obj) is not bytes:
                held = memoryview(bytes(view)).cast(kind)
        if held is not value:
            PyObject_GenericSetAttr(model, name, held)
        if len(held) != length:
            raise ValueError(f"{name} of a model has length {len(held)}, {length} would fit")


def add_up_scores(predictions, targets, sums_):
    """Number of predictions v equal to their targets y; ``sums_`` (8,), INOUT: sums of (v - y)^2, v, y, v^2, y^2, v y,
    max(y - v, 0) and max(v - y, 0)."""
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
