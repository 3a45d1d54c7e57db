from libsvmx._solvers.control import Control
from libsvmx._solvers.path.path_state import PathState

class Motion:
    state: PathState
    breakpoints: int
    steps: int
    exchanges: int
    repairs: int
    work: float
    def __init__(self, state: PathState) -> None: ...
    def begin(self, control: Control) -> None: ...
    @property
    def no_gap(self) -> float: ...
