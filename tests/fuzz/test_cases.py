"""When too few cases are accepted for it to be an accident."""

import pytest
from fuzz.conftest import ACCIDENT, chance_of_fewer


@pytest.mark.parametrize(
    ("accepted", "tried", "share", "is_accident"),
    [
        (0, 20, 0.1, True),
        (19, 200, 0.1, True),
        (25, 300, 0.1, True),
        (0, 300, 0.1, False),
        (90, 300, 0.5, False),
        (0, 0, 0.5, True),
        (480, 300, 0.3, True),
    ],
)
def test_few_cases_are_an_accident(accepted, tried, share, is_accident):
    assert (chance_of_fewer(accepted, tried, share) > ACCIDENT) == is_accident


def test_the_bound_is_one():
    binom = pytest.importorskip("scipy.stats").binom
    for tried in (10, 100, 1000):
        for share in (0.05, 0.5, 0.9):
            for accepted in range(0, tried, max(1, tried // 7)):
                assert binom.cdf(accepted, tried, share) <= chance_of_fewer(accepted, tried, share) * (1 + 1e-9)
