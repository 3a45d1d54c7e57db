"""What tests of the commands share."""

import pytest
from support import gridengine
from support.gridengine import HEART, SMALL


@pytest.fixture
def finished(folder):
    """A folder with the results of a search and its table; the engine's rates depend on the start."""
    with pytest.MonkeyPatch.context() as patch:
        gridengine.use(patch, gridengine.chained)
        folder.accepts("svmx-grid", *SMALL, "-out", "results", "--csv", "expected", HEART)
        yield folder
