"""LIBSVM's grid.py: ``from libsvmx.grid import *`` where ``from grid import *`` stood.

``python -m libsvmx.grid`` is ``svmx-grid``.
"""

from libsvmx.cli.grid import entry, find_parameters

__all__ = ["find_parameters"]

if __name__ == "__main__":
    entry()
