"""How the chunked solver goes about it."""

from __future__ import annotations

from dataclasses import dataclass

from libsvmx.exceptions import ParameterError

ENGINES = ("smo", "irwls")
RULES = ("random", "mixed", "largest")
PRECISIONS = ("auto", "float", "double")


@dataclass(frozen=True, slots=True)
class Chunking:
    """Settings of libsvmx._solvers.decomposition.chunked.

    Attributes
    ----------
    engine : str          solves the working sets: 'smo', pair steps; 'irwls', iterated least squares
    working_set : int     variables of a working set; 0: as many as are free and half as many more, within memory
    rule : str            which they are: 'random' among the candidates (the paper's), 'largest' violation, or 'mixed',
        half each
    kept : float          share of the working set, below 1, that stays for the next round while it is a candidate
    seed : int            of the random choice
    precision : str       of kernel rows that move the scores: 'float', as LIBSVM has them; 'double'; or 'auto': double
        from where rounding may hide more than a share of eps

    Raises
    ------
    ParameterError
    """

    engine: str = "smo"
    working_set: int = 0
    rule: str = "random"
    kept: float = 0.0
    seed: int = 1
    precision: str = "auto"

    def __post_init__(self) -> None:
        for name, known in (("engine", ENGINES), ("rule", RULES), ("precision", PRECISIONS)):
            if getattr(self, name) not in known:
                raise ParameterError(f"unknown {name} {getattr(self, name)!r}: choose one of {', '.join(known)}")
        if self.working_set != 0 and not 2 <= self.working_set < 2**20:
            raise ParameterError(f"working_set must be 0 or between 2 and 2^20 - 1, not {self.working_set}")
        if not 0 <= self.kept < 1:
            raise ParameterError(f"kept must be >= 0 and < 1, not {self.kept}")
        if not 0 <= self.seed < 2**63:
            raise ParameterError(f"seed must be between 0 and 2^63 - 1, not {self.seed}")
