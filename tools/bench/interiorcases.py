"""What ``python -m tools.bench interior`` solves, as data: variants of the reduction, sets, ranks, targets.

Figures and tables are those of Jung, O'Leary & Tits, "Adaptive constraint reduction for training support vector
machines" (ETNA 31, 2008).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

QUICK_ROWS = 300
C1 = "-s 0 -t 0 -c 1"
TIGHT = 1e-7


@dataclass(frozen=True)
class Variant:
    """A reduction; ``upper``: the most patterns q_U as a share of all."""

    size: str = "adaptive"
    rule: str = "omega"
    balanced: bool = True
    upper: float = 1.0

    @property
    def family(self) -> str:
        """Its name without q_U."""
        if self.size == "none":
            return "unreduced"
        return f"{self.size}, {'balanced' if self.balanced else 'not balanced'}, {self.rule}"

    def settings(self) -> dict[str, Any]:
        """Of the solver; ``most_rows`` is a share here."""
        share = self.upper if self.upper < 1 or self.size == "fixed" else 0
        return {
            "reduction": self.size,
            "reduction_rule": self.rule,
            "balanced": self.balanced,
            "most_rows": share,
        }


UNREDUCED, USUAL = Variant("none"), Variant()
SHARES = (1.0, 0.5, 0.25, 0.125, 0.0625)
KINDS = (("adaptive", True), ("adaptive", False), ("fixed", True))
FAMILIES = tuple(Variant(size, rule, balanced) for size, balanced in KINDS for rule in ("omega", "distance"))


def over_shares(variants, shares=SHARES):
    """The variants with every q_U."""
    return tuple(Variant(v.size, v.rule, v.balanced, share) for v in variants for share in shares)


VARIANTS = (UNREDUCED, *over_shares(FAMILIES))
LOGGED = (UNREDUCED, *over_shares((USUAL,), SHARES[:4]))

# Table 5.1: patterns, inputs, features, support vectors and those on the boundary planes, of +1 and of -1; as far as
# the text of the paper is legible.
PAPER = {
    "mushrooms": "8,124; 22; 276; on planes 52 (31/21)",
    "letter": "20,000; 16; 153; SV 543 (266/277), on planes 40 (10/30)",
    "waveform": "5,000; 40; 861; on planes 228 (110/118)",
    "isolet-like": "isolet: 7,797; 617; not mapped; SV 186 (74/112), all on planes",
}

# ---- sets of growing size ---------------------------------------------------------------------------

# Rows of the sets that are cut from the last one where they are not there.
ADULT = {
    "a1a": 1605,
    "a2a": 2265,
    "a3a": 3185,
    "a4a": 4781,
    "a5a": 6414,
    "a6a": 11_220,
    "a7a": 16_100,
    "a8a": 22_696,
    "a9a": 32_561,
}
LARGEST = "a9a"
TOLERANCES = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7)
ACCURACIES = (1e-3, 1e-4, 1e-6)

# ---- low-rank kernels ------------------------------------------------------------------------------

# sigma^2 = 61.5
GAUSSIAN = f"-s 0 -t 2 -c 1 -g {1 / 123!r}"
FACTORS = (("eigen", 64), ("cholesky", 300), ("rpcholesky", 300), ("nystrom", 300))

# ---- beside LIBSVM's optimum ------------------------------------------------------------------------

# Of the sets so marked, columns have mean 0 and deviation 1: LIBSVM rounds kernel values to float, which leaves it far
# from the optimum where they are large.
STANDARD = "-standard"
RAW = ("diabetes", "german.numer_scale")
COMPARED = (*ADULT, "w7a", "mushrooms", "splice", *RAW, *(name + STANDARD for name in RAW))

PARTS = {
    "problems": "Table 5.1: the problems",
    "variants": "Figures 5.1 to 5.4: variants of the reduction",
    "log": "Figure 5.5: patterns and mu by iteration",
    "adult": "Figure 5.6: linear kernel, C = 1",
    "lowrank": "Figures 5.7 and 5.8, Table 5.2: RBF kernel, gamma = 1/123, C = 1",
    "oracle": "Beside LIBSVM's optimum: linear kernel, C = 1",
}
