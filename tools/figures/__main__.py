"""Make the figures of docs/: python -m tools.figures, from the repository root.

Trains for each figure, a few seconds in all, and writes its numbers, NAME.json, and its drawing, NAME.svg.
"""

import sys
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from pathlib import Path

from tools.figures import (
    folds,
    growth,
    interior_point,
    left_out,
    measured,
    paths,
    smo,
    solver_map,
    support_vectors,
    working_sets,
)
from tools.figures.figure import FOLDER

FIGURES = {
    figure.name: figure
    for family in (
        measured,
        support_vectors,
        smo,
        working_sets,
        paths,
        folds,
        left_out,
        interior_point,
        solver_map,
        growth,
    )
    for figure in family.FIGURES
}


def main(argv=None):
    """Exit code 1 if --check finds numbers that differ from the saved ones."""
    parser = ArgumentParser("python -m tools.figures", description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("name", nargs="*", choices=[*FIGURES, []], metavar="NAME", help=f"of {' '.join(FIGURES)} (all)")
    add("--saved", action="store_true", help="draw the numbers that are there; train nothing")
    add("--check", action="store_true", help="write nothing; compare numbers with those that are there")
    add("--folder", type=Path, default=FOLDER, help="where files are (docs/figures)")
    add("--png", type=Path, metavar="FOLDER", help="pictures as PNG, too, to look at")
    options = parser.parse_args(argv)
    different = False
    for figure in (FIGURES[name] for name in options.name or FIGURES):
        numbers = figure.saved(options.folder) if options.saved or not figure.numbers else figure.numbers()
        if numbers is None:
            print(f"{figure.name}: nothing was measured yet")
        elif options.check:
            lines = figure.differences(numbers, options.folder)
            different = different or bool(lines)
            print("\n".join(lines) or f"{figure.name}: as it was")
        else:
            print(figure.write(numbers, options.folder))
            if options.png:
                figure.picture(numbers, options.png / f"{figure.name}.png")
    return int(different)


if __name__ == "__main__":
    sys.exit(main())
