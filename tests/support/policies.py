"""Policies that force a mechanism, and how a command gets one."""

from math import inf

from libsvmx._train import policy
from libsvmx._train.policy import KernelPolicy

__all__ = ["ALWAYS_SHARED", "BY_CLASSES", "IN_TURN", "NEVER_SHARED", "KernelPolicy", "of_commands"]

# No queue.
IN_TURN = KernelPolicy(queue=False)
# Kernel values shared by pairs of classes in a queue; not used for two classes or regression.
BY_CLASSES = KernelPolicy(max_gram_bytes=0)
# Rows shared never, or always, whatever their cost.
NEVER_SHARED = KernelPolicy(queue=False, small_bytes=-1, expensive_ns=inf)
ALWAYS_SHARED = KernelPolicy(queue=False, small_bytes=inf)


def of_commands(monkeypatch, **fields):
    """Commands take no policy; this gives them one with these fields."""
    monkeypatch.setattr(policy, "USUAL", KernelPolicy(**fields))
