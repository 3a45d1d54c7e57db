"""Warnings of calls of the Python interface: solves that ended before the tolerance, and data that make results
doubtful."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from libsvmx._train.observer import Forwarding, Observer, Remark
from libsvmx._train.parameter import Parameter
from libsvmx.exceptions import ConvergenceWarning, warn_caller
from libsvmx.io.transcript import REMARKS

WHAT_TO_DO = {
    Remark.ITERATION_LIMIT: "scale the data, lower C, raise eps, or raise max_iter if it was set",
    Remark.TIME_LIMIT: "raise time_limit, lower C, or raise eps",
    Remark.UNBOUNDED: "choose a finite C, or another kernel",
    Remark.INTERRUPTED: "train again for the optimum: the observer's should_stop has ended it",
    Remark.ROUNDING: "raise eps, or scale the data",
    Remark.DEGENERATE: "choose other kernel parameters, another nu, or scale the data",
}


class EarlyStops(Forwarding):
    """Passes everything to the caller's observer, and records solves that ended early, and remarks on the data."""

    def __init__(self, observer: Observer):
        super().__init__(observer)
        self.found: set[Remark] = set()
        self.of_rows: dict[str, None] = {}  # each once, in order
        self.offset = ""

    def remark(self, kind: Remark, detail: str = "") -> None:
        if kind in WHAT_TO_DO:
            self.found.add(kind)
        if kind == Remark.FEW_ROWS_FOR_PROBABILITY:
            self.of_rows[REMARKS[kind].format(detail=detail)] = None
        if kind == Remark.OFFSET:
            self.offset = self.offset or REMARKS[kind].format(detail=detail)
        self.observer.remark(kind, detail)


@contextmanager
def offset_warned(observer: Observer) -> Iterator[EarlyStops]:
    """The observer to work with; for the caller one UserWarning of features far from 0, whatever is trained on them."""
    stops = EarlyStops(observer)
    try:
        yield stops
    finally:  # features far from 0 may be why the call fails
        if stops.offset:
            warn_caller(stops.offset)


@contextmanager
def early_stops_warned(observer: Observer | None, of_rows: bool = False) -> Iterator[EarlyStops]:
    """The observer to work with; for the caller of the function that uses this a ConvergenceWarning, a UserWarning of
    features far from 0, and with ``of_rows`` one of classes of too few rows: of a training, not of folds, which lack
    some by chance."""
    with offset_warned(observer or Observer()) as stops:
        yield stops
        for text in stops.of_rows if of_rows else ():
            warn_caller(text)
    kinds = [kind for kind in WHAT_TO_DO if kind in stops.found]
    if kinds:
        text = "; ".join(f"{REMARKS[kind]}. What helps: {WHAT_TO_DO[kind]}" for kind in kinds)
        warn_caller(text, ConvergenceWarning)


def warn_of_weights(param: Parameter, *targets: Iterable[float]) -> None:
    """A UserWarning of each weight of a class that does not occur in ``targets``, which are those of all rows: once in
    a call, whatever it trains."""
    if param.weights and param.svm_type.is_classification:
        labels = set().union(*targets)
        for label, _ in param.weights:
            if label not in labels:
                warn_caller(REMARKS[Remark.WEIGHT_WITHOUT_CLASS].format(detail=label))
