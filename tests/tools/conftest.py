"""The repository root, for `tools`; last, so that nothing in it stands before what is installed."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2]))
