"""What is trained, as data: a set, svm-train's options, and what is done to the set before."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Case:
    """One training.

    Attributes
    ----------
    name : str         on the command line and in the tables
    data : str         file name of the set, without .xz
    options : str      svm-train's grammar
    rows : int         only the first so many, 0 for all
    every : int        only each so-many-th row, before that
    parity : bool      targets become +1 for even labels, -1 for odd ones
    factor : float     every value is multiplied by it
    standard : bool    columns are moved and scaled to mean 0 and deviation 1
    """

    name: str
    data: str
    options: str = ""
    rows: int = 0
    parity: bool = False
    factor: float = 1.0
    standard: bool = False
    every: int = 1


MAIN = (
    Case("a9a-c1", "a9a", "-c 1 -g 0.05 -m 100"),
    Case("a9a-c1-m2000", "a9a", "-c 1 -g 0.05 -m 2000"),
    Case("a9a-c100", "a9a", "-c 100 -g 0.5 -m 100"),
    Case("a9a-c100-m4000", "a9a", "-c 100 -g 0.5 -m 4000"),
    Case("a9a-0.9", "a9a", "-c 1 -g 0.05", factor=0.9),  # no longer 0/1 data, otherwise the same
    Case("w7a", "w7a", "-c 64 -g 7.8125"),
    Case("mnist-parity", "mnist.scale", "-c 10 -g 0.02", rows=10_000, parity=True),
    Case("letter", "letter.scale", "-c 16 -g 2"),
    Case("madelon", "madelon", "-c 1 -g 0.7071"),
    Case("reuters-linear", "reuters-money-fx", "-t 0 -c 1"),
    Case("cpusmall-svr", "cpusmall", "-s 3"),
    Case("abalone-nu-svr", "abalone", "-s 4"),
)

# every other set of at least 500 rows, with defaults
DEFAULTS = (
    *(Case(name, name) for name in ("a1a", "a2a", "a3a", "a4a", "a6a", "a9a.t", "australian", "breast-cancer")),
    *(Case(name, name) for name in ("diabetes", "dna.scale", "dna.scale.t", "elec2", "fisher", "fourclass_scale")),
    *(Case(name, name) for name in ("german.numer_scale", "letter.scale.t", "madelon.t", "mnist.scale.t", "mushrooms")),
    *(Case(name, name) for name in ("reuters-money-fx.t", "satimage.scale", "segment.scale", "splice", "splice.t")),
    *(Case(name, name) for name in ("svmguide1", "svmguide1.t", "vowel.scale", "w7a.t", "w8a", "waveform-noise")),
    *(Case(name, name, "-s 3") for name in ("abalone_scale", "housing", "space_ga")),
)

# other formulations, kernels and probability estimates
SETTINGS = (
    Case("mushrooms-b1", "mushrooms", "-b 1"),
    Case("satimage-nu-b1", "satimage.scale", "-s 1 -n 0.1 -b 1"),
    Case("german-poly", "german.numer_scale", "-c 10 -t 1 -g 0.1 -r 1"),
    Case("segment-sigmoid", "segment.scale", "-c 4 -t 3 -g 0.05"),
    Case("splice-c1000", "splice", "-c 1000 -g 0.01"),
    Case("abalone-scale-nu-svr", "abalone_scale", "-s 4 -c 10"),
    Case("abalone-scale-svr-b1", "abalone_scale", "-s 3 -c 10 -b 1"),
    Case("cpusmall-svr-g1e-8", "cpusmall", "-s 3 -g 1e-8 -c 100"),
    Case("space-ga-svr", "space_ga", "-s 3 -c 10"),
    Case("housing-svr", "housing", "-s 3 -g 0.0001 -c 10"),
    Case("housing-nu-svr-linear", "housing", "-s 4 -t 0"),  # 10^7 iterations over a few dozen active variables
    Case("svmguide1-one-class-b1", "svmguide1", "-s 2 -n 0.1 -b 1"),
)

# seconds in all, on sets that stand in the repository
QUICK = (
    Case("heart_scale", "heart_scale"),
    Case("a1a", "a1a"),
    Case("splice", "splice"),
    Case("vowel", "vowel.scale"),
    Case("mushrooms-linear", "mushrooms", "-t 0"),
    Case("abalone-500-svr", "abalone_scale", "-s 3", rows=500),
)

GROUPS = {
    "main": MAIN,
    "defaults": DEFAULTS,
    "settings": SETTINGS,
    "quick": QUICK,
    "all": (*MAIN, *DEFAULTS, *SETTINGS),
}

# the data sets of Wen et al. (2017), table 2; MNIST is cut to its first 10,000 rows
SEEDING = (
    Case("heart", "heart_scale", "-c 2182 -g 0.2"),
    Case("madelon", "madelon", "-c 1 -g 0.7071"),
    Case("mnist", "mnist.scale", "-c 10 -g 0.125", rows=10_000, parity=True),
    Case("webdata", "w8a", "-c 64 -g 7.8125"),
    Case("adult", "a9a", "-c 100 -g 0.5"),
)

LEAVING = (
    Case("heart_scale", "heart_scale"),
    Case("splice", "splice"),
    Case("a1a", "a1a"),
    Case("a9a-c1", "a9a", "-c 1 -g 0.05"),
    Case("a9a-c100", "a9a", "-c 100 -g 0.5"),
)

SEARCHING = (Case("splice", "splice"), Case("a4a", "a4a"))


def named() -> dict[str, Case]:
    """Every case by its name."""
    return {case.name: case for group in GROUPS.values() for case in group}
