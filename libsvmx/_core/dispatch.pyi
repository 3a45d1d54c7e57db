from collections.abc import Mapping

VARIABLE: str
BUILT: dict[str, bool]
RUNNABLE: dict[str, bool]
CHOSEN: str

def fitting(wanted: str, built: Mapping[str, bool], runnable: Mapping[str, bool]) -> str: ...
def address(name: str) -> int: ...
