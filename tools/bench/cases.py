"""What is trained, as data: a set, what is done to it before, and who trains on it."""

from dataclasses import dataclass, field, replace

QUICK_ROWS = 200


@dataclass(frozen=True)
class Way:
    """Who trains, and how."""

    name: str
    peer: str = "svmx"  # module of tools.bench.peers
    settings: dict = field(default_factory=dict)  # keywords of its Training
    threads: int = 1  # 0 for all


@dataclass(frozen=True)
class Case:
    """One training, or what takes its place in a job."""

    name: str
    data: str  # file name of the set, without .xz, or a name in generated.SETS
    options: str = ""  # svm-train's grammar
    rows: int = 0  # only the first so many, 0 for all
    every: int = 1  # only each so-many-th row, before that
    parity: bool = False  # targets become +1 for even labels, -1 for odd ones
    factor: float = 1.0  # every value is multiplied by it
    standard: bool = False  # columns are moved and scaled to mean 0 and deviation 1
    part: str = ""  # of the job
    ways: tuple = ()  # of Way, where a case has its own
    folds: int = 0  # of a cross-validation
    paper_sv: str = ""  # support vectors that a paper found
    note: str = ""

    def title(self):
        changes = {
            f", first {self.rows} rows": self.rows,
            ", labels even/odd": self.parity,
            f", values times {self.factor:g}": self.factor != 1,
            f", {self.options}": self.options,
            f"; {self.note}": self.note,
        }
        return f"{self.name}: {self.data}" + "".join(text for text, applies in changes.items() if applies)

    def quick(self):
        """The case in seconds."""
        return replace(self, rows=min(self.rows or QUICK_ROWS, QUICK_ROWS))
