"""Solver: settings, abilities and ``solve``.

A setting is declared once, as a field of its solver's class (``setting``), with default, range, choices, option and
help. Checks, the grammar and usage of the commands, the identity of a grid, state files and the Python reference derive
from it.
"""

from __future__ import annotations

from _operator import index
from math import inf, isfinite

from libsvmx._core.records import NamedTuple, field, fields, record
from libsvmx._typing import TYPE_CHECKING
from libsvmx.enums import KernelType, SvmType
from libsvmx.exceptions import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, ClassVar

    from libsvmx._core.stopping import Control
    from libsvmx._kernels.featurerows import FeatureRows
    from libsvmx._kernels.kernel_matrix import Kernel
    from libsvmx._solvers.auto import Trial
    from libsvmx._solvers.dual import DualProblem, DualSolution

Number = int | float

KINDS: dict[Any, str] = {float: "a number", int: "a whole number", bool: "True or False"}


# A bound that no coefficient reaches: that would need kernel values below 1e-300.
NO_BOUND = 1e300


class Setting(NamedTuple):
    """Declaration of a setting.

    Attributes
    ----------
    name : str
    default : int, float, bool or str       also the type
    help : str                              for the usage of the commands and the docs
    option : str                            of the commands, '': none; of a bool, a switch away from the default
    metavar : str                           its value in the usage
    choices : tuple of str                  beside the default
    at_least, above, below                  range of a number, None: no limit
    or_zero : bool                          0 is allowed, too
    """

    name: str
    default: Any
    help: str
    option: str = ""
    metavar: str = "N"
    choices: tuple[str, ...] = ()
    at_least: Number | None = None
    above: Number | None = None
    below: Number | None = None
    or_zero: bool = False

    @property
    def kind(self) -> type:
        return type(self.default)

    def checked(self, value: Any) -> Any:
        """``value`` as the type of the setting. Raises ParameterError."""
        if self.kind is str:
            if value not in (*self.choices, self.default):
                from libsvmx._core.suggestions import unknown

                raise ParameterError(unknown(self.name, value, self.choices))
            return value
        value = converted(self.name, value, self.kind)
        if self.kind is not bool and not (self.or_zero and value == 0) and not self.holds(value):
            raise ParameterError(f"{self.name} must be {self.range_text()}, not {value}")
        return value

    def holds(self, value: Number) -> bool:
        """Whether a number is in the range."""
        return (
            (self.at_least is None or value >= self.at_least)
            and (self.above is None or value > self.above)
            and (self.below is None or value < self.below)
        )

    def range_text(self) -> str:
        """``between 0 and 2^63 - 1`` of whole numbers, ``>= 0 and < 1`` of others."""
        if self.kind is int and self.at_least is not None and self.below is not None:
            return f"{'0 or ' if self.or_zero else ''}between {self.at_least} and {last_below(int(self.below))}"
        limits = ((">=", self.at_least), (">", self.above), ("<", self.below))
        text = " and ".join(f"{sign} {limit:g}" for sign, limit in limits if limit is not None)
        return f"0 or {text}" if self.or_zero else text


def setting(default: Any, help: str, *, option: str | None = "", **more: Any) -> Any:
    """A field of a solver. ``option``: "" for the name with dashes, None: no option; ``more``: as in ``Setting``."""
    return field(default=default, metadata={"option": option, "setting": Setting("", default, help, **more)})


def policy_field(kind: Callable[[], Any]) -> Any:
    """A field of a solver that is no setting: a policy (record of ``kind``) with the thresholds between its methods.

    No option or file sets it; tests use others, so that small problems take each way.
    """
    return field(default_factory=kind, repr=False)


def converted(name: str, value: Any, kind: type, infinite: bool = False) -> Any:
    """``value`` as a float, int or bool, which must be exact and finite, or ``infinite``. Raises ParameterError."""
    try:
        if isinstance(value, str | bytes | complex) or (kind is bool and value not in (0, 1)):
            raise TypeError
        number = int(index(value)) if kind is int else kind(value)
        finite = isfinite(number)
    except OverflowError:  # a whole number too long to be repeated
        raise ParameterError(f"{name} must be {KINDS[kind]} between -1.8e308 and 1.8e308") from None
    except (TypeError, ValueError):
        raise ParameterError(f"{name} must be {KINDS[kind]}, not {value!r}") from None
    if not (finite or (infinite and number == inf)):
        raise ParameterError(f"{name} must be finite, not {number}")
    return number


def last_below(limit: int) -> str:
    """The largest whole number below ``limit``, as 2^k - 1 where that is short."""
    power = limit.bit_length() - 1
    return f"2^{power} - 1" if power >= 16 and limit == 2**power else str(limit - 1)


REFUSALS = {
    "may_be_seeded": "solver {solver} cannot start from what is known, as seeding and leave-one-out do",
    "takes_infinite_cost": "solver {solver} needs a finite C: -c inf, a hard margin, is for solver smo",
    "has_state": "a state is kept of the kernel's own optimum: choose another solver than {solver}",
}


class Unfinished(NamedTuple):
    """Where SMO has left a problem to another solver.

    Attributes
    ----------
    solution : DualSolution
    too_slow : bool      SMO would need too many steps
    has_grown : bool     so has the gap from the cold start
    by_trial : bool      in a queue, which tries no path
    seconds : float      of the trial
    """

    solution: DualSolution
    too_slow: bool
    has_grown: bool
    by_trial: bool
    seconds: float = 0.0


@record(frozen=True)
class Solver:
    """Base of solvers. A new solver is a subclass and a line in ``registry``.

    Class attributes
    ----------------
    name : str
    summary : str                 for the usage of the commands
    formulations : frozenset of SvmType
    follows_libsvm : bool         takes LIBSVM's steps: results are equal to the bit
    may_be_seeded : bool          can be warm-started, as for seeded folds and leave-one-out
    has_state : bool              ends at the optimum of the kernel itself, which rows can join and leave
    takes_infinite_cost : bool    solves problems without upper bounds (hard margin)
    needs_features : bool         uses explicit features of the rows (``solve_features``), not their kernel

    Raises
    ------
    ParameterError                a setting out of its range
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    formulations: ClassVar[frozenset[SvmType]] = frozenset(SvmType)
    follows_libsvm: ClassVar[bool] = False
    may_be_seeded: ClassVar[bool] = True
    has_state: ClassVar[bool] = True
    takes_infinite_cost: ClassVar[bool] = False
    needs_features: ClassVar[bool] = False

    def __post_init__(self) -> None:
        for known in self.settings():
            object.__setattr__(self, known.name, known.checked(getattr(self, known.name)))

    def queued_up_to(self, kernel_type: KernelType, n_rows: int, n_features: int, regression: bool = False) -> float:
        """Largest (bound of |beta|) x (kernel value) up to which this solver takes LIBSVM's steps only, so that many
        problems of up to ``n_rows`` rows can be solved in a queue. ``n_features``: of a linear kernel; ``regression``:
        rows have two variables. Not asked of one that ``follows_libsvm``."""
        return 0.0

    def trial(self, kernel: Kernel, n_rows: int) -> Trial | None:
        """How SMO, in a queue, tries pairs of classes of up to ``n_rows`` rows that it may leave to this solver; None:
        no queue. ``kernel``: over all rows."""
        return None

    def go_on(
        self, left: Unfinished, dual: DualProblem, kernel: Kernel, budget_bytes: float, control: Control, threads: int
    ) -> DualSolution:
        """``solve`` from where a trial has left the problem."""
        raise NotImplementedError(f"solver {self.name} has no trial")

    @classmethod
    def settings(cls) -> tuple[Setting, ...]:
        """Its settings, in order."""
        found = []
        for f in fields(cls):
            if f.metadata:  # else a policy
                given = f.metadata["option"]
                option = f"--{f.name.replace('_', '-')}" if given == "" else given or ""
                found.append(f.metadata["setting"]._replace(name=f.name, option=option))
        return tuple(found)

    @classmethod
    def require(cls, ability: str) -> None:
        """Raise ParameterError unless the solver has an ability (a class attribute)."""
        if not getattr(cls, ability):
            raise ParameterError(REFUSALS[ability].format(solver=cls.name))

    @property
    def makes_features(self) -> bool:
        """Whether a solver that needs features computes them for any kernel."""
        return False

    def solve(
        self, dual: DualProblem, kernel: Kernel, budget_bytes: float, control: Control, threads: int
    ) -> DualSolution:
        """Solve ``dual``, with a warm start if it has scores.

        Parameters
        ----------
        kernel : Kernel
            Over the rows of ``dual``.
        budget_bytes : float
            For kept kernel rows.

        Raises
        ------
        KeyboardInterrupt, or what else a signal handler raises; MemoryError
        """
        raise NotImplementedError(f"solver {self.name} needs features")

    def solve_features(
        self, dual: DualProblem, rows: FeatureRows, control: Control, threads: int, log: Callable[[Any], object]
    ) -> DualSolution:
        """As ``solve``, with explicit features of the rows; ``log`` is called in each iteration."""
        raise NotImplementedError(f"solver {self.name} needs a kernel")
