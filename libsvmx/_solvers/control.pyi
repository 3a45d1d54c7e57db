from collections.abc import Callable

from libsvmx.enums import SolveStatus

MARKS: tuple[str, ...]

class Control:
    eps: float
    shrinking: bool
    max_iter: int
    time_limit: float
    stopped: SolveStatus | None
    def __init__(
        self,
        eps: float,
        shrinking: bool = True,
        max_iter: int = 0,
        time_limit: float = 0.0,
        on_progress: Callable[[str], object] | None = None,
        should_stop: Callable[[], bool] | None = None,
        deadline: float = 0.0,
        on_gap: Callable[[float], object] | None = None,
    ) -> None: ...
    def part(self, eps: float, max_iter: int, on_progress: Callable[[str], object] | None = None) -> Control: ...
    def tell(self, mark: str) -> None: ...
    def look(self) -> SolveStatus | None: ...
    def ask(self, amount: int) -> None: ...
    def note(self, amount: int) -> None: ...
    def abandon(self) -> None: ...
    def read_out(self) -> None: ...

class End:
    status: SolveStatus | None
    def come(self, status: SolveStatus) -> None: ...

class ThreadControl(Control):
    def of(self, end: End) -> ThreadControl: ...
