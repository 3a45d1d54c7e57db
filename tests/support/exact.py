"""Exact optima, checked by NumPy from the rows, and Twin, a state beside the rows it should have."""

import numpy as np
import pytest

import libsvmx
from libsvmx import SvmType
from libsvmx._core.buffers import filled
from libsvmx._core.stopping import Control
from libsvmx._kernels.kernel_matrix import Kernel
from libsvmx._solvers.path.path import Path

from . import data
from .judge import kernel_values
from .optima import Judged, judged


def judge(model, X, y, both=None):
    """The dual problems of a model of rows X, y: list of Judged; ``both`` as in ``optima.judged``."""
    return judged(model, kernel_values(model.param, X, X), y, both=both)


class Twin:
    """A state with plain arrays of the rows it should have."""

    def __init__(self, X, y, **options):
        self.X, self.y, self.options = np.asarray(X, dtype=float), np.asarray(y, dtype=float), options
        self.ids, self.next_id = np.arange(len(self.y)), len(self.y)
        self.state = libsvmx.train(self.X, self.y, keep_state=True, **options)

    def update(self, X=None, y=None, remove=()):
        """Change both sides."""
        remove = np.asarray(remove, dtype=int)
        X = np.zeros((0, self.X.shape[1])) if X is None else np.asarray(X, dtype=float)
        y = np.zeros(0) if y is None else np.asarray(y, dtype=float)
        ids = self.state.update(add=(X, y), remove=remove)
        fresh = np.arange(self.next_id, self.next_id + len(y))
        assert ids.tolist() == fresh.tolist()
        kept = ~np.isin(self.ids, remove)
        self.ids = np.concatenate([self.ids[kept], fresh])
        self.X, self.y = np.concatenate([self.X[kept], X]), np.concatenate([self.y[kept], y])
        self.next_id += len(y)
        return ids

    def set_cost(self, C):
        self.state.set_cost(C)
        self.options["C"] = C

    def judged(self):
        both = None
        if self.state.param.svm_type == SvmType.NU_SVR:
            (binary,) = self.state.binaries.values()
            both = np.asarray(binary.state.coefficients).reshape(-1, 2)[np.argsort(binary.ids)].T.ravel()
        return judge(self.state.model, self.X, self.y, both)

    def check(self, relative=1e-9):
        """The state has these rows and their optimum."""
        state = self.state
        assert state.ids.tolist() == self.ids.tolist()
        assert state.targets.tolist() == self.y.tolist()
        assert len(state) == len(self.y)
        judged = self.judged()
        for part in judged:
            part.check(relative)
        noise = sum(part.noise * np.abs(part.beta).sum() for part in judged)
        objective = sum(part.objective(part.beta) for part in judged)
        assert abs(state.objective - objective) <= 1e-9 * abs(objective) + 16 * noise, (state.objective, objective)
        if judged:
            worst = max(relative * part.scale + 16 * part.noise for part in judged)
            assert state.gap <= worst
            # loose, as the state's gap may be smaller than that of a cold start
            assert max(part.gap(part.beta) for part in judged) <= state.gap + worst or state.gap == -np.inf

    def check_against_fresh(self, relative=1e-6):
        """Equal to a cold start on these rows: order of classes, objective, decision values."""
        fresh = libsvmx.train(self.X, self.y, keep_state=True, **self.options)
        assert list(self.state.model.labels if self.state.model.labels is not None else []) == list(
            fresh.model.labels if fresh.model.labels is not None else []
        )
        noise = sum(part.noise * np.abs(part.beta).sum() for part in self.judged())
        assert abs(self.state.objective - fresh.objective) <= relative * abs(fresh.objective) + 16 * noise
        ours, theirs = (s.decision_values(self.X) for s in (self.state, fresh))
        assert ours.shape == theirs.shape
        allowed = relative * max(1.0, np.abs(theirs).max(initial=0.0)) + 64 * max(
            (p.noise for p in self.judged()), default=0
        )
        assert np.abs(ours - theirs).max(initial=0.0) <= allowed, np.abs(ours - theirs).max()


def fingerprint(state):
    """Everything that must be unchanged after an error."""
    binaries = {}
    for pair, binary in state.binaries.items():
        at = binary.state
        numbers = at.rho, at.r, at.totals, at.margin_size, at.inexact, binary.iterations
        binaries[pair] = bytes(at.coefficients), bytes(at.K_beta), bytes(at.tags), *numbers
    model = state.model
    coefficients = bytes(model.coef), bytes(model.offsets), model.class_labels, bytes(model.vectors.values)
    return binaries, coefficients, state.ids.tolist(), state.targets.tolist(), state.param, state.report, state.gap


def unchanged(state, error, call, match=None):
    """``call`` raises and has no other effect."""
    before = fingerprint(state)
    with pytest.raises(error, match=match) as caught:
        call()
    state._version.known_model = None
    assert fingerprint(state) == before
    return caught.value


class PathTwin:
    """A Path over rows of X, with any linear term and bounds, and a NumPy copy of its boxes."""

    def __init__(self, X, param, per_row=1, budget_bytes=1e8, groups=1):
        self.X, self.param, self.per_row, self.totals = np.asarray(X, dtype=float), param, per_row, (0.0,) * groups
        rows = [[(j + 1, v) for j, v in enumerate(row) if v] for row in self.X.tolist()]
        kind = param.kernel_type, param.degree, param.gamma, param.coef0
        self.kernel = Kernel(data.from_rows(rows), filled("i", range(len(rows))), *kind)
        self.K = kernel_values(param, self.X, self.X)
        self.path = Path(per_row, budget_bytes, groups)
        self.row_of_tag = np.zeros(0, dtype=int)
        self.boxes_of_tag = np.zeros((3, 0, per_row))

    def control(self, **options):
        return Control(self.param.eps, **options)

    @property
    def rows(self):
        """The row of X at each position."""
        return self.row_of_tag[np.asarray(self.path.state.tags)]

    @property
    def boxes(self):
        """linear, low and high at each position: shape (3, rows, per_row)."""
        return self.boxes_of_tag[:, np.asarray(self.path.state.tags)]

    def append(self, rows, linear, low, high):
        """Boxes of shape (rows, per_row)."""
        boxes = np.array([np.asarray(b, dtype=float).reshape(-1, self.per_row) for b in (linear, low, high)])
        tags = range(len(self.row_of_tag), len(self.row_of_tag) + len(rows))
        kernel = self.kernel.part(filled("i", [*self.rows, *rows]))
        self.row_of_tag = np.concatenate([self.row_of_tag, rows])
        self.boxes_of_tag = np.concatenate([self.boxes_of_tag, boxes], axis=1)
        self.path.state.append(kernel, filled("q", tags), *(filled("d", b.ravel()) for b in boxes))

    def update(self, rows=(), boxes=((), (), ()), gone=(), totals=None):
        """One path; ``gone`` are the positions to remove."""
        self.totals = self.totals if totals is None else totals
        self.append(np.asarray(rows, dtype=int), *boxes)
        self.path.update(len(rows), filled("i", gone), self.totals, self.control())
        self.path.state.discard()

    def bind(self):
        """The kernel in the current order of the rows; a path may have to recompute some of it."""
        self.append(np.zeros(0, dtype=int), (), (), ())

    def rescale(self, ratio):
        self.bind()
        self.boxes_of_tag[1:] *= ratio
        self.totals = tuple(ratio * total for total in self.totals)
        low, high = (filled("d", b.ravel()) for b in self.boxes[1:])
        self.path.rescale(low, high, ratio, self.control())

    @property
    def judged(self):
        over = np.repeat(self.rows, self.per_row)
        linear, low, high = self.boxes.reshape(3, -1)
        beta = np.asarray(self.path.state.coefficients)
        state = self.path.state
        levels = (-state.rho,) if len(self.totals) == 1 else (-state.rho - state.r, -state.rho + state.r)
        group = (low < 0).astype(int) if len(self.totals) > 1 else None
        return Judged(self.K[np.ix_(over, over)], linear, low, high, self.totals, beta, levels, group)

    def check(self, relative=1e-9):
        judged = self.judged
        judged.check(relative)
        V, F = np.asarray(self.path.state.scores), np.repeat(self.path.state.K_beta, self.per_row)
        assert np.abs(F - judged.F).max() <= 1e-10 * judged.scale + judged.noise
        assert np.abs(V - judged.V).max() <= 1e-10 * judged.scale + judged.noise
        return judged

    def snapshot(self):
        """Everything that a rollback must restore."""
        state = self.path.state
        return (
            bytes(state.coefficients),
            bytes(state.K_beta),
            state.rho,
            state.r,
            state.totals,
            state.n,
            state.margin_size,
        )


class Problems:
    """Random linear terms and bounds: for C-SVC, regression, one-class, nu-SVR (tube), or none of these, with one sum
    or two."""

    def __init__(self, seed, kind, n, C=1.0, source="normal"):
        rng = self.rng = np.random.default_rng(seed)
        d = int(rng.integers(1, 5))
        X = rng.normal(size=(n, d))
        if source == "grid":
            X = rng.integers(0, 3, size=(n, d)).astype(float)
        elif source == "twice":
            X = X[rng.integers(0, max(1, n // 3), size=n)]
        elif source == "same":
            X[:] = X[0]
        self.X, self.kind, self.n, self.C = X, kind, n, C
        self.per_row = 2 if kind in ("regression", "tube") else 1
        self.groups = 2 if kind in ("tube", "two sums") else 1
        self.shares = (0.37,) if self.groups == 1 else rng.choice([0.0, 0.1, 0.4, 0.9, 1.0], 2)
        sign = np.where(rng.random(n) < 0.5, 1.0, -1.0)
        z = (X.sum(axis=1) + rng.normal(size=n)).round(1)
        none = np.zeros(n)
        if kind == "classification":
            self.all = sign, np.minimum(sign, 0) * C, np.maximum(sign, 0) * C
        elif kind == "regression":
            p = rng.choice([0.0, 0.3])
            self.all = (
                np.stack([z - p, z + p], axis=1),
                np.stack([none, none - C], axis=1),
                np.stack([none + C, none], axis=1),
            )
        elif kind == "one-class":
            self.all = none, none, none + 1
        elif kind == "tube":
            self.all = np.stack([z, z], axis=1), np.stack([none, none - C], axis=1), np.stack([none + C, none], axis=1)
        else:
            width = C * rng.choice([0.125, 1.0, 3.0], size=n)
            linear = z * rng.integers(2) if kind == "two sums" else z
            self.all = linear, np.minimum(sign, 0) * width, np.maximum(sign, 0) * width

    def boxes(self, rows):
        return tuple(values[np.asarray(rows, dtype=int)] for values in self.all)

    def totals(self, rows):
        """Feasible sums: of one-class, and of two groups."""
        _, low, high = self.boxes(rows)
        if self.groups > 1:
            return self.shares[0] * high.sum(), self.shares[1] * low.sum()
        return (self.shares[0] * len(rows) if self.kind == "one-class" else 0.0,)


def blobs(seed, n, k=2, d=3):
    """(X, y): overlapping classes 1 .. k, or +1 and -1."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % k)
    X = rng.normal(size=(n, d)) + 1.5 * np.stack([np.cos(y), *[np.sin(y + j) for j in range(1, d)]], axis=1)
    return X, (2.0 * y - 1 if k == 2 else y + 1.0)


def noisy_quadrants(n, seed=3):
    """Rows with a fifth of the labels random, so that a large C takes long."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2)).round(2)
    noise = np.sign(rng.normal(size=n))
    return X, np.where(rng.random(n) < 0.8, np.where(X[:, 0] * X[:, 1] >= 0, 1.0, -1.0), noise)


def shaped(X, source, rng):
    """The 120 rows of ``blobs``, some made linearly dependent as ``source`` says."""
    if source == "grid":
        return X.round()
    if source == "thrice":
        return X[rng.integers(0, 40, 120)]
    if source == "zeros":
        return 0 * X
    if source == "same":
        return X * 0 + X[0]
    return X


def come_and_go(twin, X, y, sizes, rng):
    """Updates of a twin, each checked: ``count`` of the 120 rows X, y are added, ``share`` of its own removed."""
    for count, share in sizes:
        come = rng.integers(0, 120, count)
        gone = rng.permutation(twin.ids)[: int(share * len(twin.ids)) if count else int(share * (len(twin.ids) - 1))]
        twin.update(X[come], y[come], gone)
        twin.check()
    twin.check_against_fresh()
