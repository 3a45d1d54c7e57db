from libsvmx._solvers.path.path_state import PathState

class Walk(PathState):
    breakpoints: int
    steps: int
    pivots: int
