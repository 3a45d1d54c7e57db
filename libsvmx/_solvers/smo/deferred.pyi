class Terms:
    n: int

class BoundScores:
    terms: Terms
    def __init__(self, n: int) -> None: ...
