"""The figures of docs/, from trainings on the sets in data/: ``python -m tools.figures`` from the repository root.

A figure's numbers and its drawing are separate: NAME.json and NAME.svg in docs/figures. So the numbers can be compared
with the results of today's code, whatever version of matplotlib draws them.

    __main__      the command line; FIGURES, in the order of docs/howitworks.md
    figure        Figure: numbers, drawing, and differences that are too large
    style         size, fonts and colours of all figures
    sets          the sets in data/, and a training stopped after n steps

    support_vectors  smo  working_sets  paths  folds  left_out  interior_point      one family each, with its paper
    solver_map       which solver to choose, as questions
    measured         the overview: times of tools/tables.py, and a row being moved
    growth           times by number of rows, written by ``python -m tools.bench growth --figures docs/figures``
"""
