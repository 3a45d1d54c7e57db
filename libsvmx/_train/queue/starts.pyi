from libsvmx._kernels.gram import GramRows
from libsvmx._solvers.control import Control
from libsvmx._train.queue.tasks import TaskList

class QueueStarts:
    def __init__(self, todo: TaskList, kernel_rows: GramRows, control: Control, most_rows: int) -> None: ...
