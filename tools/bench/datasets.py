"""The data of a case: read or generated, cut or scaled as the case says, and cached as arrays."""

import hashlib
import lzma
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

import libsvmx
from tools.bench import ROOT, generated
from tools.bench.measure import Unavailable

# svm-train's options, and their names in libsvmx.train
WHOLE = {"-s": "svm_type", "-t": "kernel_type", "-d": "degree", "-h": "shrinking", "-b": "probability"}
REAL = {"-g": "gamma", "-r": "coef0", "-c": "C", "-n": "nu", "-p": "p", "-m": "cache_size", "-e": "eps"}


@dataclass(frozen=True)
class Dataset:
    """Rows with LIBSVM's indices, and targets.

    indptr : int64, shape (n + 1,)     indices : int32, values : float64, shape (nnz,)     targets : float64, shape (n,)
    """

    indptr: np.ndarray
    indices: np.ndarray
    values: np.ndarray
    targets: np.ndarray


def find(folder, name):
    """The file of a set, plain or .xz, in ``folder`` or else among the repository's own small sets."""
    for place in (folder, ROOT / "data"):
        for path in (place / name, place / f"{name}.xz"):
            if path.exists():
                return path
    raise Unavailable(f"{name} is not in {folder}")


def prepare(case, folder, cache):
    """The arrays of a case as an .npz file in ``cache``, created if missing. Raises Unavailable."""
    if case.data in generated.SETS:
        key = key_of(Path(generated.__file__).read_bytes())
        return kept(cache / f"{case.data}-{case.rows}-{key}.npz", lambda: drawn(case))
    source = find(folder, case.data)
    change = (case.rows, case.parity, case.factor, case.standard, case.every)
    return kept(cache / f"{case.data}-{key_of(*_version(source), change)}.npz", lambda: read(source, case))


def plain_text(source, cache):
    """The text of a set, decompressed; a plain file is used in place."""
    if source.suffix != ".xz":
        return source
    return kept(cache / f"{source.stem}-{key_of(*_version(source))}.txt", lambda: lzma.decompress(source.read_bytes()))


def kept(path, made):
    """``path``, written with the result of ``made``, a Dataset or bytes, if it does not exist."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_name(f"partial-{path.name}")  # an interrupted write must not look like a whole file
        content = made()
        if isinstance(content, bytes):
            partial.write_bytes(content)
        else:
            np.savez(partial, **vars(content))
        partial.replace(path)
    return path


def _version(source):
    status = source.stat()
    return source.resolve(), status.st_size, status.st_mtime_ns


def key_of(*content):
    """A hash of ``content``, for the name of a cached file."""
    return hashlib.sha256(repr(content).encode()).hexdigest()[:16]


def read(source, case):
    matrix, targets = libsvmx.read_problem(str(source))
    dataset = Dataset(*map(np.asarray, (matrix.indptr, matrix.indices, matrix.values, targets)))
    dataset = part_of(dataset, np.arange(0, len(targets), case.every)[: case.rows or None])
    if case.factor != 1:
        dataset = replace(dataset, values=dataset.values * case.factor)
    if case.parity:
        dataset = replace(dataset, targets=np.where(dataset.targets % 2 == 0, 1.0, -1.0))
    return standardized(dataset) if case.standard else dataset


def drawn(case):
    return dense_dataset(*generated.drawn(case.data, case.rows))


def standardized(dataset):
    """Columns of mean 0 and deviation 1; constant columns become 0."""
    X = scipy_matrix(dataset).toarray()
    width = X.std(axis=0)
    return dense_dataset((X - X.mean(axis=0)) / np.where(width > 0, width, 1.0), dataset.targets)


def dense_dataset(X, targets):
    """X : float64, shape (n, d); zeros are left out."""
    from scipy import sparse

    return of_scipy(sparse.csr_matrix(X), targets)


def part_of(dataset, rows):
    """Rows of a Dataset, in the order given."""
    return of_scipy(scipy_matrix(dataset)[rows], dataset.targets[rows])


def of_scipy(X, targets):
    return Dataset(X.indptr.astype(np.int64), X.indices.astype(np.int32) + 1, X.data, targets)


def scipy_matrix(dataset):
    """scipy.sparse.csr_matrix, shape (n, largest index): column = LIBSVM's index - 1."""
    from scipy import sparse

    shape = (len(dataset.targets), int(dataset.indices.max(initial=1)))
    return sparse.csr_matrix((dataset.values, dataset.indices - 1, dataset.indptr), shape=shape)


def csr_matrix(dataset):
    """libsvmx's own CsrMatrix."""
    return libsvmx.CsrMatrix(dataset.indptr, dataset.indices, dataset.values)


def load(path):
    with np.load(path) as arrays:
        return Dataset(**arrays)


def keywords(options, max_index):
    """Keyword arguments of libsvmx.train for svm-train's options, the default gamma filled in."""
    words = options.split()
    given = {"gamma": 1 / max_index, "weights": []}
    for option, value in zip(words[::2], words[1::2], strict=True):
        if option.startswith("-w"):
            given["weights"].append((int(option[2:]), float(value)))
        else:
            given[(WHOLE | REAL)[option]] = int(value) if option in WHOLE else float(value)
    return given


def parameter(options, max_index):
    return libsvmx.Parameter(**keywords(options, max_index))
