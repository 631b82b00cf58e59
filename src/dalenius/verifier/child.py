"""The child process in which certificates are checked that the calling process did not make; process.py starts it.

FLINT ends the whole process when memory runs out, and a call of FLINT cannot be interrupted. So a stranger's
certificate is checked in a process of its own, whose memory and time the system limits.

Questions come through the socket that is its standard input. A question is one line of JSON, and with it come one or
two open files: the certificate, and the description of a mechanism to compare it with. The answer is one line of JSON.
The child ends with the process that asks, or after a check that left it much larger than it was.
"""

import contextlib
import json
import math
import os
import resource
import signal
import socket
import sys
import time
from pathlib import Path
from typing import Any

from .limits import MIB, largest, sized
from .verify import verify_stream

STATM = Path("/proc/self/statm")  # address space and resident memory of this process, where there is such a file
# Seconds beyond the time limit after which the system ends the child; whoever asks, where it still lives, does before.
GRACE = 1.0
WITH_NUMPY = 192  # MiB below which leaves are checked in balls, without NumPy
# Bytes of address space by which the child may have grown when it takes another question.
GROWN = 32 * MIB


def main() -> None:
    """Answer the questions that come through standard input."""
    with socket.socket(fileno=os.dup(0)) as asked:
        serve(asked)


def serve(asked: socket.socket) -> None:
    """Answer until whoever asks has gone, or a check has left this process much larger than it was."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    before, more = _taken(), True
    while more:
        question, files, _, _ = socket.recv_fds(asked, 4096, 2)
        if not question:
            return
        found = _answer(files, **json.loads(question), before=before)
        more = _taken()[0] <= before[0] + GROWN
        asked.sendall(json.dumps({**found, "more": more}).encode("ascii") + b"\n")


def _answer(files: list[int], memory: int, seconds: float, before: tuple[int, int]) -> dict[str, Any]:
    """Check one certificate within MiB and seconds; before: what this process had taken when it began."""
    with contextlib.ExitStack() as stack:
        opened = [stack.enter_context(os.fdopen(file, "rb", buffering=0)) for file in files]
        _limit(memory, seconds, before)
        # NumPy ends the process where memory is too little for it.
        with sized(numpy_leaves=largest().numpy_leaves if memory >= WITH_NUMPY else sys.maxsize):
            found = verify_stream(*opened, memory=memory, time_limit=seconds)
        signal.setitimer(signal.ITIMER_REAL, 0)
        return found


def _taken() -> tuple[int, int]:
    """Bytes of address space and of memory that this process takes; 0 where the system does not tell."""
    if not STATM.exists():
        return 0, 0
    space, resident = STATM.read_text(encoding="ascii").split()[:2]
    return int(space) * resource.getpagesize(), int(resident) * resource.getpagesize()


def _limit(memory: int, seconds: float, before: tuple[int, int]) -> None:
    """Let the system limit memory and processor time, and end a child that nobody waits for any more.

    What the child takes itself counts. Pages that it has but did not use yet may come on top, a few MiB.
    """
    space, resident = before
    if space:
        _lower(resource.RLIMIT_AS, space + max(0, memory * MIB - resident))
    _lower(resource.RLIMIT_CPU, math.ceil(time.process_time() + seconds + GRACE))
    signal.setitimer(signal.ITIMER_REAL, seconds + GRACE)


def _lower(what: int, value: int, none: int = 2**62) -> None:
    """Limit this process until the next question; a value of 2^62 or more is no limit."""
    _, hard = resource.getrlimit(what)
    free = hard == resource.RLIM_INFINITY
    resource.setrlimit(what, (hard if value >= none else value if free else min(value, hard), hard))
