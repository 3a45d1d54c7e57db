"""The data of a case: found, read once, cut or scaled as the case says, and kept as arrays in a cache folder."""

from __future__ import annotations

import hashlib
import lzma
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tools.bench import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from tools.bench.cases import Case


@dataclass(frozen=True)
class Dataset:
    """Rows with LIBSVM's indices, and targets.

    indptr : int64, shape (n + 1,)     indices : int32, values : float64, shape (nnz,)     targets : float64, shape (n,)
    """

    indptr: NDArray[Any]
    indices: NDArray[Any]
    values: NDArray[Any]
    targets: NDArray[Any]


def find(folder: Path, name: str) -> Path | None:
    """The file of a set, plain or .xz, in ``folder`` or else among the repository's own small sets."""
    for place in (folder, ROOT / "data"):
        for path in (place / name, place / f"{name}.xz"):
            if path.exists():
                return path
    return None


def prepare(case: Case, source: Path, cache: Path) -> Path:
    """The arrays of a case as an .npz file in ``cache``, made if it is not there yet."""
    change = (case.rows, case.parity, case.factor, case.standard, case.every)
    path = cache / f"{case.data}-{_key(source, *change)}.npz"
    if not path.exists():
        dataset = read(source, case)
        cache.mkdir(parents=True, exist_ok=True)
        partial = path.with_suffix(".partial.npz")  # an interrupted write must not look like a whole file
        np.savez(partial, **vars(dataset))
        partial.replace(path)
    return path


def plain_text(source: Path, cache: Path) -> Path:
    """The text of a set without compression; a plain file is taken as it is."""
    if source.suffix != ".xz":
        return source
    path = cache / f"{source.stem}-{_key(source)}.txt"
    if not path.exists():
        cache.mkdir(parents=True, exist_ok=True)
        partial = path.with_suffix(".partial")
        with lzma.open(source) as packed:
            partial.write_bytes(packed.read())
        partial.replace(path)
    return path


def _key(source: Path, *change: object) -> str:
    """Changes with the file and with what is made of it."""
    status = source.stat()
    return hashlib.sha256(repr((source.resolve(), status.st_size, status.st_mtime_ns, change)).encode()).hexdigest()[
        :16
    ]


def read(source: Path, case: Case) -> Dataset:
    from libsvmx.io.svmlight import read_data

    data = read_data(str(source))
    matrix = data.matrix
    dataset = Dataset(*map(np.asarray, (matrix.indptr, matrix.indices, matrix.values, data.targets)))
    rows = np.arange(0, matrix.n_rows, case.every)[: case.rows or None]
    dataset = part_of(dataset, rows)
    if case.factor != 1:
        dataset = replace(dataset, values=dataset.values * case.factor)
    if case.parity:
        dataset = replace(dataset, targets=np.where(dataset.targets % 2 == 0, 1.0, -1.0))
    return standardized(dataset) if case.standard else dataset


def part_of(dataset: Dataset, rows: Any) -> Dataset:
    """Rows of a Dataset, in the order given."""
    spans = [slice(dataset.indptr[r], dataset.indptr[r + 1]) for r in rows]
    indptr = np.concatenate([[0], np.cumsum([span.stop - span.start for span in spans])]).astype(np.int64)
    indices = np.concatenate([dataset.indices[span] for span in spans])
    return Dataset(indptr, indices, np.concatenate([dataset.values[span] for span in spans]), dataset.targets[rows])


def standardized(dataset: Dataset) -> Dataset:
    """Columns of mean 0 and deviation 1; those that are the same everywhere become 0."""
    X = scipy_matrix(dataset).toarray()
    width = X.std(axis=0)
    return dense_dataset((X - X.mean(axis=0)) / np.where(width > 0, width, 1.0), dataset.targets)


def dense_dataset(X: NDArray[Any], targets: NDArray[Any]) -> Dataset:
    """X : float64, shape (n, d); zeros are left out."""
    from scipy.sparse import csr_matrix as scipy_csr

    matrix = scipy_csr(X)
    return Dataset(matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32) + 1, matrix.data, targets)


def load(path: Path | str) -> Dataset:
    with np.load(path) as arrays:
        return Dataset(**arrays)


def csr_matrix(dataset: Dataset) -> Any:
    """libsvmx's own CsrMatrix."""
    from libsvmx._core.matrix import CsrMatrix

    return CsrMatrix(dataset.indptr, dataset.indices, dataset.values)


def scipy_matrix(dataset: Dataset) -> Any:
    """scipy.sparse.csr_matrix, shape (n, largest index): column = LIBSVM's index - 1."""
    from scipy.sparse import csr_matrix as scipy_csr

    shape = (len(dataset.targets), int(dataset.indices.max(initial=1)))
    return scipy_csr((dataset.values, dataset.indices - 1, dataset.indptr), shape=shape)


def parameter(options: str, max_index: int) -> Any:
    """libsvmx's Parameter of svm-train's options, with the default gamma filled in."""
    from libsvmx._train.training import default_gamma
    from libsvmx.cli.train import parse_arguments

    _, param, _, _ = parse_arguments([*options.split(), "data"])
    return default_gamma(param, max_index)
