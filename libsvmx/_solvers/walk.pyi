from libsvmx._solvers.pathstate import PathState

class PathLost(ArithmeticError): ...

class Walk(PathState):
    breakpoints: int
    steps: int
    pivots: int
