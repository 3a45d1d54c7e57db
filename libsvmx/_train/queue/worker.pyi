from collections.abc import Callable

from libsvmx._solvers.control import Control
from libsvmx._train.queue.tasks import TaskList

class QueueControl(Control): ...

class Worker:
    def __init__(self, todo: TaskList, should_stop: Callable[[], bool]) -> None: ...
