"""What svmx-train --explain prints."""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING

from libsvmx._core.memory import MEGABYTE
from libsvmx._train.option_words import option_words
from libsvmx.cli.solveroptions import wrapped
from libsvmx.enums import KernelType

if TYPE_CHECKING:
    from libsvmx._train.advice import Advice, TrainingPlan

MOST_CLASSES = 10
INDENT, WIDTH = 10, 100


def text_of_plan(plan: TrainingPlan, training_file: str, more: list[str], outputs: list[str]) -> str:
    """All of it. ``more``: options of the command that are no parameters; ``outputs``: what it writes."""
    lines = [("data", f"{training_file}: {plan.rows} rows, {plan.features} features, {plan.density:.1%} not 0")]
    if plan.classes:
        shown = ", ".join(f"{label:g}: {rows} rows" for label, rows in plan.classes[:MOST_CLASSES])
        lines.append(("classes", f"{shown}{', …' if len(plan.classes) > MOST_CLASSES else ''}"))
    if plan.targets:
        lines.append(("targets", f"{plan.targets[0]:g} to {plan.targets[1]:g}"))
    lines += [("kernel", kernel(plan)), ("solver", f"{plan.solver}: {plan.reason}"), ("memory", memory(plan))]
    lines += [("warning", f"{one.text}. {remedy(one, training_file)}") for one in plan.warnings]
    lines.append(("would run", command(plan, training_file, more, outputs)))
    return "".join(entry(name, text) for name, text in lines)


def entry(name: str, text: str) -> str:
    """A name, and what is said of it beside it."""
    first, *rest = wrapped(text, WIDTH - INDENT)
    return "".join(f"{line}\n" for line in [f"{name.ljust(INDENT)}{first}", *(f"{'':{INDENT}}{line}" for line in rest)])


def kernel(plan: TrainingPlan) -> str:
    """The kernel with its parameters, and what the distances of the rows say of gamma."""
    param = plan.param
    used = ", ".join(f"{name} = {getattr(param, name):g}" for name in param.kernel_type.uses)
    text = f"{param.kernel_type.keyword}{f', {used}' if used else ''}"
    if plan.gamma_range and param.kernel_type == KernelType.RBF:
        least, greatest = plan.gamma_range
        text += f"; 1 / squared distances of rows: {plan.median_gamma:.2g} in the middle, {least:.2g} to {greatest:.2g}"
    return text


def memory(plan: TrainingPlan) -> str:
    """Bytes of the data and of kernel rows."""
    problems = f"{plan.problems} problems, the largest of {plan.largest} rows" if plan.problems > 1 else "1 problem"
    kept = "all" if plan.kept_rows == plan.largest else f"{plan.kept_rows}"
    return (
        f"data {size(plan.data_bytes)}; {problems}, whose kernel rows take {size(plan.kernel_bytes)}: "
        f"-m {plan.param.cache_size:g} holds {kept} of them"
    )


def size(n_bytes: float) -> str:
    """``12 kB``, ``3.4 MB``, ``12 GB``, of 2^10, 2^20 and 2^30 bytes"""
    for unit, name in ((1024 * MEGABYTE, "GB"), (MEGABYTE, "MB")):
        if n_bytes >= unit:
            return f"{n_bytes / unit:.3g} {name}"
    return f"{n_bytes / 1024:.3g} kB"


def remedy(advice: Advice, training_file: str) -> str:
    """What to do, with the command where one does it."""
    text = advice.remedy[0].upper() + advice.remedy[1:]
    if advice.kind == "scale":
        name = os.path.basename(training_file)
        parts = (f"{name}.range", training_file, f"{name}.scale")
        ranges, source, target = (shlex.quote(part) for part in parts)
        return f"{text}: svmx-scale -s {ranges} {source} > {target}"
    return text


def command(plan: TrainingPlan, training_file: str, more: list[str], outputs: list[str]) -> str:
    """The command line that trains, with what was left to defaults."""
    return shlex.join(["svmx-train", *option_words(plan.param), *more, training_file, *outputs])
