"""A process that works for this one: it is handed a function and what that is to be called with, and answers.

One protocol for lists of audits, points of studies and questions of the explorer. The process has one question at a
time, may tell of events before its answer, can be asked to give a question up, and ends when this process does, however
that ends.
"""

import _thread
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, BinaryIO, Literal

from dalenius.search.deadline import ONE_THREAD

Kind = Literal["event", "answer"]
Message = tuple[Kind, Any]
Function = Callable[..., Any]
# Seconds for what is done when the process that this one works for is gone.
GRACE = 5.0


class NoAnswerError(Exception):
    """The process has ended, or the question cannot be sent to it; the message says how."""


class Cancelled(BaseException):
    """Nobody wants the answer any more; not an Exception, so that nothing on the way takes it for a failure."""


def cores() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Helper:
    """The process, asked through its standard input. One thread asks at a time, and one reads."""

    def __init__(self, begin: Callable[[], Callable[[], None]] | None = None) -> None:
        """Start it. begin: called there first; what it returns is called there when this process is gone."""
        command = [sys.executable, "-c", "from dalenius.search.helper import serve; serve()"]
        path = os.pathsep.join(entry for entry in sys.path if entry)
        self._process = subprocess.Popen(  # noqa: S603 - this very program
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=os.environ | ONE_THREAD | {"PYTHONPATH": path},
            # A terminal's Ctrl-C is for the process that it works for.
            start_new_session=True,
        )
        self._number = 0
        if begin is not None:
            self._send(begin)

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether the process is there."""
        return self._process.poll() is None

    def call(self, function: Function, given: object) -> Any:
        """Return what the function returns there; NoAnswerError where there is no answer."""
        self.ask(function, given)
        while True:
            kind, content = self.read()
            if kind == "answer":
                return content

    def ask(self, function: Function, given: object, *, talks: bool = False) -> None:
        """Send a question. talks: the function takes a Line too, by which it tells of events."""
        self._number += 1
        self._send((self._number, function, given, talks))

    def cancel(self) -> None:
        """Ask it to give up the question at hand; its answer is then None."""
        self._send(self._number)

    def read(self) -> Message:
        """Wait for the next event or the answer of the newest question."""
        while True:
            try:
                assert self._process.stdout is not None  # for the type checker: it was asked for
                number, kind, content = pickle.load(self._process.stdout)  # noqa: S301 - our own process
            except (OSError, EOFError, ValueError, pickle.UnpicklingError):
                raise NoAnswerError(self._how()) from None
            if number == self._number:
                return kind, content

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

    def _send(self, content: object) -> None:
        assert self._process.stdin is not None  # as above
        try:
            self._process.stdin.write(pickle.dumps(content, protocol=pickle.HIGHEST_PROTOCOL))
            self._process.stdin.flush()
        except (pickle.PicklingError, TypeError, AttributeError) as error:
            message = f"cannot be asked: {error}"
            raise NoAnswerError(message) from None
        except (OSError, ValueError):
            raise NoAnswerError(self._how()) from None

    def _how(self) -> str:
        try:
            code = self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            # It lives, and what it sends is not an answer.
            self.end()
            code = self._process.wait()
        return f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"


class Line:
    """What a function has while it works: it tells of events, and learns that nobody wants the answer any more."""

    def __init__(self, served: "_Served", number: int) -> None:
        """Belong to the question of this number."""
        self._served, self._number = served, number

    def tell(self, event: object) -> None:
        """Send an event."""
        self._served.send(self._number, "event", event)

    def stop(self) -> None:
        """Raise Cancelled where the question was given up."""
        self._served.stop()


class _Served:
    """The other end: one question at a time, in the main thread; a second thread reads what comes in."""

    def __init__(self, answers: BinaryIO) -> None:
        self.answers = answers
        self.questions: SimpleQueue[tuple[int, Function, object, bool]] = SimpleQueue()
        self.running = 0
        self.cancelled = -1
        self.sending = False
        self.gone: Callable[[], None] = lambda: None

    def listen(self) -> None:
        """Read until nothing more can come: then the process that this one works for is gone."""
        try:
            while True:
                message = pickle.load(sys.stdin.buffer)  # noqa: S301 - from the process that started this one
                if callable(message):
                    self.gone = message()
                elif isinstance(message, int):
                    self.cancelled = message
                    if self.running == message:
                        # Searches end in order at an interrupt, as at Ctrl-C.
                        _thread.interrupt_main()
                else:
                    self.questions.put(message)
        except EOFError:
            self.gone()
        except BaseException:  # noqa: BLE001 - whatever it is, nobody can ask any more
            traceback.print_exc()
        os._exit(1)

    def work(self) -> None:
        """Answer questions, for ever; an exception of a function ends the process."""
        while True:
            number, function, given, talks = self.questions.get()
            answer = None
            try:
                self.running = number
                self.stop()
                answer = function(given, Line(self, number)) if talks else function(given)
            except Cancelled:
                pass
            finally:
                self.running = 0
            self.send(number, "answer", answer)

    def stop(self, *_: object) -> None:
        """Raise Cancelled where the question at hand was given up, but never within half a message."""
        if self.running and self.running <= self.cancelled and not self.sending:
            raise Cancelled

    def send(self, number: int, kind: Kind, content: object) -> None:
        self.sending = True
        self.answers.write(pickle.dumps((number, kind, content), protocol=pickle.HIGHEST_PROTOCOL))
        self.answers.flush()
        self.sending = False


def serve() -> None:
    """Answer what comes in, until the process that started this one is gone."""
    warnings.simplefilter("ignore")
    served = _Served(os.fdopen(os.dup(sys.stdout.fileno()), "wb"))
    # Whatever is printed on the way must not stand among the answers.
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    signal.signal(signal.SIGINT, served.stop)
    threading.Thread(target=served.listen, daemon=True).start()
    try:
        served.work()
    except BrokenPipeError:
        # Nobody reads answers any more; the other thread sees that too, cleans up, and ends the process.
        time.sleep(GRACE)
    except BaseException:  # noqa: BLE001 - a defect of the function: its question has no answer
        traceback.print_exc()
    # At once: the other thread holds standard input, and Python would wait for it.
    os._exit(1)
