from collections.abc import Callable

from libsvmx._core.stopping import Token

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
