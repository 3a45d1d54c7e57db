"""Policies that force a mechanism: applied as given, kept with a parameter, and not reported unless given."""

import copy
import pickle
from math import inf

import numpy as np
import pytest
from support import data
from support.policies import ALWAYS_SHARED, IN_TURN, NEVER_SHARED, KernelPolicy, of_commands
from support.threads import started_by

import libsvmx
from libsvmx import Parameter, ParameterError
from libsvmx._core.process import HAS_THREADS
from libsvmx._core.records import replace
from libsvmx._train.parameter import changed, flat_fields

with_threads = pytest.mark.skipif(not HAS_THREADS, reason="built without threads")


@with_threads
@pytest.mark.parametrize(
    ("name", "fields", "queued"),
    [
        ("heart_scale", {}, True),
        ("heart_scale", {"queue": False}, False),
        ("heart_scale", {"max_gram_bytes": 0}, False),
        ("heart_scale", {"min_solves": 8}, False),
        ("heart_scale", {"rows_per_solve": 38}, False),
        ("heart_scale", {"memory_share": 0.0}, False),
        ("iris.scale", {"max_gram_bytes": 0}, True),
        ("iris.scale", {"max_gram_bytes": 0, "max_row_nonzeros": 0}, False),
    ],
)
def test_which_solves_are_queued(name, fields, queued):
    """Solves side by side use Python's threads instead."""
    policy, validated = KernelPolicy(work_for_threads=0.0, **fields), []
    for own, n_threads in ((policy, 0 if queued else 7), (replace(policy, work_for_threads=inf), 0)):
        found, n = started_by(libsvmx.cross_validate, *data.load(name), 7, threads=7, policy=own)
        assert n == n_threads
        validated.append(found.decision_values)
    assert np.array_equal(*validated)


class Order(libsvmx.Observer):
    """Whether it is asked again after a report of a solve."""

    told = again = False

    def solved(self, report):
        self.told = True

    def should_stop(self):
        self.again |= self.told
        return False


@pytest.mark.parametrize(("rows", "again"), [(200, True), (1 << 18, False)])
def test_how_many_rows_are_queued(rows, again):
    order, policy = Order(), KernelPolicy(rows_in_queue=rows)
    libsvmx.cross_validate(*data.load("heart_scale"), 5, threads=1, observer=order, policy=policy)
    assert order.told
    assert order.again == again


@with_threads
@pytest.mark.parametrize(("work", "n"), [(0.0, 2), (2e7, 0)])
def test_threads_that_predict(work, n):
    X, y = data.load("heart_scale")
    model = libsvmx.train(X, y, policy=KernelPolicy(prediction_work_for_threads=work))
    assert started_by(libsvmx.predict, model, X, threads=3)[1] == n  # and the caller's


def test_searches_that_auto_seeds():
    search = [*data.load("heart_scale"), (0, 4, 2), (-3, -3, 1)]
    plain, few, more = (
        libsvmx.grid_search(*search, seeder=seeder, policy=KernelPolicy(max_cold_start_rows=rows))
        for seeder, rows in (("none", 1000), ("auto", 270), ("auto", 269))
    )
    assert list(few.iterations) == list(plain.iterations)
    assert list(more.iterations) != list(plain.iterations)


def test_a_policy_is_part_of_copies_and_of_no_comparison():
    param = Parameter(C=3.0, policy=IN_TURN)
    copies = [
        copy.copy(param),
        copy.deepcopy(param),
        pickle.loads(pickle.dumps(param)),
        replace(param),
        changed(param, {"eps": 0.1}),
    ]
    assert [one.policy for one in copies] == [IN_TURN] * 5
    assert param == Parameter(C=3.0)
    assert hash(param) == hash(Parameter(C=3.0))


def test_a_policy_is_reported_if_given():
    """Files and reports contain the output of flat_fields."""
    assert flat_fields(Parameter(policy=IN_TURN)) == flat_fields(Parameter())
    assert repr(Parameter(policy=IN_TURN)).endswith("solver=SMO(), policy=KernelPolicy(queue=False))")
    assert repr(Parameter()).endswith("solver=SMO())")
    assert repr(KernelPolicy()) == "KernelPolicy()"
    with pytest.raises(ParameterError, match=r"Known are C, cache_size, .*, nu, p, probability"):
        changed(Parameter(), {"polcy": IN_TURN})


def test_parameters_that_were_pickled_before_there_was_a_policy():
    param = Parameter.__new__(Parameter)
    param.__setstate__([getattr(Parameter(C=7.0), name) for name in flat_fields(Parameter())])
    assert param == Parameter(C=7.0)
    assert param.policy == KernelPolicy()


@pytest.mark.parametrize("given", [None, "queue", {"queue": False}])
def test_invalid_policies_are_refused(given):
    with pytest.raises(ParameterError, match="policy must be a KernelPolicy, not "):
        libsvmx.train(*data.load("heart_scale"), policy=given)


def test_a_model_has_it_and_its_file_has_not(tmp_path):
    model = libsvmx.train(*data.load("heart_scale"), policy=IN_TURN)
    assert model.param.policy == pickle.loads(pickle.dumps(model)).param.policy == IN_TURN
    libsvmx.save_model(tmp_path / "model", model)
    assert libsvmx.load_model(tmp_path / "model").param.policy == KernelPolicy()


def test_that_of_commands_stays_in_its_process(monkeypatch):
    """A pickle has its own policy, whatever commands use on the other side."""
    of_commands(monkeypatch, queue=False)
    given = pickle.dumps(Parameter())
    monkeypatch.undo()
    assert pickle.loads(given).policy == IN_TURN
    assert Parameter().policy == KernelPolicy()


@pytest.mark.parametrize("cache_size", [0.02, 100.0])
@pytest.mark.parametrize("policy", [NEVER_SHARED, ALWAYS_SHARED], ids=["never shared", "always shared"])
def test_where_a_fold_starts_does_not_depend_on_the_rows_that_are_kept(policy, cache_size):
    """The number of kernel values computed by a row store depends on measured costs of rows; no path of ATO may."""
    X, targets = data.load("pyrim")
    options = {"svm_type": "epsilon_svr", "C": 10.0, "gamma": 1 / 27, "seeder": "ato"}
    expected = libsvmx.cross_validate(X, targets, 5, policy=IN_TURN, **options)
    found = libsvmx.cross_validate(X, targets, 5, policy=policy, cache_size=cache_size, **options)
    assert list(found.predictions) == list(expected.predictions)
