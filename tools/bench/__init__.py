"""Times, memory and optima of libsvmx beside its peers: ``python -m tools.bench`` from the repository root.

Every job is a class in jobs/ with three parts: its cases, one run of a case, and the tables of the results.
``__main__`` runs any of them: it prints, writes JSON, Markdown and figures, and reports what is wrong.

    __main__      the command line
    jobs/         training  predicting  reading  seeding (and loo)  grid  updating  chunked  interior  distributed
                  commands  small  selection  latencies  estimators  growth;
                  ways_to_update, streams: child processes of updating; trainings: shared by training jobs
    protocol      Job, and Found, the results of a case
    turns         runs repeated in turns, and as many of LIBSVM's parts as fit into a time budget
    peers/        the solvers: each takes prepared data, trains, and returns its solution in a common form
    certificate   objective and KKT gap of a solution from the original data, with NumPy alone
    roofline      a lower bound on the time, from kernel values and memory bandwidth
    datasets      the data of a case, cached as arrays; generated, mapped: synthetic and transformed sets
    cases, report, machine, measure     data classes; text tables; the machine; one measurement in its own process

Modules import from the lines below their own; tools/check_layers.py checks it.
"""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
