"""svmx-subset: a part of a data set, drawn at random as subset.py does; lines are copied unchanged."""

from __future__ import annotations

import io
from dataclasses import dataclass
from math import ceil, isfinite
from random import Random

from libsvmx.cli.ending import tidy_end
from libsvmx.cli.options import UsageError, check_outputs, integer, keep_apart, parse, setter
from libsvmx.cli.process import bytes_read, entry_of, phase, tell, warn, watch
from libsvmx.cli.scale import write_output
from libsvmx.exceptions import FormatError, ParameterError
from libsvmx.io.files import STANDARD_OUTPUT, name_of_input, read_bytes
from libsvmx.io.outputs import write_files

USAGE = """\
usage: svmx-subset [options] dataset subset_size [output1] [output2]

Draws subset_size lines of a data file (plain, .gz, .xz, .bz2, or - for standard input) at random and
writes them, in their order, to output1 or standard output, and the rest to output2 (- is standard
output, too).

options, subset.py's:
  -s 0|1    0 stratified: every class keeps its share, and has at least one line (default); 1 plain

more:
  --random-state N  draw the same lines every time
  --lenient         leave out blank lines and comment lines instead of refusing them
  --report FILE     write a report of results and times, as JSON
  --help, --version
"""

TOO_FEW = (
    "not every class can have a line in the subset: the data may be of regression, or a class is too rare; use -s 1"
)


@dataclass
class Job:
    """The command line."""

    stratified: bool = True
    random_state: int | None = None
    lenient: bool = False

    def set_method(self, option: str, text: str) -> None:
        if text not in ("0", "1"):
            raise UsageError(f"option {option}: unknown method {text!r}; 0 is stratified, 1 plain")
        self.stratified = text == "0"


def main(argv: list[str]) -> int:
    """The command, given its arguments; returns its exit code."""
    job = Job()
    names = {"--random-state": setter(vars(job), "random_state", integer)}
    switches = {"--lenient": lambda: setattr(job, "lenient", True)}
    files = parse(argv, {"s": job.set_method}, {}, names, switches, USAGE, "svmx-subset")
    if not 2 <= len(files) <= 4:
        raise UsageError("a data set and a subset size, then at most two output files, are needed" if argv else "")
    path, targets = files[0], files[2:]
    size = integer("subset_size", files[1])
    check_outputs(targets)
    for target in targets:
        keep_apart([path], target, "output")
    watch(False, *(targets or [STANDARD_OUTPUT]))
    name = name_of_input(path)
    with phase("reading", path):
        lines = data_lines(path, name, job.lenient)
    least = 1 if job.stratified else 0
    if not least <= size <= len(lines):
        raise ParameterError(
            f"subset_size {size} is not between {least} and {len(lines)}, the number of lines of {name}"
        )
    random = Random(job.random_state)
    chosen = stratified(lines, size, random, name) if job.stratified else random.sample(range(len(lines)), size)
    with phase("writing"):
        write_parts(lines, set(chosen), targets)
    tell("subset", len(lines), size, job.stratified)
    return 0


def data_lines(path: str, name: str, lenient: bool) -> list[bytes]:
    """Lines with their ends, without blank lines at the end.

    Raises FormatError for lone \\r, and, unless ``lenient``, for other blank lines and comment lines, which are else
    left out.
    """
    lines = io.BytesIO(read_bytes(path, bytes_read())).readlines()
    for number, line in enumerate(lines, 1):
        if (column := line.rstrip(b"\r\n").find(b"\r")) >= 0:
            raise FormatError(name, number, column + 1, "carriage return inside the line")
    if lenient:
        return [line for line in lines if line.strip() and not is_comment(line)]
    n = len(lines)
    while n and not lines[n - 1].strip():
        n -= 1
    if n < len(lines):
        warn(f"{name}:{n + 1}: blank line at the end of the file is ignored")
    for number, line in enumerate(lines[:n], 1):
        if not line.strip():
            raise FormatError(name, number, 0, "blank line (--lenient leaves such lines out)")
        if is_comment(line):
            raise FormatError(name, number, 0, "line without data, only a comment (--lenient leaves such lines out)")
    return lines[:n]


def is_comment(line: bytes) -> bool:
    """Whether a line has only a comment."""
    return line.lstrip().startswith(b"#")


def stratified(lines: list[bytes], size: int, random: Random, name: str) -> list[int]:
    """Numbers of lines, from each class in proportion, rounded up, from the rarest class on.

    Raises FormatError if no lines are left for a class.
    """
    classes: dict[float | bytes, list[int]] = {}
    for i, line in enumerate(lines):
        classes.setdefault(label_of(line), []).append(i)
    chosen: list[int] = []
    for members in sorted(classes.values(), key=len):
        n = min(size - len(chosen), max(1, ceil(len(members) * (size / len(lines)))))
        if n == 0:
            raise FormatError(name, 0, 0, TOO_FEW)
        chosen += [members[i] for i in random.sample(range(len(members)), n)]
    return chosen


def label_of(line: bytes) -> float | bytes:
    """The label, as a number if it is one, so that +1 and 1 are one class."""
    text = line.split(None, 1)[0]
    try:
        label = float(text)
    except ValueError:
        return text
    return label if isfinite(label) else text  # nan differs from itself


def write_parts(lines: list[bytes], chosen: set[int], targets: list[str]) -> None:
    """Write the subset to the first target or standard output, the rest to the second if there is one."""
    parts = [b"".join(line for i, line in enumerate(lines) if (i in chosen) is wanted) for wanted in (True, False)]
    if not targets:
        write_output(parts[0])
        return
    with tidy_end():
        write_files(list(zip(targets, parts, strict=False)))


entry = entry_of("svmx-subset", main, USAGE)
