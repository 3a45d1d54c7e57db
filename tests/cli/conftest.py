"""What tests of the commands share."""

import pytest
from support import gridengine
from support.gridengine import HEART, SMALL

from libsvmx._train.validation import grid_search


@pytest.fixture
def finished(folder):
    """A folder with the results of a search and its table; the engine's rates depend on the start."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(grid_search, "cross_validate", gridengine.chained)
        folder.accepts("svmx-grid", *SMALL, "-out", "results", "--csv", "expected", HEART)
        yield folder
