from collections.abc import Callable

from libsvmx._core.matrix import CsrMatrix
from libsvmx._typing import Buffer

def parse_data(
    text: bytes,
    path: str,
    lenient: bool = False,
    unlabeled: bool = False,
    threads: int | None = None,
    slice_bytes: int = ...,
    told: Callable[[int, int], object] | None = None,
) -> tuple[CsrMatrix, Buffer, Buffer, int]: ...
def parse_vectors(
    text: bytes,
    path: str,
    offset: int,
    line: int,
    n_sv: int,
    n_coef: int,
    threads: int | None = None,
    slice_bytes: int = ...,
) -> tuple[Buffer, CsrMatrix]: ...
