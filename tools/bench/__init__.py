"""Times, memory and optima of libsvmx beside its peers: ``python -m tools.bench`` from the repository root.

__main__     the command line
cases        what is trained: names, data sets, options
datasets     the data of a case, cut or scaled as it says, kept as arrays
peers/       who trains it: each takes prepared data, trains, and hands back one form of solution
child        one measurement in a process of its own; measure starts it
certificate  objective and KKT gap of a solution from the original data, by NumPy alone
roofline     the least time that kernel values and memory leave
training, predicting, reading     the three jobs;  report, plot    what they show
seeding, searching   cross-validation, grids; turns, crossvalidators    how they are measured
updating     rows that join and leave; updaters, streams    how they are measured; updateplot    figures
chunked      solvers in chunks; chunkedcases, generated, solvings    what is trained and how; chunkedtables    tables
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# `python -m` puts the current folder first, where libsvmx has no compiled modules: the installed package comes first.
sys.path[:] = [path for path in sys.path if Path(path or ".").resolve() != ROOT] + [str(ROOT)]
