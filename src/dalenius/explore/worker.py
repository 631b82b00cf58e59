"""A solver process: questions come in on standard input, one a line, and events go out on standard output.

It ends when its standard input does, so that nothing is left behind when the server is gone, however it went.
"""

import _thread
import json
import os
import queue
import shutil
import signal
import sys
import threading
import warnings
from pathlib import Path
from typing import Any, BinaryIO

# What one solver may take of the memory, where the system can limit that.
MOST_MEMORY = 4 * 2**30


class Cancelled(BaseException):
    """Nobody wants the answer any more; not an Exception, so that nothing on the way takes it for a failure."""


class Worker:
    """One question at a time. A line {"cancel": number} stops the one with that number."""

    def __init__(self, folder: Path, answers: BinaryIO) -> None:
        """Keep results in the folder."""
        self.folder, self.answers = folder, answers
        self.questions: queue.Queue[dict[str, Any]] = queue.Queue()
        self.running: int | None = None
        self.cancelled = -1
        self.telling = False

    def listen(self) -> None:
        """Read lines until there can be no more: then the server is gone, and what it kept goes too."""
        for line in sys.stdin.buffer:
            message = json.loads(line)
            if "cancel" not in message:
                self.questions.put(message)
                continue
            self.cancelled = message["cancel"]
            if self.running == self.cancelled:
                # Searches end in order at an interrupt, as at Ctrl-C.
                _thread.interrupt_main()
        shutil.rmtree(self.folder, ignore_errors=True)
        os._exit(1)

    def stop(self) -> None:
        """Raise where the question at hand was cancelled."""
        if self.running is not None and self.running <= self.cancelled:
            raise Cancelled

    def interrupted(self, *_: object) -> None:
        """Outside of searches: give up what was cancelled, but never half a line."""
        if not self.telling:
            self.stop()

    def work(self) -> None:
        """Answer questions, for ever."""
        from dalenius.explore.release import Job  # noqa: PLC0415 - the same
        from dalenius.explore.solving import ANSWERS  # noqa: PLC0415 - a second, after the reader has started

        self.tell({"ready": True})
        while True:
            message = self.questions.get()
            number = message["number"]
            path = None if message.get("path") is None else Path(message["path"])
            job = Job(
                message["fields"],
                self.folder,
                lambda event, number=number: self.tell({"number": number, "event": event}),  # type: ignore[misc]
                self.stop,
                bool(message.get("narrow")),
                message.get("file", ""),
                path,
            )
            try:
                self.running = number
                self.stop()
                ANSWERS[message["what"]](job)
            except Cancelled:
                pass
            except Exception as error:  # noqa: BLE001 - the page is to say that there was a defect, and the process lives on
                words = f"{type(error).__name__}: {error}"
                self.tell({"number": number, "event": {"kind": "defect", "words": words[:500]}})
            finally:
                self.running = None
            self.tell({"number": number, "end": True})

    def tell(self, message: dict[str, Any]) -> None:
        """Write one line."""
        self.telling = True
        self.answers.write(json.dumps(message, allow_nan=False).encode() + b"\n")
        self.answers.flush()
        self.telling = False


def main() -> None:
    """Begin; the folder of results is the only argument."""
    warnings.simplefilter("ignore")
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    # Whatever is printed on the way must not stand among the answers.
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    _limit_memory()
    worker = Worker(Path(sys.argv[1]), answers)
    signal.signal(signal.SIGINT, worker.interrupted)
    threading.Thread(target=worker.listen, daemon=True).start()
    worker.work()


def _limit_memory() -> None:
    try:
        import resource  # noqa: PLC0415 - not on every system
    except ImportError:
        return
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    most = MOST_MEMORY if hard == resource.RLIM_INFINITY else min(hard, MOST_MEMORY)
    resource.setrlimit(resource.RLIMIT_AS, (most, hard))


if __name__ == "__main__":
    main()
