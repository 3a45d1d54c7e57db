"""Which mechanisms the suites run under."""

import pytest

from .table import MECHANISMS


@pytest.fixture(params=MECHANISMS)
def mechanism(request):
    """Options of every call of a test whose results are compared: none, or what forces a mechanism.

    One of ``table.MECHANISMS``; ``table.each`` combines it with what else a test varies.
    """
    return MECHANISMS[request.param]
