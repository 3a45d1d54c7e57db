"""The work of crsvm, in steps of SMO."""

import pytest

from libsvmx._solvers.linear_work import crsvm_in_steps, crsvm_row_work


@pytest.mark.parametrize(("nonzeros", "features", "measured"), [(13.9, 123, 95), (16, 16, 80), (500, 500, 5_350),
    (21, 112, 170)])  # fmt: skip
def test_the_estimate_of_the_work_of_crsvm(nonzeros, features, measured):
    assert measured / 1.5 < crsvm_row_work(nonzeros, features) < 1.5 * measured


def test_steps_that_take_as_long_as_crsvm():
    """Measured: crsvm takes 11, 18, 11 ms, a step of SMO 8 us with new rows, 3, 10, and 0.3 with all rows kept."""
    assert 500 < crsvm_in_steps(3000, 3000, 8, 8, False) < 2500
    assert 1500 < crsvm_in_steps(3000, 3000, 13.9, 123, True) < 15_000
    assert 300 < crsvm_in_steps(3000, 3000, 54, 54, False) < 1500
    many = [crsvm_in_steps(n, n, 8, 8, False) for n in (100, 300, 1000, 3000)]
    assert many == sorted(many, reverse=True)
