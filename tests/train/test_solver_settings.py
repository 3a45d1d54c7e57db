"""Settings of solvers: declared once, checked by their declaration, and valid for their own solver alone."""

import json
import pickle
import re
from dataclasses import FrozenInstanceError, fields, replace
from math import inf, nan

import pytest
from support import data

import libsvmx
from libsvmx import CRSVM, IRWLS, SMO, Auto, Chunked, Parameter, ParameterError, SvmType
from libsvmx._solvers.registry import SOLVERS, names_of, solver_class, solver_classes
from libsvmx._solvers.solver import REFUSALS, Solver
from libsvmx._train.parameter import changed, flat_fields
from libsvmx.cli import train, update
from libsvmx.cli.options import UsageError
from libsvmx.cli.solveroptions import option_settings
from libsvmx.io.modelfile import model_text

ALL = [(solver, known) for solver in solver_classes() for known in solver.settings()]
IDS = [f"{solver.name}-{known.name}" for solver, known in ALL]
NUMBERS = [one for one in ALL if one[1].kind in (int, float)]
SMALLEST = {int: 1, float: 1e-300}


def made(solver, known, value):
    """The solver with one setting, and with the others that this one needs."""
    needed = {"low_rank": {"rank": 3}, "predict_with": {"rank": 3}}.get(known.name, {})
    return solver(**{**needed, known.name: value})


# ---- declarations -------------------------------------------------------------------------------


def test_every_solver_is_there_by_its_name():
    assert [solver.name for solver in solver_classes()] == list(SOLVERS) == ["smo", "chunked", "irwls", "crsvm", "auto"]
    assert solver_classes() == [SMO, Chunked, IRWLS, CRSVM, Auto]
    assert all(issubclass(solver, Solver) and solver.summary and solver.formulations for solver in solver_classes())
    assert names_of(solver_classes()) == "smo, chunked, irwls, crsvm or auto"
    assert names_of([SMO]) == "smo"


def test_names_of_settings_are_not_fields_of_a_parameter():
    assert not {known.name for _, known in ALL} & {f.name for f in fields(Parameter)}


def test_a_name_means_the_same_kind_of_value_and_the_same_option_everywhere():
    kinds = {}
    for _, known in ALL:
        assert kinds.setdefault(known.name, (known.kind, known.option)) == (known.kind, known.option)


@pytest.mark.parametrize(("solver", "known"), ALL, ids=IDS)
def test_the_declaration_of_a_setting(solver, known):
    assert known.help
    assert known.kind in (int, float, bool, str)
    assert (known.kind is str) == bool(known.choices)
    if known.option and known.kind is not bool:
        assert known.option == f"--{known.name.replace('_', '-')}"
    if known.kind in (int, float):
        assert known.or_zero or known.holds(known.default)


# ---- checks -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("solver", "known"), ALL, ids=IDS)
def test_values_of_another_type_are_refused(solver, known):
    wrong = {
        int: [1.5, "3", None, nan],
        float: ["0.5", None, nan, inf, [1]],
        bool: [2, "yes", None],
        str: ["magic", 1, None],
    }[known.kind]
    for value in wrong:
        with pytest.raises(ParameterError, match=rf"^(unknown )?{known.name} ") as error:
            made(solver, known, value)
        assert str(error.value).endswith((f"not {value!r}", f"not {value}", ", ".join(known.choices)))


@pytest.mark.parametrize(("solver", "known"), NUMBERS, ids=[f"{s.name}-{k.name}" for s, k in NUMBERS])
def test_ranges_are_documented_and_checked(solver, known):
    step = SMALLEST[known.kind]
    inside = [value for value in (known.at_least, known.or_zero and 0) if value is not None and value is not False]
    outside = [] if known.at_least is None else [known.at_least - (1 if known.or_zero else max(step, known.at_least))]
    outside += [known.above] if known.above is not None else []
    outside += [known.below, known.below + 1] if known.below is not None else []
    if known.below is not None and known.kind is int:
        inside.append(known.below - 1)
    for value in inside:
        assert known.checked(value) == value
    for value in {*outside, -1}:
        with pytest.raises(ParameterError, match=rf"^{known.name} must be .*, not {known.kind(value)}$"):
            known.checked(value)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Chunked(working_set=1), "working_set must be 0 or between 2 and 2^20 - 1, not 1"),
        (lambda: IRWLS(keep_share=1), "keep_share must be >= 0 and < 1, not 1.0"),
        (lambda: Chunked(random_state=-1), "random_state must be between 0 and 2^63 - 1, not -1"),
        (
            lambda: Chunked(working_set_rule="first"),
            "unknown working_set_rule 'first': choose one of random, mixed, largest",
        ),
        (lambda: IRWLS(precision="half"), "unknown precision 'half': choose one of auto, float, double"),
        (lambda: CRSVM(reduction="some"), "unknown reduction 'some': choose one of adaptive, fixed, none"),
        (lambda: CRSVM(reduction_rule="nearest"), "unknown reduction_rule 'nearest': choose one of omega, distance"),
        (lambda: CRSVM(most_rows=2**62), "most_rows must be between 0 and 2^62 - 1, not 4611686018427387904"),
        (lambda: CRSVM(predict_with="both"), "unknown predict_with 'both': choose one of kernel, factor"),
        (lambda: CRSVM(theta=-1.0), "theta must be > 0, not -1.0"),
        (lambda: CRSVM(tolerance=0), "tolerance must be >= 1e-14 and < 1, not 0.0"),
        (lambda: CRSVM(beta=0), "beta must be > 0, not 0.0"),
        (lambda: CRSVM(balanced="yes"), "balanced must be True or False, not 'yes'"),
        (lambda: CRSVM(low_rank="qr", rank=3), "unknown low_rank 'qr': choose one of cholesky, rpcholesky, nystrom"),
        (lambda: CRSVM(low_rank="eigen"), "a low-rank factor needs a rank, or the error that it may have (rank_error)"),
        (lambda: CRSVM(predict_with="factor"), "predict_with 'factor' needs a low-rank factor"),
        (lambda: CRSVM(rank=2**31), "rank must be between 0 and 2^31 - 1, not 2147483648"),
        (lambda: CRSVM(rank=3, rank_error=-0.1), "rank_error must be >= 0 and < 1, not -0.1"),
        (lambda: CRSVM(low_rank="svd", rank=3), "unknown low_rank 'svd'"),
        (lambda: CRSVM(rank=3, rank_error=nan), "rank_error must be finite, not nan"),
    ],
)
def test_texts(make, message):
    with pytest.raises(ParameterError) as error:
        make()
    assert str(error.value).startswith(message)


def test_values_have_their_declared_types():
    found = Chunked(random_state=True, keep_share=0)
    assert type(found.random_state) is int and type(found.keep_share) is float
    assert CRSVM(balanced=0).balanced is False


def test_a_rank_alone_means_cholesky():
    assert CRSVM(rank=5) == CRSVM(low_rank="cholesky", rank=5)
    assert CRSVM(rank_error=0.1).low_rank == "cholesky"
    assert CRSVM().low_rank == "" and not CRSVM().makes_features and CRSVM(rank=5).makes_features


@pytest.mark.parametrize("solver", solver_classes())
def test_solvers_are_values(solver):
    one = solver()
    assert one == solver() and hash(one) == hash(solver()) and pickle.loads(pickle.dumps(one)) == one
    assert all(one != other() for other in solver_classes() if other is not solver)
    for known in solver.settings():
        with pytest.raises(FrozenInstanceError):
            setattr(one, known.name, known.default)


# ---- a Parameter has a solver -------------------------------------------------------------------


def test_a_name_stands_for_the_usual_settings():
    assert Parameter().solver == Parameter(solver="smo").solver == SMO()
    for name in SOLVERS:
        assert Parameter(solver=name).solver == solver_class(name)()
    assert replace(Parameter(), solver="irwls").solver == IRWLS()


@pytest.mark.parametrize(
    ("name", "hint"), [("simplex", ""), ("SMO", "; did you mean smo?"), ("", ""), (1, ""), (None, "")]
)
def test_unknown_solvers(name, hint):
    known = "smo, chunked, irwls, crsvm, auto"
    with pytest.raises(ParameterError, match=re.escape(f"unknown solver {name!r}: choose one of {known}{hint}") + "$"):
        Parameter(solver=name)


@pytest.mark.parametrize("name", ["reduction", "low_rank", "working_set", "keep_share"])
def test_nothing_is_accepted_for_a_solver_that_does_not_take_it(name):
    with pytest.raises(TypeError):
        Parameter(solver="smo", **{name: "nonsense"})
    assert not hasattr(Parameter(), name)
    with pytest.raises(ParameterError, match=rf"^{name} is of solver .*; solver smo has no settings$"):
        changed(Parameter(), {"solver": "smo", name: "nonsense"})


def test_no_solver_can_train_with_another():
    """No solver can train with another one."""
    assert not hasattr(Parameter(solver="crsvm"), "chunking")
    assert not isinstance(Parameter(solver="crsvm").solver, Chunked)
    with pytest.raises(NotImplementedError):
        CRSVM().solve(None, None, 0.0, None, 1)
    for solver in (SMO(), Chunked(), IRWLS()):
        with pytest.raises(NotImplementedError):
            solver.solve_features(None, None, None, 1, print)


def test_refusals_list_valid_settings():
    for given, message in (
        (
            {"solver": "chunked", "reduction": "none"},
            "reduction is of solver crsvm; solver chunked takes working_set, ",
        ),
        ({"solver": "crsvm", "working_set": 9}, "working_set is of solver chunked or irwls; solver crsvm takes red"),
        ({"random_state": 9}, "random_state is of solver chunked, irwls or crsvm; solver smo has no settings"),
        ({"sigma": 9}, "there is no parameter sigma; did you mean gamma? Known are C, "),
        ({"zzz": 9}, "there is no parameter zzz; solver smo has no settings. Known are C, "),
    ):
        with pytest.raises(ParameterError) as error:
            changed(Parameter(), given)
        assert str(error.value).startswith(message)


def test_formulations():
    for solver in solver_classes():
        for kind in SvmType:
            if kind in solver.formulations:
                assert Parameter(svm_type=kind, solver=solver()).svm_type == kind
            else:
                solved = "C_SVC, EPSILON_SVR and QUANTILE_SVR"
                with pytest.raises(ParameterError, match=rf"^solver {solver.name} solves {solved}, not {kind.name}$"):
                    Parameter(svm_type=kind, solver=solver())


def test_keywords_are_the_object():
    X, y = data.load("heart_scale", 90)
    settings = {"working_set": 24, "random_state": 3}
    models = [
        libsvmx.train(X, y, C=10, **chosen)
        for chosen in (
            {"solver": "chunked", **settings},
            {"solver": Chunked(**settings)},
            {"param": Parameter(solver="chunked"), **settings},
            {"param": Parameter(solver=Chunked(**settings)), "solver": "chunked"},
        )
    ]
    assert all(model.param.solver == Chunked(**settings) for model in models)
    assert len({model_text(model) for model in models}) == 1
    with pytest.raises(ParameterError, match="working_set is of solver chunked or irwls; solver smo has no settings"):
        libsvmx.train(X, y, working_set=24)
    with pytest.raises(ParameterError, match="there is no parameter gama"):
        libsvmx.cross_validate(X, y, 3, gama=0.1)


def test_one_random_state_for_all_that_is_drawn():
    X, y = data.load("heart_scale", 90)
    found = libsvmx.train(X, y, solver="irwls", random_state=7)
    assert found.param.solver == IRWLS(random_state=7)
    assert libsvmx.train(X, y, random_state=7).param == libsvmx.train(X, y).param
    assert libsvmx.train(X, y, solver=Chunked(random_state=5)).param.solver.random_state == 5


@pytest.mark.parametrize("solver", [SMO(), Chunked(40, "mixed", 0.5), IRWLS(precision="double"), CRSVM(rank=4)])
def test_flat_fields_and_back(solver):
    param = Parameter(C=3, weights={1: 2.0}, solver=solver, threads=2)
    flat = flat_fields(param)
    assert flat["solver"] == solver.name and flat["C"] == 3.0
    told = {f.name for f in fields(Parameter)} - {"tau", "gammas", "policy"}
    assert set(flat) == told | {known.name for known in solver.settings()}
    assert changed(Parameter(), json.loads(json.dumps(flat))) == param
    quantile = replace(param, svm_type="quantile_svr", tau=0.9)
    assert set(flat_fields(quantile)) == {*flat, "tau"}
    assert changed(Parameter(), json.loads(json.dumps(flat_fields(quantile)))) == quantile
    several = replace(param, gamma=[0.5, 2.0])
    assert set(flat_fields(several)) == {*flat, "gammas"}
    assert changed(Parameter(), json.loads(json.dumps(flat_fields(several)))) == several


# ---- capabilities -------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::libsvmx.ConvergenceWarning")
@pytest.mark.parametrize("ability", REFUSALS)
@pytest.mark.parametrize("solver", solver_classes())
def test_unsupported_uses_are_refused_in_one_wording(solver, ability):
    X, y = data.load("heart_scale", 60)
    calls = {
        "may_be_seeded": [
            lambda: libsvmx.cross_validate(X, y, 3, solver=solver(), kernel_type=0, seeder="sir"),
            lambda: libsvmx.leave_one_out(X, y, solver=solver(), kernel_type=0),
        ],
        "takes_infinite_cost": [
            lambda: libsvmx.train(X, y, solver=solver(), kernel_type=0, C=float("inf"), max_iter=100)
        ],
        "has_state": [lambda: libsvmx.train(X, y, solver=solver(), kernel_type=0, keep_state=True)],
    }
    for call in calls[ability]:
        if getattr(solver, ability):
            call()
        else:
            with pytest.raises(ParameterError) as error:
                call()
            assert str(error.value) == REFUSALS[ability].format(solver=solver.name)


# ---- options of the commands --------------------------------------------------------------------


@pytest.mark.parametrize("solver", solver_classes())
def test_every_option_reaches_its_setting(solver):
    for option, known in option_settings([solver]).items():
        last = known.choices[-1] if known.choices else None
        value = {str: last, bool: not known.default, int: 9, float: 0.25}[known.kind]
        words = [option] if known.kind is bool else [option, str(value)]
        needed = ["--rank", "5"] if known.name in ("low_rank", "predict_with") else []
        _, param, *_ = train.parse_arguments(["-t", "0", "--solver", solver.name, *needed, *words, "file"])
        assert getattr(param.solver, known.name) == value
        for other in solver_classes():
            if known.name not in (one.name for one in other.settings()):
                with pytest.raises(UsageError, match=f"option {option} needs --solver .*{solver.name}"):
                    train.parse_arguments(["-t", "0", "--solver", other.name, *words, "file"])


def test_usage_is_complete():
    for solver, known in ALL:
        assert f"{solver.name}: {solver.summary}" in " ".join(train.USAGE.split()).replace(" (default)", "")
        if known.option:
            assert f"\n  {known.option} " in train.USAGE or f"\n  {known.option}\n" in train.USAGE
            assert " ".join(known.help.split()) in " ".join(train.USAGE.split())
    assert max(map(len, train.USAGE.splitlines())) <= 120
    assert "smo, chunked, irwls or auto" in update.USAGE
