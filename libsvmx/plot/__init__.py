"""Pictures of models, searches and trainings, by matplotlib, which the extra ``plot`` installs.

    boundary             a model of two features, or a regression over one     regions
    grid                 the rates of a grid search, also of svmx-grid         surface
    convergence          the gap, or the objective, step by step               curves
    calibration          estimated probabilities against observed shares       curves
    path                 the cross-validated error at every C                  curves
    COLOURS, MARKERS     of classes and curves, in their order                 axes

Each draws into a given matplotlib ``ax``, or into that of a new figure, and returns it; none shows or saves the picture
or changes matplotlib's settings. matplotlib is imported at the first call. Colours are those of Okabe & Ito, which
colour-blind readers can tell apart; classes and curves also differ in their markers.
"""

from __future__ import annotations

from libsvmx.plot.axes import COLOURS, MARKERS
from libsvmx.plot.curves import calibration, convergence, path
from libsvmx.plot.regions import boundary
from libsvmx.plot.surface import grid

__all__ = ["COLOURS", "MARKERS", "boundary", "calibration", "convergence", "grid", "path"]
