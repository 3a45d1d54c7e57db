"""What can be asked of the rounds of a cross-validation."""

from __future__ import annotations

from dataclasses import dataclass, replace

from libsvmx.exceptions import ParameterError

METHODS = ("none", "auto", "sir", "mir", "ato", "avg", "top")
SCHEMES = ("chain", "star")
# AVG and TOP were made for leave-one-out, which starts from the whole problem; the paper's own are a chain
USUAL_SCHEME = {"sir": "chain", "mir": "chain", "ato": "chain", "avg": "star", "top": "star"}


@dataclass(frozen=True, slots=True)
class Seeding:
    """How rounds start: a method and a scheme.

    Attributes
    ----------
    method : str         of METHODS; 'none' is LIBSVM's own path from nothing
    scheme : str         'chain': from the round before; 'star': from the optimum over all rows; '' for the usual one
    """

    method: str = "none"
    scheme: str = ""

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise ParameterError(f"unknown seeding method {self.method!r}: choose one of {', '.join(METHODS)}")
        if self.scheme and self.scheme not in SCHEMES:
            raise ParameterError(f"unknown seeding scheme {self.scheme!r}: choose chain or star")

    @property
    def usual(self) -> Seeding:
        """With the scheme filled in."""
        return self if self.scheme else replace(self, scheme=USUAL_SCHEME.get(self.method, "star"))
