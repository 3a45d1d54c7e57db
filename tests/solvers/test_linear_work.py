"""The work of crsvm, in steps of SMO."""

import pytest

from libsvmx._solvers.linear_work import LinearWork


@pytest.mark.parametrize(("nonzeros", "features", "measured"), [(13.9, 123, 95), (16, 16, 80), (500, 500, 5_350),
    (21, 112, 170)])  # fmt: skip
def test_the_estimate_of_the_work_of_crsvm(nonzeros, features, measured):
    assert measured / 1.5 < LinearWork(nonzeros, features, False).of_row() < 1.5 * measured


def test_steps_that_take_as_long_as_crsvm():
    """Measured: crsvm takes 11, 18, 11 ms, a step of SMO 8 us with new rows, 3, 10, and 0.3 with all rows kept."""
    assert 500 < LinearWork(8, 8, False).in_steps(3000, 3000) < 2500
    assert 1500 < LinearWork(13.9, 123, True).in_steps(3000, 3000) < 15_000
    assert 300 < LinearWork(54, 54, False).in_steps(3000, 3000) < 1500
    many = [LinearWork(8, 8, False).in_steps(n, n) for n in (100, 300, 1000, 3000)]
    assert many == sorted(many, reverse=True)
