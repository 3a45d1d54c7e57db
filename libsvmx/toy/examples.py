"""Example rows, drawn at random in the box from -1 to 1."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from libsvmx._typing import FloatArray
from libsvmx.toy.rows import Row

Drawn = tuple[FloatArray, FloatArray, Any]  # x, y, number of the class from 0

ROWS = 200
EDGE = 0.98  # rows stay inside the box
DIGITS = 3  # files stay readable


def moons(r: np.random.Generator) -> Drawn:
    """Two interlocking half circles."""
    kind = np.arange(ROWS) % 2
    turn = np.pi * r.random(ROWS)
    x = np.where(kind == 0, np.cos(turn), 1 - np.cos(turn))
    y = np.where(kind == 0, np.sin(turn), 0.5 - np.sin(turn))
    noise = r.normal(scale=0.055, size=(2, ROWS))
    return 0.56 * (x - 0.5) + noise[0], 0.75 * (y - 0.25) + noise[1], kind


def circles(r: np.random.Generator) -> Drawn:
    """A disc, and a ring around it."""
    kind = np.arange(ROWS) % 2
    turn, radius = 2 * np.pi * r.random(ROWS), np.where(kind == 0, 0.3, 0.72) + r.normal(scale=0.08, size=ROWS)
    return radius * np.cos(turn), radius * np.sin(turn), kind


def xor(r: np.random.Generator) -> Drawn:
    """Four squares, with opposite ones in the same class."""
    x, y = r.uniform(-0.85, 0.85, size=(2, ROWS))
    return x + 0.06 * np.sign(x), y + 0.06 * np.sign(y), ((x > 0) != (y > 0)).astype(np.int64)


def blobs(r: np.random.Generator) -> Drawn:
    """Three clusters, a class each."""
    kind = np.arange(ROWS) % 3
    centres = np.array([[-0.5, -0.35], [0.5, -0.35], [0.0, 0.5]])[kind]
    x, y = centres.T + r.normal(scale=0.2, size=(2, ROWS))
    return x, y, kind


def sine(r: np.random.Generator) -> Drawn:
    """A wave with noise, for regression."""
    x = np.sort(r.uniform(-0.95, 0.95, size=ROWS))
    return x, 0.55 * np.sin(4.5 * x) + 0.2 * x + r.normal(scale=0.1, size=ROWS), np.zeros(ROWS)


EXAMPLES: dict[str, Callable[[np.random.Generator], Drawn]] = {
    "moons": moons,
    "circles": circles,
    "xor": xor,
    "blobs": blobs,
    "sine": sine,
}
OF_REGRESSION = ("sine",)


def drawn(name: str, seed: int) -> list[Row]:
    """Rows of an example, with classes 1, 2, …"""
    x, y, kind = EXAMPLES[name](np.random.default_rng(seed))
    places = np.clip(np.round([x, y], DIGITS), -EDGE, EDGE)
    return [Row(a, b, int(k) + 1) for a, b, k in zip(*places.tolist(), kind, strict=True)]
