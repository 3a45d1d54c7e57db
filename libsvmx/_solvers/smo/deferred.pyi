class DeferredUpdates:
    n: int

class GBar:
    updates: DeferredUpdates
    def __init__(self, n: int, positions: int) -> None: ...
