"""A process that works for this one: it is handed a function and what that is to be called with, and answers."""

import os
import pickle
import subprocess
import sys
import warnings
from collections.abc import Callable
from typing import Any

from dalenius.search.crew import ONE_THREAD


class Helper:
    """The process, asked through its standard input, which ends when this process does."""

    def __init__(self) -> None:
        """Start it. A terminal's Ctrl-C is for the process that it works for."""
        command = [sys.executable, "-c", "from dalenius.search.helper import serve; serve()"]
        path = os.pathsep.join(entry for entry in sys.path if entry)
        self._process = subprocess.Popen(  # noqa: S603 - this very program
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=os.environ | ONE_THREAD | {"PYTHONPATH": path},
            start_new_session=True,
        )

    def call(self, function: Callable[[Any], Any], given: object) -> Any:  # noqa: ANN401 - as the function
        """What the function returns there; None where the process has ended, or the question cannot travel."""
        try:
            question = pickle.dumps((function, given), protocol=pickle.HIGHEST_PROTOCOL)
        except (pickle.PicklingError, TypeError, AttributeError):
            return None
        pipes = self._process.stdin, self._process.stdout
        assert pipes[0] is not None  # noqa: S101 - for the type checker: it was asked for
        assert pipes[1] is not None  # noqa: S101 - the same
        try:
            pipes[0].write(question)
            pipes[0].flush()
            return pickle.load(pipes[1])  # noqa: S301 - our own process
        except (OSError, EOFError, ValueError, pickle.UnpicklingError):
            return None

    def end(self) -> None:
        """End it, whatever it does."""
        self._process.kill()
        self._process.wait()

    def close(self) -> None:
        """Let go of the pipes, once nobody waits for an answer."""
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                try:
                    pipe.close()
                except OSError:
                    continue


def serve() -> None:
    """Answer what comes in, until nothing more can come."""
    warnings.simplefilter("ignore")
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    # Whatever is printed on the way must not stand among the answers.
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    while True:
        try:
            function, given = pickle.load(sys.stdin.buffer)  # noqa: S301 - from the process that started this one
        except EOFError:
            return
        answers.write(pickle.dumps(function(given), protocol=pickle.HIGHEST_PROTOCOL))
        answers.flush()
