"""The figures of docs/, from trainings on the sets in data/: ``python -m tools.figures`` from the repository root.

A figure is its numbers and how they are drawn, apart from each other: NAME.json and NAME.svg in docs/figures. So
what is shown can be compared with what the code does today, whatever version of matplotlib draws it.

    __main__      the command line; FIGURES, in the order of docs/howitworks.md
    figure        Figure: numbers, drawing, and what differs too much
    style         size, fonts and colours of all of them
    sets          the sets in data/, and a training that is ended after so many steps

    support_vectors  smo  working_sets  paths  folds  left_out  interior_point      a family each, with its paper
    solver_map       which solver when, as questions
    measured         the overview: times of tools/tables.py, and a row that moves
    growth           times by number of rows, as ``python -m tools.bench growth --figures docs/figures`` leaves them
"""
