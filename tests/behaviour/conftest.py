"""The mechanisms that the suites run under."""

import pytest

from .table import MECHANISMS


@pytest.fixture(params=MECHANISMS)
def mechanism(request):
    """Options of every call of a test whose results are compared: none, or options that force a mechanism.

    One of ``table.MECHANISMS``; ``table.each`` combines it with the test's other parameters.
    """
    return MECHANISMS[request.param]
