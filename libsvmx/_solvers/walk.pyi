from libsvmx._solvers.pathstate import PathState

class Walk(PathState):
    breakpoints: int
    steps: int
    pivots: int
