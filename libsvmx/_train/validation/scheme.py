"""What can be asked of the rounds of a cross-validation."""

from __future__ import annotations

from dataclasses import dataclass, replace

from libsvmx.exceptions import ParameterError

METHODS = ("none", "auto", "sir", "mir", "ato", "avg", "top", "near", "path")
SCHEMES = ("chain", "star")
# AVG and TOP were made for leave-one-out, which starts from the whole problem, and so is NEAR; the paper's are a chain
USUAL_SCHEME = {
    "sir": "chain",
    "mir": "chain",
    "ato": "chain",
    "avg": "star",
    "top": "star",
    "near": "star",
    "path": "star",
}

# What auto is: the fastest on the sets of the benchmark.
AUTO = {"chain": "sir", "star": "near"}
# With so many folds the training over all rows, of which each fold changes little, pays for a star.
STAR_FROM = 5


@dataclass(frozen=True, slots=True)
class Seeding:
    """How rounds start: a method and a scheme.

    Attributes
    ----------
    method : str         of METHODS; 'none' is LIBSVM's own path from nothing; 'path' takes the rows held out away from
        the optimum over all rows along the exact path, where others hand on their coefficients and solve
    scheme : str         'chain': from the round before; 'star': from the optimum over all rows; '' for the usual one
    """

    method: str = "none"
    scheme: str = ""

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise ParameterError(f"unknown seeding method {self.method!r}: choose one of {', '.join(METHODS)}")
        if self.method == "path" and self.scheme == "chain":
            raise ParameterError("seeding by path starts from the training over all rows: choose star")
        if self.scheme and self.scheme not in SCHEMES:
            raise ParameterError(f"unknown seeding scheme {self.scheme!r}: choose chain or star")

    def usual(self, n_folds: int) -> Seeding:
        """With the scheme filled in, and for 'auto' with few folds a chain: a star has one training more."""
        if self.scheme:
            return self
        if self.method == "auto":
            return replace(self, scheme="chain" if n_folds < STAR_FROM else "star")
        return replace(self, scheme=USUAL_SCHEME.get(self.method, "chain"))
