"""Fault 31: more than 2^31 entries, which a 32-bit count would wrap."""

import ctypes
import mmap
import os

import numpy as np
import pytest

from libsvmx._core.buffers import filled
from libsvmx._core.matrix import CsrMatrix
from libsvmx._train import prediction
from libsvmx._train.folds import Rand
from libsvmx._train.observer import Observer
from libsvmx._train.parameter import Parameter
from libsvmx._train.problem import Problem
from libsvmx._train.training import train_problem
from libsvmx.io.modelfile import model_text

PER_ROW, N_ROWS = 1 << 20, (1 << 11) + 1

NO_ACCESS, READ = 0, 1
SHARED_FIXED, PRIVATE_ANONYMOUS = 0x11, 0x22  # MAP_… of Linux


def repeated(block, times):
    """``times`` copies of an array in a row in the memory of one: the same pages, mapped repeatedly."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    failed = ctypes.c_void_p(-1).value
    assert block.nbytes % mmap.PAGESIZE == 0
    file = os.memfd_create("block")
    try:
        assert os.write(file, block.tobytes()) == block.nbytes
        base = libc.mmap(None, block.nbytes * times, NO_ACCESS, PRIVATE_ANONYMOUS, -1, 0)
        assert base != failed, os.strerror(ctypes.get_errno())
        for k in range(times):
            at = base + k * block.nbytes
            assert libc.mmap(at, block.nbytes, READ, SHARED_FIXED, file, 0) == at, os.strerror(ctypes.get_errno())
    finally:
        os.close(file)
    return np.frombuffer((ctypes.c_char * (block.nbytes * times)).from_address(base), dtype=block.dtype)


@pytest.mark.exhaustive  # passes over each entry once, which takes seconds
@pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="Linux only")
def test_fault_31_rows_behind_entry_2_31():
    indices, values = np.arange(1, PER_ROW + 1, dtype=np.int32), np.linspace(-1, 1, PER_ROW)
    indptr = np.arange(N_ROWS + 1, dtype=np.int64) * PER_ROW
    matrix = CsrMatrix(indptr, repeated(indices, N_ROWS), repeated(values, N_ROWS), copy=False)
    assert matrix.nnz == PER_ROW * N_ROWS > 2**31
    assert matrix.max_index == PER_ROW
    small = CsrMatrix(np.array([0, 1, PER_ROW + 1]), np.append([7], indices).astype("i4"), np.append([3.0], values))
    last = filled("i", [N_ROWS - 1])
    assert matrix.row(N_ROWS - 1) == small.row(1)
    assert bytes(matrix.take(last).values) == values.tobytes()

    param = Parameter(kernel_type=0, C=1e-6)
    model = train_problem(Problem(small, filled("d", [1, -1])), param, Rand(1), Observer())
    assert model.n_sv == 2
    one, other = (
        list(prediction.decision_values(model, rows, of)) for rows, of in ((matrix, last), (small, filled("i", [1])))
    )
    assert one == other

    ends = Problem(matrix, filled("d", [0.0] * N_ROWS)).take(filled("i", [N_ROWS - 1, 0]), filled("d", [1.5, -1.5]))
    regression = Parameter(svm_type=3, kernel_type=0)
    text = model_text(train_problem(ends, regression, Rand(1), Observer()))
    twice = CsrMatrix(np.array([0, PER_ROW, 2 * PER_ROW]), np.tile(indices, 2), np.tile(values, 2))
    assert text == model_text(train_problem(Problem(twice, ends.targets), regression, Rand(1), Observer()))
