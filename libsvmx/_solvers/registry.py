"""All solvers by name, imported on demand to keep the start of commands fast."""

from __future__ import annotations

from libsvmx._typing import TYPE_CHECKING
from libsvmx.exceptions import ParameterError

if TYPE_CHECKING:
    from typing import Any

    from libsvmx._solvers.solver import Solver

SOLVERS = {
    "smo": "libsvmx._solvers.smo.solver.SMO",
    "chunked": "libsvmx._solvers.decomposition.solver.Chunked",
    "irwls": "libsvmx._solvers.decomposition.solver.IRWLS",
    "crsvm": "libsvmx._solvers.interior_point.solver.CRSVM",
    "auto": "libsvmx._solvers.auto.Auto",
}


def solver_class(name: Any) -> type[Solver]:
    """The class of a solver. Raises ParameterError for an unknown name."""
    if not isinstance(name, str) or name not in SOLVERS:
        from libsvmx._core.suggestions import unknown

        raise ParameterError(unknown("solver", name, list(SOLVERS)))
    from importlib import import_module  # LIBSVM's solver needs none

    module, _, attribute = SOLVERS[name].rpartition(".")
    found: type[Solver] = getattr(import_module(module), attribute)
    return found


def solver_classes() -> list[type[Solver]]:
    """All solvers."""
    return [solver_class(name) for name in SOLVERS]


def names_of(solvers: list[type[Solver]]) -> str:
    """``chunked, irwls or crsvm``"""
    *others, last = [solver.name for solver in solvers]
    return f"{', '.join(others)}{' or ' * bool(others)}{last}"
