"""What the report of a command says that it did: ``result`` in the file, see docs/terminal.md.

Each function makes a part of it from what the command has at hand; lists go on from call to call. ``status`` among what
it returns is that of the command, ``top`` stands beside ``result``.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any

from libsvmx._core.records import fields
from libsvmx._train.metrics import Scores, mean, scores_of_repeats
from libsvmx._train.parameter import Parameter, flat_fields
from libsvmx.enums import SolveStatus

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from libsvmx._train.model import Model
    from libsvmx._train.updating.state import State
    from libsvmx._train.validation.cross_validation import CrossValidated
    from libsvmx._train.validation.grid_search import Search
    from libsvmx._train.validation.leave_one_out import LeftOneOut
    from libsvmx._typing import Buffer
    from libsvmx.cli.batch import Command
    from libsvmx.io.svmlight import DataFile
    from libsvmx.toy.session import Session

# Possible parts of each command's report.
PARTS = {
    "svmx-train": ("data", "training", "validation", "explanation"),
    "svmx-predict": ("prediction",),
    "svmx-scale": ("data", "scaling"),
    "svmx-grid": ("data", "search"),
    "svmx-easy": ("data", "search", "training", "prediction"),
    "svmx-subset": ("subset",),
    "svmx-checkdata": ("check",),
    "svmx-update": ("data", "changes", "update"),
    "svmx-compress": ("compression",),
    "svmx-export": ("export",),
    "svmx-batch": ("commands",),
    "svmx-toy": ("page",),
}
# Statuses of solves that become the status of the command.
EARLY = (SolveStatus.INTERRUPTED, SolveStatus.TIME_LIMIT)


def data(file: DataFile) -> dict[str, Any]:
    """Data read."""
    matrix = file.matrix
    return {"data": [{"file": file.path, "rows": matrix.n_rows, "features": matrix.max_index, "values": matrix.nnz}]}


def training(model: Model) -> dict[str, Any]:
    """The solves of a model, one for each pair of classes, or a single one."""
    labels = model.class_labels
    pairs: Iterable[Any] = [None] if labels is None else combinations(labels, 2)
    solves = [{"classes": pair, **plain(report)} for pair, report in zip(pairs, model.reports, strict=False)]
    early = [status for status in EARLY if status in model.statuses]
    return {
        "training": {
            "parameters": flat_fields(model.param),
            "classes": labels,
            "n_sv": model.n_sv,
            "converged": all(status == SolveStatus.CONVERGED for status in model.statuses),
            "solves": solves,
        },
        **({"status": str(early[0])} if early else {}),
    }


def validation(found: CrossValidated | LeftOneOut, param: Parameter, targets: Buffer) -> dict[str, Any]:
    """A cross-validation with its folds, repeat by repeat, or leave-one-out."""
    regression = param.svm_type.is_regression
    by_repeat = [
        of_scores(scores, regression) for scores in scores_of_repeats(found.predicted, targets, param.quantile)
    ]
    own: dict[str, Any] = {"parameters": flat_fields(param)}
    own |= {name: mean([figures[name] for figures in by_repeat]) for name in by_repeat[0]}
    if hasattr(found, "retrained"):
        own |= {"folds": len(targets), "retrained": len(found.retrained), "full": of_dataclass(found.full)}
        return {"validation": own}
    rows_of: list[list[int]] = [[] for _ in found.folds]
    for at, fold in enumerate(found.fold_of):
        rows_of[fold].append(at)
    own["seeder"], own["scheme"], own["repeats"] = found.seeding.seeder, found.seeding.scheme, by_repeat
    own["folds"] = [
        {
            "rows": len(rows),
            **rates([found.predicted[at] for at in rows], [targets[at % len(targets)] for at in rows], param),
            **of_dataclass(fold),
        }
        for rows, fold in zip(rows_of, found.folds, strict=True)
    ]
    return {"validation": own}


def prediction(path: str, model_file: str, scores: Scores, rows: int, regression: bool) -> dict[str, Any]:
    """A prediction of ``rows`` rows; scores are over those with labels."""
    return {
        "prediction": {
            "file": path,
            "model_file": model_file,
            "rows": rows,
            "correct": None if regression or not scores.total else scores.correct,
            **(of_scores(scores, regression) if scores.total else {}),
        }
    }


def scaling(file: DataFile, n_features: int, n_written: int) -> dict[str, Any]:
    """Scaled data: number of features that vary, and of values written."""
    return {**data(file), "scaling": {"features": n_features, "values": n_written}}


def search(found: Search, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The points of a grid, and the best of them."""
    best = next(row for row, point in zip(rows, found.points, strict=True) if point is found.best)
    return {
        "search": {
            "folds": found.plan.n_folds,
            "seeder": found.plan.seeding.seeder,
            "parameters": flat_fields(found.plan.param),
            "best": best,
            "points": rows,
        }
    }


def page(session: Session) -> dict[str, Any]:
    """The page of svmx-toy at its end."""
    model = session.follower.model
    return {"page": {"rows": len(session.scene.rows), "n_sv": model.n_sv if model else 0, "command": session.command()}}


def subset(rows: int, chosen: int, stratified: bool) -> dict[str, Any]:
    """Lines drawn."""
    return {"subset": {"rows": rows, "chosen": chosen, "stratified": stratified}}


def checked(lines: int, wrong: int) -> dict[str, Any]:
    """Lines checked, and lines with an error."""
    return {"check": {"lines": lines, "lines_with_errors": wrong}}


def change(what: str, state: State) -> dict[str, Any]:
    """One change of a state, as in a line of svmx-update."""
    return {"changes": [{"change": what, "rows": len(state), **of_dataclass(state.report)}]}


def update(state: State, scores: Scores | None) -> dict[str, Any]:
    """The final state, predictions of a stream, and the certificate of the last change."""
    own: dict[str, Any] = {"rows": len(state), "n_sv": state.model.n_sv}
    if scores is not None:
        own["predicted"] = {"rows": scores.total, **of_scores(scores, state.param.svm_type.is_regression)}
    return {"update": own, "top": state.certificate()}


def compression(before: int, after: int, bound: float) -> dict[str, Any]:
    """Support vectors before and after, and the bound on the change of a decision value."""
    return {"compression": {"n_sv_before": before, "n_sv": after, "bound": bound}}


def exported(model: Model, path: str, format: str, dtype: str) -> dict[str, Any]:
    """A model in another format."""
    return {"export": {"file": path, "format": format, "dtype": dtype, "n_sv": model.n_sv}}


def explanation(plan: Mapping[str, Any]) -> dict[str, Any]:
    """The plan of svmx-train --explain."""
    return {"explanation": plan}


def commands(run: Iterable[Command]) -> dict[str, Any]:
    """The commands of a batch; ``exit_code`` is null if not begun."""
    found = [{"line": c.line, "command": c.words, "exit_code": c.exit_code, "seconds": c.seconds} for c in run]
    return {"commands": found}


def failure(what: str) -> dict[str, Any]:
    """A bug of libsvmx."""
    return {"status": "error", "error": what}


# ---- parts ---------------------------------------------------------------------------------------


def plain(report: Any) -> dict[str, Any]:
    """The fields of a record."""
    return {f.name: getattr(report, f.name) for f in fields(report)}


def of_dataclass(report: Any) -> dict[str, Any]:
    """The fields of a dataclass."""
    from dataclasses import asdict

    return asdict(report)


def rates(predicted: Iterable[float], targets: Iterable[float], param: Parameter) -> dict[str, float]:
    """Scores of predictions, accuracy in percent."""
    scores = Scores(param.quantile)
    scores.add(predicted, targets)
    return of_scores(scores, param.svm_type.is_regression)


def of_scores(scores: Scores, regression: bool) -> dict[str, float]:
    """Scores by name, accuracy in percent."""
    if not regression:
        return {"accuracy": scores.accuracy}
    found = {"mean_squared_error": scores.mean_squared_error, "squared_correlation": scores.squared_correlation}
    return found if scores.tau is None else {**found, "pinball_loss": scores.pinball_loss}
