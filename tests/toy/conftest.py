"""Sessions whose models do not depend on the speed of the machine."""

import pytest
from support.machine import machine_with


@pytest.fixture(autouse=True)
def patient():
    """The clock stands still, so no time limit ends a training."""
    with machine_with(monotonic=0.0):
        yield
