"""Sessions whose models do not depend on how fast this machine is."""

import pytest

from libsvmx.toy import session


@pytest.fixture(autouse=True)
def patient(monkeypatch):
    """No way to a model has a time limit."""
    monkeypatch.setattr(session, "START", session.changed(session.START, {"time_limit": 0.0}))
