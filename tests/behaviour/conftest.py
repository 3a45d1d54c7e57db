"""Which mechanisms the suites run under."""

import pytest

from .table import MECHANISMS


@pytest.fixture(params=MECHANISMS)
def mechanism(request):
    """Options of every call of a test whose results are compared: none, or a policy that forces a mechanism.

    One of ``table.MECHANISMS``; ``table.each`` chooses combinations with what else a test varies.
    """
    policy = MECHANISMS[request.param]
    return {} if policy is None else {"policy": policy}
