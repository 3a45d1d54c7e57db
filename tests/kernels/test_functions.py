"""The table of kernel functions (kernel_functions.c) and that of their names and parameters (enums.py)."""

import pytest
from libsvmx._core.arrays import ramp
from support import data

from libsvmx._kernels.kernel_matrix import Kernel, function_names
from libsvmx.enums import KernelType


def test_the_tables_agree():
    assert function_names() == [kind.name for kind in sorted(KernelType)]
    assert [kind.value for kind in sorted(KernelType)] == list(range(len(KernelType)))


@pytest.mark.parametrize("kind", KernelType)
def test_a_kernel_type_is_its_number(kind):
    assert KernelType(int(kind)) is kind
    assert set(kind.uses) <= {"degree", "gamma", "coef0"}
    assert kind.usage.split()[0].lower() == kind.keyword


@pytest.mark.parametrize("kind", [-1, len(KernelType)])
def test_no_other_kernel(kind):
    with pytest.raises(ValueError, match=f"kernel {kind} of {len(KernelType)}"):
        Kernel(data.from_rows([[(1, 1.0)]]), ramp(1), kind, 3, 1.0, 0.0)
