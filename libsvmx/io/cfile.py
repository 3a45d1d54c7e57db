"""Models as C99: one file with tables and functions, which needs only C's standard library and allocates no memory.

Sums have LIBSVM's order, so decision values in double equal LIBSVM's bit for bit, if the compiler does not fuse
multiply and add (``-ffp-contract=off``) and exp and tanh are of the same C library. Vectors are in a dense or a sparse
table, whichever is smaller.
"""

from __future__ import annotations

from itertools import accumulate, combinations
from struct import pack, unpack

from libsvmx._train.gamma import feature_factors
from libsvmx._typing import TYPE_CHECKING
from libsvmx._version import VERSION
from libsvmx.enums import KernelType
from libsvmx.exceptions import DataError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from libsvmx._train.model import Model

INT_BYTES = 4
ON_A_LINE = 8  # numbers of a table
FEW = 4  # classes up to which the pairs are listed at the top

AS_LIBSVM = "With -ffp-contract=off nothing is fused, and decision values in double are LIBSVM's to the bit."
ABOUT = "Decision values are those of libsvmx but for rounding."

HEAD = """\
/* {svm_type}, kernel {kernel}, {n_sv} support vectors. Written by libsvmx {version}.
 *
{declarations} *
 * x has {n_features} numbers: the feature of index j in a LIBSVM data file is x[{place}], 0 where a row lacks it.
{values} * {accuracy}
 */
#include <math.h>

typedef {real} real;

enum {{
    N_FEATURES = {n_features}, N_VECTORS = {n_sv}, N_FUNCTIONS = {functions},
    N_PARTS = {parts}, /* classes, or all vectors */
    N_ROWS = {rows} /* coefficients of each vector */
}};
"""

SPARSE_TABLE = """
/* Vector v has value[k] in feature[k] of x, k from begin[v] to begin[v + 1] - 1. */"""

PARTS = """
/* The vectors of part c end before end_of_part[c]. Row r of their coefficients is of function function_of[c][r]. */"""

KERNEL = """
static real kernel(const real *x, int v)
{
    real sum = 0;
"""

# Sums over features, in ascending order, by the kind of table.
DISTANCE = {
    "dense": """\
    int f;
    for (f = 0; f < N_FEATURES; ++f) {
        const real difference = x[f] - vectors[v][f];
        sum += difference * difference;
    }
""",
    "sparse": """\
    int f = 0, k;
    for (k = begin[v]; k < begin[v + 1]; ++k) {
        real difference;
        for (; f < feature[k]; ++f)
            sum += x[f] * x[f];
        difference = x[f] - value[k];
        sum += difference * difference;
        ++f;
    }
    for (; f < N_FEATURES; ++f)
        sum += x[f] * x[f];
""",
}
PRODUCT = {
    "dense": """\
    int f;
    for (f = 0; f < N_FEATURES; ++f)
        sum += x[f] * vectors[v][f];
""",
    "sparse": """\
    int k;
    for (k = begin[v]; k < begin[v + 1]; ++k)
        sum += x[feature[k]] * value[k];
""",
}
# For kernels that LIBSVM lacks: the term of a feature, x in the row and z in the vector,
TERMS = {
    KernelType.LAPLACIAN: "fabs@_OF_REAL@(x - z)",
    KernelType.INTERSECTION: "x < z ? x : z",
    KernelType.CHI2: "x + z > 0 ? (x - z) * (x - z) / (x + z) : 0",
    KernelType.ADDITIVE_CHI2: "x + z > 0 ? (x - z) * (x - z) / (x + z) : 0",
}
# and the sum of these.
OF_TERMS = {
    "dense": """\
    int f;
    for (f = 0; f < N_FEATURES; ++f)
        sum += term(x[f], vectors[v][f]);
""",
    "sparse": """\
    int f = 0, k;
    for (k = begin[v]; k < begin[v + 1]; ++k) {
        for (; f < feature[k]; ++f)
            sum += term(x[f], 0);
        sum += term(x[f], value[k]);
        ++f;
    }
    for (; f < N_FEATURES; ++f)
        sum += term(x[f], 0);
""",
}
TERM = """
static real term(real x, real z)
{
    return @TERM@;
}
"""
# Sums of squares of the row and of the vector, in addition to the product.
SQUARES = {
    "dense": """\
    real xx = 0, zz = 0;
    for (f = 0; f < N_FEATURES; ++f) {
        xx += x[f] * x[f];
        zz += vectors[v][f] * vectors[v][f];
    }
""",
    "sparse": """\
    real xx = 0, zz = 0;
    int f;
    for (f = 0; f < N_FEATURES; ++f)
        xx += x[f] * x[f];
    for (k = begin[v]; k < begin[v + 1]; ++k)
        zz += value[k] * value[k];
""",
}
KERNELS = {
    KernelType.LINEAR: "    return sum;\n",
    KernelType.POLY: """\
    real base = @GAMMA@ * sum + @COEF0@, power = 1;
    int degree;
    for (degree = @DEGREE@; degree > 0; degree /= 2) {
        if (degree % 2 == 1)
            power *= base;
        base *= base;
    }
    return power;
""",
    KernelType.RBF: "    return exp@_OF_REAL@(-@GAMMA@ * sum);\n",
    KernelType.SIGMOID: "    return tanh@_OF_REAL@(@GAMMA@ * sum + @COEF0@);\n",
    KernelType.LAPLACIAN: "    return exp@_OF_REAL@(-@GAMMA@ * sum);\n",
    KernelType.COSINE: "    return xx > 0 && zz > 0 ? sum / (sqrt@_OF_REAL@(xx) * sqrt@_OF_REAL@(zz)) : 0;\n",
    KernelType.TANIMOTO: "    return xx + zz - sum > 0 ? sum / (xx + zz - sum) : 1;\n",
    KernelType.INTERSECTION: "    return sum;\n",
    KernelType.CHI2: "    return exp@_OF_REAL@(-@GAMMA@ * sum);\n",
    KernelType.ADDITIVE_CHI2: "    return -sum;\n",
    KernelType.MATERN32: """\
    real s = sqrt@_OF_REAL@(6 * @GAMMA@ * sum);
    s = s < 700 ? s : 700;
    return (1 + s) * exp@_OF_REAL@(-s);
""",
    KernelType.MATERN52: """\
    real s = sqrt@_OF_REAL@(10 * @GAMMA@ * sum);
    s = s < 700 ? s : 700;
    return (1 + s + s * s / 3) * exp@_OF_REAL@(-s);
""",
    KernelType.RATIONAL_QUADRATIC: "    return 1 / (1 + @GAMMA@ * sum);\n",
}
OF_SQUARES = (KernelType.COSINE, KernelType.TANIMOTO)

VALUES = """\
}

void @NAME@_decision_values(const real *x, real *values)
{
    int c, f, row, v = 0;
@SCALING@    for (f = 0; f < N_FUNCTIONS; ++f)
        values[f] = 0;
    for (c = 0; c < N_PARTS; ++c)
        for (; v < end_of_part[c]; ++v) {
            const real k = kernel(@ROW@, v);
            for (row = 0; row < N_ROWS; ++row)
                values[function_of[c][row]] += coef[row][v] * k;
        }
    for (f = 0; f < N_FUNCTIONS; ++f)
        values[f] -= rho[f];
}

"""
# With a gamma for each feature: of the row, to the units of the vectors.
SCALING = """\
    real scaled[N_FEATURES];
    for (f = 0; f < N_FEATURES; ++f)
        scaled[f] = x[f] * factor[f];
"""
REGRESSION = """\
real @NAME@_predict(const real *x)
{
    real value;
    @NAME@_decision_values(x, &value);
    return value;
}
"""
ONE_CLASS = """\
int @NAME@_predict(const real *x)
{
    real value;
    @NAME@_decision_values(x, &value);
    return value > 0 ? 1 : -1;
}
"""
VOTING = """\
int @NAME@_predict(const real *x)
{
    real values[N_FUNCTIONS > 0 ? N_FUNCTIONS : 1];
    int votes[N_PARTS] = {0}, i, j, f = 0, best = 0;
    @NAME@_decision_values(x, values);
    for (i = 0; i < N_PARTS; ++i)
        for (j = i + 1; j < N_PARTS; ++j)
            ++votes[values[f++] > 0 ? i : j];
    for (i = 1; i < N_PARTS; ++i)
        if (votes[i] > votes[best])
            best = i;
    return label[best];
}
"""
# Sigmoids of Platt (2000) and the second method of Wu, Lin & Weng (2004), as in _train/probability.pyx.
PROBABILITIES = """\

static real sigmoid(real value, real a, real b)
{
    const real z = value * a + b;
    return z >= 0 ? exp@_OF_REAL@(-z) / (1 + exp@_OF_REAL@(-z)) : 1 / (1 + exp@_OF_REAL@(z));
}

/* Probabilities p of classes from those of pairs: r[i][j] of class i against j. */
static void couple(real r[N_PARTS][N_PARTS], real *p)
{
    real Q[N_PARTS][N_PARTS], Qp[N_PARTS], pQp, worst, step;
    int t, j, turn;
    for (t = 0; t < N_PARTS; ++t) {
        p[t] = (real)1 / N_PARTS;
        Q[t][t] = 0;
        for (j = 0; j < N_PARTS; ++j)
            if (j != t) {
                Q[t][t] += r[j][t] * r[j][t];
                Q[t][j] = j < t ? Q[j][t] : -r[j][t] * r[t][j];
            }
    }
    for (turn = 0; turn < @TURNS@; ++turn) {
        pQp = 0;
        for (t = 0; t < N_PARTS; ++t) {
            Qp[t] = 0;
            for (j = 0; j < N_PARTS; ++j)
                Qp[t] += Q[t][j] * p[j];
            pQp += p[t] * Qp[t];
        }
        worst = 0;
        for (t = 0; t < N_PARTS; ++t)
            if (fabs@_OF_REAL@(Qp[t] - pQp) > worst)
                worst = fabs@_OF_REAL@(Qp[t] - pQp);
        if (worst < (real)0.005 / N_PARTS)
            return;
        for (t = 0; t < N_PARTS; ++t) {
            step = (-Qp[t] + pQp) / Q[t][t];
            p[t] += step;
            pQp = (pQp + step * (step * Q[t][t] + 2 * Qp[t])) / (1 + step) / (1 + step);
            for (j = 0; j < N_PARTS; ++j) {
                Qp[j] = (Qp[j] + step * Q[t][j]) / (1 + step);
                p[j] /= (1 + step);
            }
        }
    }
}

int @NAME@_predict_probability(const real *x, real *probabilities)
{
    static const real least = (real)1e-7;
    real values[N_FUNCTIONS], r[N_PARTS][N_PARTS];
    int i, j, f = 0, best = 0;
    @NAME@_decision_values(x, values);
    for (i = 0; i < N_PARTS; ++i)
        for (j = i + 1; j < N_PARTS; ++j, ++f) {
            real p = sigmoid(values[f], sigmoid_a[f], sigmoid_b[f]);
            p = p > least ? p : least;
            p = p < 1 - least ? p : 1 - least;
            r[i][j] = p;
            r[j][i] = 1 - p;
        }
    if (N_PARTS == 2) {
        probabilities[0] = r[0][1];
        probabilities[1] = r[1][0];
    } else {
        couple(r, probabilities);
    }
    for (i = 1; i < N_PARTS; ++i)
        if (probabilities[i] > probabilities[best])
            best = i;
    return label[best];
}
"""


class CFile:
    """CFile(model, name, n_features, single): a model as C.

    Parameters
    ----------
    name : str            prefix of its functions
    n_features : int      of a row
    single : bool         float instead of double
    """

    def __init__(self, model: Model, name: str, n_features: int, single: bool):
        self.model, self.name, self.n_features, self.single = model, name, n_features, single
        self.classify = model.param.svm_type.is_classification
        self.sizes = (model.class_sv or ()) if self.classify else (model.n_sv,)
        self.parts, self.rows = len(self.sizes), len(self.sizes) - 1 if self.classify else 1
        self.estimates = self.classify and self.parts > 1 and model.has_probability
        real = 4 if single else 8
        sparse_bytes = model.vectors.nnz * (real + INT_BYTES) + (model.n_sv + 1) * INT_BYTES
        self.table = "dense" if model.n_sv * n_features * real <= sparse_bytes else "sparse"

    def pieces(self) -> Iterator[str]:
        """The text. Raises DataError for a number that is too large for a float."""
        yield self.head()
        yield from self.vectors()
        yield from self.coefficients()
        if self.model.param.gammas:
            yield from array("real", "factor", self.numbers(feature_factors(self.model.param)))
        yield self.functions()

    def head(self) -> str:
        model, real = self.model, "float" if self.single else "double"
        result = real if model.param.svm_type.is_regression else "int"
        lines = [f"void {self.name}_decision_values(const {real} *x, {real} *values);"]
        lines.append(f"{result} {self.name}_predict(const {real} *x);")
        if self.estimates:
            lines.append(f"int {self.name}_predict_probability(const {real} *x, {real} *probabilities);")
        values = f"values gets {len(model.offsets)}"
        if self.classify:
            labels = list(model.class_labels or ())
            order = ", ".join(f"({a}, {b})" for a, b in combinations(labels, 2)) if self.parts <= FEW else "as LIBSVM's"
            values += f", of pairs of classes {order}; above 0 for the first"
        if self.estimates:
            values += f"; probabilities gets {self.parts}, in the order of label"
        return HEAD.format(
            svm_type=model.param.svm_type.name,
            kernel=model.param.kernel_type.name,
            n_sv=model.n_sv,
            n_features=self.n_features,
            version=VERSION,
            declarations="".join(f" *     {line}\n" for line in lines),
            place="j" if model.vectors.first_index == 0 else "j - 1",
            values=f" * {values}.\n",
            accuracy=AS_LIBSVM if model.param.kernel_type.is_libsvms and not model.param.gammas else ABOUT,
            real=real,
            functions=len(model.offsets),
            parts=self.parts,
            rows=self.rows,
        )

    def number(self, value: float) -> str:
        if not self.single:
            return repr(float(value))
        try:
            (value,) = unpack("<f", pack("<f", value))  # native pack accepts any double
        except OverflowError:
            raise DataError(f"{value:g} is too large for a float") from None
        text = f"{value:.9g}"
        return f"{text}f" if "." in text or "e" in text else f"{text}.0f"

    def numbers(self, values: Iterable[float]) -> Iterator[str]:
        return map(self.number, values)

    def vectors(self) -> Iterator[str]:
        """The table of the vectors."""
        vectors, first = self.model.vectors, self.model.vectors.first_index
        if self.table == "sparse":
            yield SPARSE_TABLE
            yield from array("int", "begin", map(str, vectors.indptr))
            yield from array("int", "feature", (str(index - first) for index in vectors.indices))
            yield from array("real", "value", self.numbers(vectors.values))
            return
        yield f"\nstatic const real vectors[{max(vectors.n_rows, 1)}][{max(self.n_features, 1)}] = {{"
        for i in range(vectors.n_rows):
            row = ["0"] * max(self.n_features, 1)
            for index, value in vectors.row(i):
                row[index - first] = self.number(value)
            yield "\n{"
            yield from wrapped(row)
            yield "\n},"
        yield "\n};\n" if vectors.n_rows else "{0}};\n"

    def coefficients(self) -> Iterator[str]:
        """The coefficients of the vectors, and the functions to which they belong."""
        n, k, coef = self.model.n_sv, self.parts, self.model.coef
        yield f"\nstatic const real coef[{max(self.rows, 1)}][{max(n, 1)}] = {{"
        for row in range(max(self.rows, 1)):
            yield "\n{"
            yield from wrapped(list(self.numbers(coef[row * n : (row + 1) * n])) or ["0"])
            yield "\n},"
        yield "\n};\n"
        yield from array("real", "rho", self.numbers(self.model.offsets))
        yield PARTS
        yield from array("int", "end_of_part", map(str, accumulate(self.sizes)))
        yield f"\nstatic const int function_of[{k}][{max(self.rows, 1)}] = {{"
        number = {pair: str(f) for f, pair in enumerate(combinations(range(k), 2))}
        for c in range(k):
            others = [number[min(c, j), max(c, j)] for j in range(k) if j != c] or ["0"]
            yield "\n{"
            yield from wrapped(others)
            yield "\n},"
        yield "\n};\n"
        if self.classify:
            yield from array("int", "label", map(str, self.model.class_labels or ()))
        for name in ("sigmoid_a", "sigmoid_b") if self.estimates else ():
            yield from array("real", name, self.numbers(getattr(self.model, name)))

    def functions(self) -> str:
        p, f = self.model.param, "f" if self.single else ""
        kind = p.kernel_type
        sums = (DISTANCE if kind.is_of_distance else OF_TERMS if kind in TERMS else PRODUCT)[self.table]
        kernel = (TERM if kind in TERMS else "") + KERNEL + sums + (SQUARES[self.table] if kind in OF_SQUARES else "")
        predict = REGRESSION if p.svm_type.is_regression else VOTING if self.classify else ONE_CLASS
        text = kernel + KERNELS[kind] + VALUES + predict + (PROBABILITIES if self.estimates else "")
        gamma, coef0 = self.number(p.gamma), self.number(p.coef0)
        for key, value in (("NAME", self.name), ("TERM", TERMS.get(kind, "")), ("DEGREE", p.degree),
                           ("GAMMA", gamma), ("COEF0", coef0),
                           ("SCALING", SCALING if p.gammas else ""), ("ROW", "scaled" if p.gammas else "x"),
                           ("TURNS", max(100, self.parts)), ("_OF_REAL", f)):  # fmt: skip
            text = text.replace(f"@{key}@", str(value))
        return text


def array(kind: str, name: str, values: Iterable[str]) -> Iterator[str]:
    """A table with at least one number, as C requires."""
    found = list(values) or ["0"]
    yield f"\nstatic const {kind} {name}[{len(found)}] = {{"
    yield from wrapped(found)
    yield "\n};\n"


def wrapped(values: list[str]) -> Iterator[str]:
    """Numbers with commas, several on a line."""
    for begin in range(0, len(values), ON_A_LINE):
        yield "\n    " + ", ".join(values[begin : begin + ON_A_LINE]) + ","
