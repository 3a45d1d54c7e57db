"""The number of threads started by a call."""

import _thread
import sys
import threading
from unittest import mock


def started_by(call, *args, **options):
    """The result, and the number of Python threads started by the call."""
    begun, before, start = [], threading.getprofile(), _thread.start_new_thread

    def note(frame, event, what):  # called first in each new thread of ``threading``
        sys.setprofile(before)
        begun.append(threading.get_ident())

    def started(*given):
        begun.append(start(*given))

    threading.setprofile(note)
    try:
        with mock.patch.object(_thread, "start_new_thread", started):
            result = call(*args, **options)
    finally:
        threading.setprofile(before)
    return result, len(begun)
