from libsvmx._problem.dual import DualProblem
from libsvmx._typing import Buffer

class AlphaForm:
    alpha: Buffer
    C: Buffer
    y: Buffer
    def __init__(self, problem: DualProblem) -> None: ...

class Positions: ...
class Scans: ...
