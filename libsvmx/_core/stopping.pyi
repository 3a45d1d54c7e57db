from collections.abc import Callable, Iterator

from libsvmx.enums import SolveStatus
from libsvmx.exceptions import Stopped as Stopped

FLOPS: int
TOUCHED: int
PIECE: int

class Token:
    deadline: float
    parent: Token | None
    steps: bool
    stopped: SolveStatus | None
    urgent: bool
    def __init__(
        self,
        seconds: float = 0.0,
        should_stop: Callable[[], bool] | None = None,
        deadline: float = 0.0,
        parent: Token | None = None,
        steps: bool = True,
    ) -> None: ...
    def stop(self, status: SolveStatus) -> None: ...
    def abandon(self) -> None: ...
    def look(self) -> SolveStatus | None: ...
    def interrupted(self) -> bool: ...
    def ask(self, amount: int) -> None: ...
    def note(self, amount: int) -> None: ...

class Leeway(Token):
    token: Token
    left: float | None
    def __init__(self, token: Token, left: float | None = ...) -> None: ...

NOBODY: Leeway

def pieces(begin: int, end: int, flops: int, most: int = ...) -> Iterator[tuple[int, int]]: ...

MARKS: tuple[str, ...]

class Control(Token):
    eps: float
    shrinking: bool
    max_iter: int
    by_r: bool
    def __init__(
        self,
        eps: float,
        shrinking: bool = True,
        max_iter: int = 0,
        time_limit: float = 0.0,
        on_progress: Callable[[str], object] | None = None,
        should_stop: Callable[[], bool] | None = None,
        on_gap: Callable[[float], object] | None = None,
        parent: Token | None = None,
    ) -> None: ...
    def part(self, eps: float, max_iter: int, on_progress: Callable[[str], object] | None = None) -> Control: ...
    def tell(self, mark: str) -> None: ...
    def read_out(self) -> None: ...

class ThreadControl(Control):
    def of(self, end: Token) -> ThreadControl: ...
