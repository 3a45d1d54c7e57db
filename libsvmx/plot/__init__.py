"""Pictures of models, searches and trainings, by matplotlib, which the extra ``plot`` installs.

    boundary             a model of two features, or a regression over one     regions
    grid                 the rates of a grid search, also of svmx-grid         surface
    convergence          the gap, or the objective, step by step               curves
    calibration          probabilities beside what has come of them            curves
    path                 the cross-validated error at every C                  curves
    COLOURS, MARKERS     of classes and curves, in their order                 axes

Each draws into the ``ax`` of matplotlib that it is given, or into that of a new figure, and returns it. None shows the
picture, saves it, or changes a setting of matplotlib: that is up to the caller. matplotlib is imported by the first
call, not with this package. Colours are those of Okabe & Ito, which colour-blind readers can tell apart; classes and
curves also have markers of their own.
"""

from __future__ import annotations

from libsvmx.plot.axes import COLOURS, MARKERS
from libsvmx.plot.curves import calibration, convergence, path
from libsvmx.plot.regions import boundary
from libsvmx.plot.surface import grid

__all__ = ["COLOURS", "MARKERS", "boundary", "calibration", "convergence", "grid", "path"]
