from collections.abc import Callable
from typing import Any

from libsvmx._core.stopping import Token
from libsvmx._solvers.control import Control
from libsvmx._typing import Buffer

class Selection:
    rule: int
    kept: float
    def __init__(self, n: int, rule: str, kept: float, seed: int) -> None: ...

class Subproblem:
    room: int
    size: int
    groups: int
    steps: int
    subproblems: int
    fallbacks: int
    in_double: bool
    def __init__(
        self,
        room: int,
        groups: int,
        leaf: int = 0,
        engine: Callable[[Subproblem, float, int], Any] | None = None,
        selection: tuple[str, float, int] = ("random", 0.0, 1),
        control: Control | None = None,
    ) -> None: ...
    def views(self) -> tuple[Buffer, Buffer, Buffer, Buffer, Buffer, Buffer]: ...
    def sweep(self, eps: float, limit: int) -> int: ...
    def count(self, steps: int) -> None: ...
    def prepare(self, places: Buffer) -> None: ...
    def lower_triangle(self, places: Buffer, out: Buffer) -> None: ...
    def replace(self, beta: Buffer, V: Buffer) -> None: ...
    def n_free(self) -> int: ...
    def told_to_stop(self) -> bool: ...
    @property
    def asking(self) -> Token: ...
    def kkt_gap(self) -> float: ...
