"""The state of a page: rows, parameters, their model, and the undo list. Independent of HTTP.

    session.change([{"do": "add", "x": 0.1, "y": 0.2, "label": 1}])      all changes, or none
    head, values = session.picture(View(-1, 1, -1, 1, 100, 100))

``do`` names a change; the methods ``_add``, ``_move``, … have its other fields.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from libsvmx._core.copy_and_swap import built_apart
from libsvmx._train.model import Model, tube_of
from libsvmx._train.observer import Observer
from libsvmx._train.option_words import option_words
from libsvmx._train.parameter import Parameter, changed
from libsvmx._typing import FloatArray
from libsvmx.enums import KernelType, SvmType
from libsvmx.exceptions import DataError, ParameterError
from libsvmx.io.modelfile import model_text, parse_model
from libsvmx.toy.examples import EXAMPLES, OF_REGRESSION, drawn
from libsvmx.toy.follower import Follower, trained
from libsvmx.toy.picture import NO_SV, View, grid_values, marks_of, score_of
from libsvmx.toy.rows import LARGEST, MOST_ROWS, Row, columns_of, plane_of, rows_of, text_of

Box = tuple[float, float, float, float]  # x0, x1, y0, y1

CLASSES = 6  # of the page, which has a colour for each
LABELS = tuple(range(1, CLASSES + 1))
NOTHING: frozenset[object] = frozenset()
UNIT_BOX: Box = (-1.0, 1.0, -1.0, 1.0)
ROOM = 0.08  # margin around the rows of a file, relative to their extent
NARROW = 1e-9  # an extent below this share of its position, or of 1, is rounding
# Seconds for each origin of a model: a page without an answer for longer seems broken.
TIME_LIMIT = 1.0
START = Parameter(C=10.0, gamma=2.0, time_limit=TIME_LIMIT)
SETTINGS = ("svm_type", "kernel_type", "C", "gamma", "degree", "coef0", "nu", "p", "tau")
MOST_DEGREE = 10  # above, the picture is noise
MOST_UNDONE = 200


@dataclass(frozen=True, slots=True)
class Scene:
    """The content of an undo step. ``labels``: of the classes, in the order of their colours; ``model``: of a file,
    shown until the next change."""

    rows: Mapping[int, Row]
    param: Parameter
    labels: tuple[int, ...]
    box: Box
    model: Model | None = None


class Session:
    """Rows with keys 0, 1, …, parameters, and their model. Each call changes it by one assignment.

    Attributes
    ----------
    scene : Scene
    follower : Follower
    """

    def __init__(self) -> None:
        self.scene = Scene({}, START, LABELS, UNIT_BOX)
        self.follower = Follower()
        self._next_key = 0
        self._seed = 0  # of the next example
        self._continuable = NOTHING  # subjects of the last step, as by ``subjects_of``
        self._past: tuple[Scene, ...] = ()
        self._future: tuple[Scene, ...] = ()

    # ---- changes -------------------------------------------------------------------------------

    def change(self, changes: Sequence[Mapping[str, Any]], *, continued: bool = False) -> list[int]:
        """Make these changes, or none if one is invalid. Returns the keys of added rows.

        ``continued``: part of the previous step, like the moves of a dragged row, and undone with it; a step of its own
        if that changed something else.

        Raises DataError, ParameterError, and leaves the session unchanged then.
        """
        return built_apart(self, lambda made: made._change(changes, continued))

    def _change(self, changes: Sequence[Mapping[str, Any]], continued: bool) -> list[int]:
        before, fresh = self._next_key, self.scene
        for each in changes:
            action = ACTIONS.get(str(each.get("do")))
            if action is None:
                raise DataError(f"there is no change {each.get('do')!r}; there are {', '.join(ACTIONS)}")
            with_fields = {name: value for name, value in each.items() if name != "do"}
            with naming(str(each["do"])):
                fresh = action(self, fresh, **with_fields)
        if fresh is not self.scene:
            subjects = subjects_of(changes)
            if not (continued and subjects <= self._continuable):
                self._remember()
                self._continuable = subjects
            self._show(replace(fresh, model=None))
        return [key for key in range(before, self._next_key) if key in fresh.rows]

    def undo(self) -> None:
        """Undo the last step, if any."""
        built_apart(self, lambda made: made._turn("_past", "_future"))

    def redo(self) -> None:
        """Redo the last undone step."""
        built_apart(self, lambda made: made._turn("_future", "_past"))

    def _turn(self, source: str, target: str) -> None:
        """Take the last scene of one list, and append the present one to the other."""
        scenes = getattr(self, source)
        if scenes:
            setattr(self, target, (*getattr(self, target), self.scene))
            setattr(self, source, scenes[:-1])
            self._continuable = NOTHING
            self._show(scenes[-1])

    def _remember(self) -> None:
        """Begin a step with the present scene."""
        self._past, self._future = (*self._past[1 - MOST_UNDONE :], self.scene), ()
        self._continuable = NOTHING

    def _show(self, scene: Scene) -> None:
        self.scene = scene
        if scene.model is None:
            self.follower = self.follower.following(scene.rows, scene.param)
        else:
            self.follower = self.follower.showing(scene.model)

    # ---- single changes: each returns the next scene -------------------------------------------

    def _add(self, scene: Scene, *, x: float, y: float, label: int) -> Scene:
        if len(scene.rows) >= MOST_ROWS:
            raise DataError(f"there are {MOST_ROWS} rows, and the page takes no more")
        key, self._next_key = self._next_key, self._next_key + 1
        return replace(scene, rows={**scene.rows, key: checked_row(scene, x, y, label)})

    def _move(self, scene: Scene, *, row: int, x: float, y: float) -> Scene:
        known = found(scene, row)
        return replace(scene, rows={**scene.rows, row: checked_row(scene, x, y, known.label)})

    def _label(self, scene: Scene, *, row: int, label: int) -> Scene:
        known = found(scene, row)
        return replace(scene, rows={**scene.rows, row: checked_row(scene, known.x, known.y, label)})

    def _remove(self, scene: Scene, *, row: int) -> Scene:
        found(scene, row)
        return replace(scene, rows={key: known for key, known in scene.rows.items() if key != row})

    def _clear(self, scene: Scene) -> Scene:
        return replace(scene, rows={}, labels=LABELS, box=UNIT_BOX)

    def _set(self, scene: Scene, **values: Any) -> Scene:
        unknown = [name for name in values if name not in SETTINGS]
        if unknown:
            raise ParameterError(f"there is no setting {unknown[0]!r}; there are {', '.join(SETTINGS)}")
        param = changed(scene.param, values)
        if param.kernel_type == KernelType.PRECOMPUTED:
            raise ParameterError("the page has no precomputed kernel: rows that move have no values in one")
        if not 1 <= param.degree <= MOST_DEGREE:
            raise ParameterError(f"degree must be between 1 and {MOST_DEGREE} here, not {param.degree}")
        param.require_finite_cost("the page")
        return replace(scene, param=param)

    def _example(self, scene: Scene, *, name: str) -> Scene:
        if name not in EXAMPLES:
            raise DataError(f"there is no example {name!r}; there are {', '.join(EXAMPLES)}")
        self._seed += 1
        return self._of_rows(scene, drawn(name, self._seed), name in OF_REGRESSION, LABELS, UNIT_BOX)

    def _of_rows(self, scene: Scene, rows: Sequence[Row], regression: bool, labels: tuple[int, ...], box: Box) -> Scene:
        """Replace all rows, with a formulation that fits."""
        first, self._next_key = self._next_key, self._next_key + len(rows)
        param = scene.param
        if param.svm_type.is_regression != regression:
            param = changed(param, {"svm_type": SvmType.EPSILON_SVR if regression else SvmType.C_SVC})
        return Scene(dict(enumerate(rows, first)), param, labels, box)

    # ---- files ---------------------------------------------------------------------------------

    def open_data(self, text: bytes, name: str, chosen: tuple[int, int] | None = None) -> None:
        """Replace all rows by those of a LIBSVM data file; ``chosen``: two features, as in ``rows_of``. Raises
        FormatError, DataError."""
        rows, regression = rows_of(text, name, chosen)
        x, y, _ = columns_of(rows)
        labels = sorted({row.label for row in rows})
        if len(labels) > CLASSES:
            raise DataError(f"{name} has {len(labels)} classes: the page has colours for {CLASSES}")
        labels += [label for label in LABELS if label not in labels][: CLASSES - len(labels)]
        box = box_of(x, y)

        def shown(made: Session) -> None:
            scene = made._of_rows(made.scene, rows, regression, tuple(labels), box)
            made._remember()
            made._show(scene)

        built_apart(self, shown)

    def open_model(self, text: bytes, name: str) -> None:
        """Show the model of a file with the present rows. Kernel and formulation become its own.

        Raises FormatError, DataError, ParameterError, and leaves the session unchanged then.
        """
        model = parse_model(text, name, lambda remark: None)
        model.param.require_one_gamma("this page")
        regression = model.param.svm_type.is_regression
        plane = plane_of(model.vectors, f"support vectors of {name}")
        if regression and plane[:, 1].any():
            raise DataError(f"{name} is a regression on two features: the page shows one feature and its target")
        if abs(plane).max(initial=0) > LARGEST:
            raise DataError(f"{name} has support vectors with numbers above {LARGEST:g}, which the page cannot show")
        if len(model.class_labels or ()) > CLASSES:
            raise DataError(f"{name} has {len(model.class_labels or ())} classes: the page has colours for {CLASSES}")
        wanted = model.param.kernel_type.uses
        values = {name: getattr(model.param, name) for name in ("svm_type", "kernel_type", *wanted)}
        scene = self._set(self.scene, **values)
        missing = [label for label in model.class_labels or () if label not in scene.labels]
        if missing:
            used = {row.label for row in scene.rows.values()} | set(model.class_labels or ())
            if len(used) > CLASSES:
                raise DataError(f"rows and {name} have {len(used)} classes together: the page has {CLASSES} colours")
            spare = [label for label in scene.labels if label not in used]
            labels = sorted({*used, *spare[: CLASSES - len(used)]})
            scene = replace(scene, labels=tuple(labels))
        if not scene.rows and not regression and model.n_sv:
            scene = replace(scene, box=box_of(*plane.T))

        def shown(made: Session) -> None:
            made._remember()
            made._show(replace(scene, model=model))

        built_apart(self, shown)

    def data_text(self) -> bytes:
        """The rows as a LIBSVM data file. Raises DataError without rows."""
        if not self.scene.rows:
            raise DataError("there are no rows to save")
        return text_of(self.scene.rows.values(), self.scene.param.svm_type.is_regression)

    def command(self) -> str:
        """The command that trains on the saved rows like the page."""
        words = option_words(changed(self.scene.param, {"time_limit": 0.0}))  # the page's own limit
        return f"svmx-train {' '.join(words)} rows.txt"

    # ---- output --------------------------------------------------------------------------------

    def picture(self, view: View) -> tuple[dict[str, Any], NDArray[np.float32]]:
        """The picture: a head for ``json``, and decision values, an array of float32.

        Its shape, (functions, rows, columns of the grid), is ``shape`` in the head; a regression has one function and
        one row; without a model there are no values.
        """
        model, follower, scene = self.follower.model, self.follower, self.scene
        note, nothing = follower.note, np.zeros((0, 0, 0), dtype=np.float32)
        with np.errstate(over="ignore", invalid="ignore"):
            values = nothing if model is None else np.ascontiguousarray(grid_values(model, view), dtype=np.float32)
        if not np.isfinite(values).all():
            values, note = nothing, "values of this model are too large to be drawn"
        marks = {} if model is None else marks_of(model, follower.order)
        keys = list(scene.rows)
        x, y, labels = columns_of(scene.rows.values())
        head = {
            "rows": {
                "key": keys,
                "x": x.tolist(),
                "y": y.tolist(),
                "label": labels.astype(int).tolist(),
                "mark": [marks.get(key, NO_SV) for key in keys],
            },
            "labels": scene.labels,
            "box": scene.box,
            "settings": {name: getattr(scene.param, name) for name in SETTINGS},
            "uses": scene.param.kernel_type.uses,
            "command": self.command(),
            "can": {"undo": bool(self._past), "redo": bool(self._future)},
            "shape": values.shape,
            "model": self._of_model(marks),
            "error": follower.error,
            "note": note,
        }
        return head, values

    def _of_model(self, marks: Mapping[int, int]) -> dict[str, Any] | None:
        """Description of the model; None without one."""
        model, follower = self.follower.model, self.follower
        if model is None:
            return None
        objective = follower.objective
        told = {
            "way": follower.way,
            "classes": model.class_labels,
            "n_sv": model.n_sv,
            "n_bound": sum(mark == 2 for mark in marks.values()),
            "tube": tube_of(model),
            "score": score_of(model, self.scene.rows) if self.scene.rows else None,
            "objective": objective if math.isfinite(objective) else None,
            "breakpoints": follower.breakpoints,
            "seconds": follower.seconds,
        }
        if follower.way == "file":
            told["tube"] = None  # not in a model file
            if not model.param.svm_type.is_regression:
                told["vectors"] = plane_of(model.vectors, "support vectors").tolist()
        return told


ACTIONS: dict[str, Callable[..., Scene]] = {
    "add": Session._add,
    "move": Session._move,
    "label": Session._label,
    "remove": Session._remove,
    "clear": Session._clear,
    "set": Session._set,
    "example": Session._example,
}


@contextmanager
def naming(change: str) -> Iterator[None]:
    """Turn wrong or missing fields of a change into a DataError that names it."""
    try:
        yield
    except TypeError as error:
        raise DataError(f"the change {change!r} has not the fields that it needs: {error}") from None


def subjects_of(changes: Sequence[Mapping[str, Any]]) -> frozenset[object]:
    """The subjects of changes: for each its kind, its row, and the names of its settings."""
    return frozenset((each["do"], each.get("row"), *sorted(each)) for each in changes)


def found(scene: Scene, row: int) -> Row:
    """The row with this key. Raises DataError."""
    if type(row) is not int or row not in scene.rows:
        raise DataError(f"there is no row {row!r}")
    return scene.rows[row]


def checked_row(scene: Scene, x: float, y: float, label: int) -> Row:
    """Raises DataError for an invalid row."""
    for name, value in (("x", x), ("y", y)):
        if type(value) not in (int, float) or not abs(value) <= LARGEST:
            raise DataError(f"{name} must be a number between -{LARGEST:g} and {LARGEST:g}, not {value!r}")
    if type(label) is not int or label not in scene.labels:
        raise DataError(f"the class must be one of {', '.join(map(str, scene.labels))}, not {label!r}")
    return Row(float(x), float(y), label)


def box_of(x: FloatArray, y: FloatArray) -> Box:
    """A rectangle around rows, with a margin; the default one if they all lie in it and fill a part of it."""
    low, high = np.array([x.min(), y.min()]), np.array([x.max(), y.max()])
    if abs(np.concatenate([low, high])).max() <= 1 and (high - low).max() >= 1:
        return UNIT_BOX
    size = np.maximum(1, np.maximum(abs(low), abs(high)))
    room = ROOM * np.where(high - low > NARROW * size, high - low, size)
    (x0, y0), (x1, y1) = (low - room).tolist(), (high + room).tolist()
    return x0, x1, y0, y1


def saved_model(scene: Scene) -> bytes:
    """The model file of the command, byte for byte, by a training. Raises DataError."""
    if not scene.rows:
        raise DataError("there are no rows to train on")
    return model_text(trained(scene.rows, changed(scene.param, {"time_limit": 0.0}), Observer()))
