"""The repository root goes last: before the installed package it would hide the compiled modules."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2]))
