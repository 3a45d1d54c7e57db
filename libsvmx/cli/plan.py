"""The text of svmx-train --explain."""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING

from libsvmx._core.memory import MEGABYTE
from libsvmx._train.gamma import shown_gammas
from libsvmx._train.option_words import option_words
from libsvmx.cli.process import printable
from libsvmx.cli.solveroptions import wrapped
from libsvmx.enums import KernelType

if TYPE_CHECKING:
    from libsvmx._train.advice import TrainingPlan

MOST_CLASSES = 10
INDENT, WIDTH = 10, 100
PLAIN = "".join(c for c in map(chr, range(0x20, 0x7F)) if c not in "\\'")  # in $'…'


def text_of_plan(plan: TrainingPlan, training_file: str, more: list[str], outputs: list[str]) -> str:
    """The whole text. ``more``: options that are no parameters; ``outputs``: files that the training would write."""
    name = printable(training_file, "")
    lines = [("data", f"{name}: {plan.rows} rows, {plan.features} features, {plan.density:.1%} not 0")]
    if plan.classes:
        shown = ", ".join(f"{label:.0f}: {rows} rows" for label, rows in plan.classes[:MOST_CLASSES])
        lines.append(("classes", f"{shown}{', …' if len(plan.classes) > MOST_CLASSES else ''}"))
    if plan.targets:
        lines.append(("targets", f"{plan.targets[0]:g} to {plan.targets[1]:g}"))
    lines += [("kernel", kernel(plan)), ("solver", f"{plan.solver}: {plan.reason}"), ("memory", memory(plan))]
    text = "".join(entry(name, wrapped(text, WIDTH - INDENT)) for name, text in lines)
    for one in plan.warnings:
        remedy = one.remedy[0].upper() + one.remedy[1:]
        helps = [scaling(training_file)] if one.kind == "scale" else []
        said = f"{one.text}. {remedy}{':' if helps else ''}"
        text += entry("warning", [*wrapped(said, WIDTH - INDENT), *helps])
    return text + entry("would run", [command(plan, training_file, more, outputs)])


def entry(name: str, lines: list[str]) -> str:
    """A name with lines beside it. A command is one line, however long, so that it can be copied."""
    return "".join(f"{name if k == 0 else '':{INDENT}}{line}\n" for k, line in enumerate(lines))


def kernel(plan: TrainingPlan) -> str:
    """The kernel with its parameters, and the range of gamma by the distances of the rows."""
    param = plan.param
    shown = {name: f"{getattr(param, name):g}" for name in param.kernel_type.uses}
    if param.gammas:
        shown["gamma"] = shown_gammas(param.gammas)
    used = ", ".join(f"{name} = {value}" for name, value in shown.items())
    text = f"{param.kernel_type.keyword}{f', {used}' if used else ''}"
    if plan.gamma_range and not param.gammas and param.kernel_type == KernelType.RBF:
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
    """``12 kB``, ``3.4 MB``, ``12 GB``; units of 2^10, 2^20 and 2^30 bytes."""
    for unit, name in ((1024 * MEGABYTE, "GB"), (MEGABYTE, "MB")):
        if n_bytes >= unit:
            return f"{n_bytes / unit:.3g} {name}"
    return f"{n_bytes / 1024:.3g} kB"


def scaling(training_file: str) -> str:
    """The command line that scales a file."""
    name = os.path.basename(training_file)
    ranges, source, target = map(quoted, (f"{name}.range", training_file, f"{name}.scale"))
    return f"svmx-scale -s {ranges} {source} > {target}"


def command(plan: TrainingPlan, training_file: str, more: list[str], outputs: list[str]) -> str:
    """The command line of the training, with defaults spelled out."""
    return " ".join(map(quoted, ["svmx-train", *option_words(plan.param), *more, training_file, *outputs]))


def quoted(word: str) -> str:
    """A word quoted for a shell; control characters and bytes that are not text as escapes of bash, zsh and ksh."""
    if word.isprintable():
        return shlex.quote(word)
    codes = (chr(byte) if chr(byte) in PLAIN else f"\\x{byte:02x}" for byte in os.fsencode(word))
    return f"$'{''.join(codes)}'"
