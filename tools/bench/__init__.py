"""Times, memory and optima of libsvmx beside its peers: ``python -m tools.bench`` from the repository root.

Every job is the same three things, a class Job in jobs/: its cases, a run of one, and the tables of what came of it.
``__main__`` runs any of them: it prints, writes JSON, Markdown and figures, and says what was wrong.

    __main__      the command line
    jobs/         training  predicting  reading  seeding (and loo)  grid  updating  chunked  interior  distributed
                  commands  small  selection  latencies  estimators  growth;
                  ways_to_update, streams: what a process of updating does; trainings: what those that train share
    protocol      Job, and Found: what came of a case
    turns         runs that take turns, and LIBSVM's parts that fit into a time budget
    peers/        who trains: each takes prepared data, trains, and hands back one form of solution
    certificate   objective and KKT gap of a solution from the original data, by NumPy alone
    roofline      the least time that kernel values and memory leave
    datasets      the data of a case, kept as arrays; generated, mapped: those that are made
    cases, report, machine, measure     data classes; tables as text; the machine; a process for one measurement

Modules import from lines below their own; tools/check_layers.py keeps that.
"""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
