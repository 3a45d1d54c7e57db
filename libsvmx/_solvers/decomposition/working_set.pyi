class Selection:
    rule: int
    kept: float
    def __init__(self, n: int, rule: str, kept: float, seed: int) -> None: ...
