"""What is trained, as data: a set, its preprocessing, and the solvers."""

from dataclasses import dataclass, field, replace

QUICK_ROWS = 200


@dataclass(frozen=True)
class Way:
    """A solver and its settings."""

    name: str
    peer: str = "svmx"  # module of tools.bench.peers
    settings: dict = field(default_factory=dict)  # keyword arguments of its Training
    threads: int = 1  # 0 for all


@dataclass(frozen=True)
class Case:
    """One training, or the unit of work of another job."""

    name: str
    data: str  # file name of the set, without .xz, or a name in generated.SETS
    options: str = ""  # svm-train's grammar
    rows: int = 0  # only the first n, 0 for all
    every: int = 1  # only every n-th row, before that
    parity: bool = False  # targets become +1 for even labels, -1 for odd labels
    factor: float = 1.0  # multiplies every value
    standard: bool = False  # columns are standardized to mean 0 and deviation 1
    part: str = ""  # of the job
    ways: tuple = ()  # of Way, if the case has its own
    folds: int = 0  # of a cross-validation
    paper_sv: str = ""  # support vectors reported in a paper
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
        """The same case, cut so that it takes seconds."""
        return replace(self, rows=min(self.rows or QUICK_ROWS, QUICK_ROWS))
