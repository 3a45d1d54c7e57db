from libsvmx._problem.dual import DualProblem
from libsvmx._typing import Buffer

def kkt_gap(problem: DualProblem, beta: Buffer, scores: Buffer) -> float: ...
