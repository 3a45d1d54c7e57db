from libsvmx._typing import Buffer

LINE: int
MEMBER: int
SET: int
CROSSING: int

class Trace:
    keeps: bool
    squares: bool
    n_lines: int
    @property
    def n_bytes(self) -> float: ...
    def __init__(
        self, n_tags: int, keeps: bool = False, tests: Buffer | None = None, targets: Buffer | None = None
    ) -> None: ...
    def lines_of(self) -> Buffer: ...
    def members_of(self) -> Buffer: ...
    def sets_of(self) -> Buffer: ...
    def crossings_of(self) -> Buffer: ...
