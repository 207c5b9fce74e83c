"""Runs a command that is interrupted by a signal after a known iteration of learning."""

from commands import in_a_process

SCRIPT = """
import importlib, os, signal, sys
import baselines.training.loop as loop
from baselines.__main__ import main

module, name = {path!r}.split(":")
learner = getattr(importlib.import_module(module), name)
loop.CHECKPOINT_SECONDS, loop.MAX_SAVING_FRACTION = 0.0, float("inf")  # after every iteration
learn = learner.learn


def hooked(self):
    metrics = learn(self)
    if self.iterations == {iteration}:
        os.kill(os.getpid(), signal.{signal})
    return metrics


learner.learn = hooked
sys.argv[0] = "baselines"
main()
"""


def interrupted(path, iteration, signal, *arguments):
    """Run a command in which a learner, `module:Class`, gets a signal after an iteration."""
    script = SCRIPT.format(path=path, iteration=iteration, signal=signal)
    return in_a_process("-c", script, *arguments)
