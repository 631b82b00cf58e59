"""A certificate in a file is checked in a process of its own: whatever it does there, the caller gets an answer.

FLINT ends the whole process when memory runs out, and a call of FLINT cannot be interrupted. So the file of a stranger
goes to a child process, whose memory the system limits and which is killed when its time is over.

`python -m dalenius.certificates.process MEMORY SECONDS [MECHANISM]` is that child. It reads the certificate from
standard input, the description of a mechanism from the file MECHANISM, and prints the verdict as one JSON object.
"""

import contextlib
import errno
import json
import math
import os
import signal
import stat
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from .limits import MIB

try:
    import resource
except ImportError:  # not a Unix: memory is limited by the estimate alone
    resource = None  # type: ignore[assignment]

GRACE = 5.0  # seconds beyond the time limit: the child ends by itself first, and says more
ROOM = 64 * MIB  # for the interpreter's own work beyond what it holds at the start
LARGEST = 2**62  # beyond it a limit is none
STATM = Path("/proc/self/statm")  # the address space in use, where there is such a file


def available() -> bool:
    """Whether this interpreter can start another one."""
    return bool(sys.executable)


def verdict(path: Path, mechanism: dict[str, object] | None, *, memory: int, time_limit: float) -> dict[str, Any]:
    """Return the fields of a Verification of the certificate in this file. OSError when it cannot be read."""
    source = _open(path)
    try:
        with tempfile.TemporaryDirectory(prefix="dalenius-") as folder:
            command = [sys.executable, "-P", "-m", __name__, str(memory), repr(time_limit)]
            if mechanism is not None:
                described = Path(folder) / "mechanism.json"
                described.write_text(json.dumps(mechanism), encoding="ascii")
                command.append(str(described))
            return _run(command, source, memory, time_limit)
    finally:
        os.close(source)


def _open(path: Path) -> int:
    """Open a file for reading; a FIFO without a writer is empty, and does not block."""
    source = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    if stat.S_ISDIR(os.fstat(source).st_mode):
        os.close(source)
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if hasattr(os, "set_blocking"):
        os.set_blocking(source, True)
    return source


def _run(command: list[str], source: int, memory: int, time_limit: float) -> dict[str, Any]:
    """Start the child and wait for its answer."""
    # The child finds the same packages, and nothing in the current folder that the caller would not find.
    paths = os.pathsep.join(p or os.getcwd() for p in sys.path)  # noqa: PTH109 - as the interpreter does
    environment = {**os.environ, "PYTHONPATH": paths, "PYTHONIOENCODING": "ascii"}
    with subprocess.Popen(  # noqa: S603 - our own interpreter
        command, stdin=source, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment
    ) as child:
        try:
            answer, _ = child.communicate(timeout=time_limit + GRACE)
        except subprocess.TimeoutExpired:
            child.kill()
            return _not_checked("the time limit was reached; allow more with time_limit= (--time-limit)")
        except BaseException:
            child.kill()
            raise
    if child.returncode == 0:
        with contextlib.suppress(ValueError):
            found: dict[str, Any] = json.loads(answer)
            return found
    if child.returncode == -getattr(signal, "SIGXCPU", math.inf):
        return _not_checked("the time limit was reached; allow more with time_limit= (--time-limit)")
    return _not_checked(
        f"its process ended with exit code {child.returncode}, most likely because checking needs more than "
        f"{memory} MiB of memory; allow more with memory= (--memory)"
    )


def _not_checked(why: str) -> dict[str, Any]:
    return {"verified": False, "reason": f"not checked: {why}"}


def main(arguments: list[str]) -> int:
    """Check the certificate on standard input; print the verdict."""
    from .verify import verify_stream  # noqa: PLC0415 - verify.py starts this process, and this one needs it

    memory, time_limit = int(arguments[0]), float(arguments[1])
    mechanism = None
    if arguments[2:]:
        mechanism = json.loads(Path(arguments[2]).read_text(encoding="ascii"))
    _limit(memory, time_limit)
    found = verify_stream(sys.stdin.buffer, mechanism, memory=memory, time_limit=time_limit)
    sys.stdout.write(json.dumps(found))
    return 0


def _limit(memory: int, time_limit: float) -> None:
    """Let the system limit memory, and the time that is left to a child whose parent was killed."""
    if resource is None:
        return
    if STATM.exists():
        held = int(STATM.read_text(encoding="ascii").split()[0]) * resource.getpagesize()
        _lower(resource.RLIMIT_AS, held + ROOM + memory * MIB)
    _lower(resource.RLIMIT_CPU, math.ceil(time_limit + 2 * GRACE))
    _lower(resource.RLIMIT_CORE, 0)


def _lower(what: int, value: int) -> None:
    if value >= LARGEST:
        return
    _, hard = resource.getrlimit(what)
    limit = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(what, (limit, limit))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
