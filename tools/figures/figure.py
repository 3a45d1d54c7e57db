"""A figure: its numbers, its drawing, and how they are saved and compared."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools.figures import style

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "figures"


@dataclass(frozen=True)
class Figure:
    """A figure of docs/.

    Attributes
    ----------
    name : str                                file name without extension
    numbers : callable() -> dict, or None     numbers shown, as in the JSON; None: measured elsewhere
    draw : callable(dict) -> matplotlib.figure.Figure
    close : float                             allowed relative difference of numbers: libraries and processors differ
        in the last digits of linear algebra, and a solver that uses it may take other steps
    loose : tuple of str                      keys below which only the structure is compared
    """

    name: str
    numbers: Callable[[], dict[str, Any]] | None
    draw: Callable[[dict[str, Any]], Any]
    close: float = 1e-6
    loose: tuple[str, ...] = ()

    def saved(self, folder=FOLDER):
        """The saved numbers, or None."""
        path = folder / f"{self.name}.json"
        return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None

    def write(self, numbers, folder):
        """Numbers and picture; returns the path of the picture."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{self.name}.json").write_text(text_of(numbers), encoding="utf-8")
        return self.picture(numbers, folder / f"{self.name}.svg")

    def picture(self, numbers, path):
        """Draws into a file of any format that matplotlib writes; returns its path."""
        path.parent.mkdir(parents=True, exist_ok=True)
        with style.applied():
            style.save(self.draw(numbers), path)
        return path

    def differences(self, numbers, folder=FOLDER):
        """Lines about differences from the saved numbers; [] if there are none."""
        saved = self.saved(folder)
        if saved is None:
            return [f"{self.name}: there is no {self.name}.json"]
        today = json.loads(text_of(numbers))
        return [f"{self.name}: {line}" for line in unlike(saved, today, self.close, self.loose)]


def text_of(numbers):
    """JSON, one line per key."""
    lines = (f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}" for key, value in numbers.items())
    return "{\n" + ",\n".join(lines) + "\n}\n"


def unlike(a, b, close, loose=(), where=""):
    """Lines about differences between two JSON values; numbers may differ by ``close`` times the larger one."""
    if isinstance(a, dict) and isinstance(b, dict) and a.keys() == b.keys():
        for key in a:
            inner = float("inf") if key in loose else close
            yield from unlike(a[key], b[key], inner, loose, f"{where}.{key}".lstrip("."))
    elif isinstance(a, list) and isinstance(b, list) and (len(a) == len(b) or close == float("inf")):
        for k, (x, y) in enumerate(zip(a, b, strict=False)):
            yield from unlike(x, y, close, loose, f"{where}[{k}]")
    elif is_number(a) and is_number(b):
        if abs(a - b) > close * max(abs(a), abs(b)):
            yield f"{where}: {a} was written, {b} is found"
    elif a != b:
        yield f"{where}: {shortened(a)} was written, {shortened(b)} is found"


def is_number(value):
    return isinstance(value, int | float) and not isinstance(value, bool)


def shortened(value):
    text = json.dumps(value)
    return text if len(text) < 80 else f"{text[:60]}… of length {len(text)}"


def rounded(values, digits=6):
    """Numbers rounded to ``digits`` digits, in nested lists like the input."""
    if hasattr(values, "tolist"):
        values = values.tolist()
    if isinstance(values, list | tuple):
        return [rounded(value, digits) for value in values]
    return float(f"{values:.{digits}g}") if isinstance(values, float) else values
