from libsvmx._core.matrix import RowsOnDemand

class RowSource(RowsOnDemand):
    left_bytes: float | None
    divisible: bool
    def keep_up_to(self, n_bytes: float, in_float: bool = False) -> None: ...
