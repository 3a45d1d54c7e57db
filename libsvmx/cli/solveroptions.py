"""--solver and the options of the solvers, made from their settings: grammar, usage, checks; and --seeder."""

from __future__ import annotations

from libsvmx._core.records import fields
from libsvmx._solvers.registry import SOLVERS, names_of, solver_classes
from libsvmx._train.parameter import Parameter
from libsvmx._typing import TYPE_CHECKING
from libsvmx.cli.options import UsageError, integer, real, setter

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from libsvmx._solvers.solver import Setting, Solver
    from libsvmx.cli.options import Setter

INDENT, WIDTH = 27, 118
READERS: dict[type, Callable[[str, str], object]] = {int: integer, float: real}  # others are text


def asked_solvers(argv: Sequence[str]) -> list[type[Solver]]:
    """The solvers whose options may be on a command line; none without a long option, which saves loading them."""
    return solver_classes() if any(word.startswith("--") for word in argv) else []


def option_settings(solvers: Sequence[type[Solver]]) -> dict[str, Setting]:
    """Settings by option; solvers may share one."""
    return {known.option: known for solver in solvers for known in solver.settings() if known.option}


def solver_grammar(
    values: dict[str, object], solvers: Sequence[type[Solver]]
) -> tuple[dict[str, Setter], dict[str, Callable[[], None]]]:
    """Names and switches for ``parse`` that write to ``values`` by name of setting."""

    def turner(name: str, value: bool) -> Callable[[], None]:
        return lambda: values.__setitem__(name, value)

    known = option_settings(solvers)
    names = {
        option: setter(values, one.name, READERS.get(one.kind)) for option, one in known.items() if one.kind is not bool
    }
    switches = {option: turner(one.name, not one.default) for option, one in known.items() if one.kind is bool}
    return {"--solver": setter(values, "solver"), **names}, switches


def check_takers(values: dict[str, object]) -> None:
    """Raise UsageError for an option of another solver."""
    asked = values.get("solver", Parameter().solver.name)
    given = values.keys() - {f.name for f in fields(Parameter)}
    if asked not in SOLVERS or not given:
        return
    for option, one in option_settings(solver_classes()).items():
        takers = [solver for solver in solver_classes() if one.name in (known.name for known in solver.settings())]
        if one.name in given and asked not in (solver.name for solver in takers):
            raise UsageError(f"option {option} needs --solver {names_of(takers)}")


def solver_usage() -> str:
    """The line of --solver."""
    words = [f"{solver.name}: {solver.summary}" for solver in solver_classes()]
    words[0] += " (default)"
    return entry("--solver NAME", "; ".join(words))


def settings_usage() -> str:
    """The options of each solver; those of solvers with equal settings once."""
    blocks: dict[tuple[Setting, ...], list[type[Solver]]] = {}
    for solver in solver_classes():
        blocks.setdefault(solver.settings(), []).append(solver)
    text = ""
    for settings, solvers in blocks.items():
        lines = [setting_usage(known) for known in settings if known.option]
        if lines:
            text += f"\n--solver {names_of(solvers)}:\n{''.join(lines)}"
    return text


def seeder_usage() -> str:
    """The lines of --seeder and --seeder-scheme."""
    from libsvmx._solvers.seeding.registry import SEEDERS

    names = ", ".join(["auto", *SEEDERS])
    return entry(
        "--seeder METHOD",
        f"with -v, --loo or -b 1: warm start of each fold ({names}), with the same optimum to -e; none: cold start; "
        "path: rows leave along the exact path",
    ) + entry(
        "--seeder-scheme SCHEME",
        "start from the fold before (chain) or from the training over all rows (star); by default as METHOD needs",
    )


def seeders_usage() -> str:
    """The seeders with their usual schemes."""
    from libsvmx._solvers.seeding.registry import SEEDERS

    lines = [entry(f"{one.name} ({one.usual_scheme})", one.help) for one in SEEDERS.values()]
    return f"\n--seeder, where the coefficient of a row that is left out goes:\n{''.join(lines)}"


def setting_usage(known: Setting) -> str:
    """An option with its metavariable, and its description with the default."""
    if known.kind is bool:
        return entry(known.option, known.help)
    default = "" if known.default == "" else f" (default {known.default})"
    return entry(f"{known.option} {known.metavar}", f"{known.help}{default}")


def entry(option: str, text: str) -> str:
    """Lines of a usage: ``option``, with ``text`` beside it."""
    left = f"  {option}".ljust(INDENT)
    lines = wrapped(text, WIDTH - INDENT)
    first = f"{left}{lines[0]}" if len(left) <= INDENT else f"{left}\n{' ' * INDENT}{lines[0]}"
    return "".join(f"{line}\n" for line in [first, *(" " * INDENT + line for line in lines[1:])])


def wrapped(text: str, width: int) -> list[str]:
    """Lines of whole words. ``textwrap`` would load ``re``, which takes longer than the whole usage."""
    first, *words = text.split()
    lines = [first]
    for word in words:
        if len(lines[-1]) + 1 + len(word) <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines
