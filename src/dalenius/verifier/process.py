"""A certificate in a file is checked in a process of its own: whatever it does there, the caller gets an answer.

FLINT ends the whole process when memory runs out, and a call of FLINT cannot be interrupted. So the file of a stranger
goes to a child process, whose memory the system limits and which is killed when its time is over.

The child is an isolated interpreter that finds the standard library, this package, and the folder of python-flint, from
which it takes NumPy too where that is installed: neither the current folder nor the environment has a say. It reads
the certificate from standard input and prints the verdict as one JSON object.
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
from typing import IO, Any

import flint

from .limits import MIB, largest, sized

try:
    import resource
except ImportError:  # pragma: no cover - not a Unix: no child is started there
    resource = None  # type: ignore[assignment]

STATM = Path("/proc/self/statm")  # the address space in use, where there is such a file
WITH_NUMPY = 192  # MiB below which the child does without NumPy
CHILD = f"import sys; sys.path += sys.argv[1:3]; from {__name__} import main; sys.exit(main(sys.argv[3:]))"


def available() -> bool:
    """Whether this interpreter can start another one that can be limited."""
    return bool(sys.executable) and os.name == "posix" and not getattr(sys, "frozen", False)


def verdict(
    path: Path, mechanism: dict[str, object] | None, *, memory: int, time_limit: float, grace: float = 5.0
) -> dict[str, Any]:
    """Return the fields of a Verification of the certificate in this file. OSError when it cannot be read.

    grace: seconds beyond the time limit before the child is killed; it ends by itself first, and says more.
    """
    with _opened(path) as source, contextlib.ExitStack() as stack:
        described = None
        if mechanism is not None:
            # A file without a name: it is gone when both processes are.
            described = stack.enter_context(tempfile.TemporaryFile())
            described.write(json.dumps(mechanism).encode("ascii"))
            described.seek(0)
        return _run(source, described, memory, time_limit, grace)


def _opened(path: Path) -> IO[bytes]:
    """Open a file for reading; a FIFO without a writer is empty, and does not block."""
    try:
        source = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except ValueError:  # a name that no file can have
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path)) from None
    if stat.S_ISDIR(os.fstat(source).st_mode):
        os.close(source)
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    os.set_blocking(source, True)
    return os.fdopen(source, "rb", buffering=0)


def _run(
    source: IO[bytes], described: IO[bytes] | None, memory: int, time_limit: float, grace: float
) -> dict[str, Any]:
    """Start the child and wait for its answer."""
    packages = [str(Path(__file__).resolve().parents[2]), str(Path(str(flint.__file__)).resolve().parents[1])]
    command = [sys.executable, "-I", "-S", "-c", CHILD, *packages, str(memory), repr(time_limit)]
    passed = [] if described is None else [described.fileno()]
    with subprocess.Popen(  # noqa: S603 - our own interpreter
        [*command, *map(str, passed)],
        stdin=source,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        pass_fds=passed,
        # Threads of linear algebra set memory aside, each for itself.
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
    ) as child:
        try:
            answer, _ = child.communicate(timeout=time_limit + grace)
        except subprocess.TimeoutExpired:
            child.kill()
            return _out_of_time()
        except BaseException:
            child.kill()
            raise
    if child.returncode == 0:
        with contextlib.suppress(ValueError):
            found: dict[str, Any] = json.loads(answer)
            return found
    if child.returncode in (-signal.SIGXCPU, -signal.SIGALRM):
        return _out_of_time()
    ended = f"its process ended with exit code {child.returncode}"
    if child.returncode < 0:
        ended += f", most likely because checking needs more than {memory} MiB; allow more with memory= (--memory)"
    return _not_checked(ended)


def _out_of_time() -> dict[str, Any]:
    return _not_checked("the time limit was reached; allow more with time_limit= (--time-limit)")


def _not_checked(why: str) -> dict[str, Any]:
    return {"verified": False, "reason": f"not checked: {why}"}


def main(arguments: list[str]) -> int:
    """Check the certificate on standard input: MEMORY SECONDS [descriptor of a mechanism's description]."""
    from .verify import verify_stream  # noqa: PLC0415 - verify.py starts this process, and this one needs it

    memory, time_limit = int(arguments[0]), float(arguments[1])
    _limit(memory, time_limit)
    mechanism = None
    if arguments[2:]:
        with os.fdopen(int(arguments[2]), "rb") as described:
            mechanism = json.load(described)
    # NumPy ends the process where memory is too little for it.
    with sized(numpy_leaves=largest().numpy_leaves if memory >= WITH_NUMPY else sys.maxsize):
        found = verify_stream(sys.stdin.buffer, mechanism, memory=memory, time_limit=time_limit)
    sys.stdout.write(json.dumps(found))
    return 0


def _limit(memory: int, time_limit: float, room: int = 64 * MIB, grace: float = 10.0) -> None:
    """Let the system limit memory, and the time of a child whose parent was killed.

    room: bytes for the interpreter's own work beyond what it holds at the start. grace: seconds; the parent, where it
    still lives, ends the child before.
    """
    if STATM.exists():
        held = int(STATM.read_text(encoding="ascii").split()[0]) * resource.getpagesize()
        _lower(resource.RLIMIT_AS, held + room + memory * MIB)
    seconds = math.ceil(time_limit + grace)
    _lower(resource.RLIMIT_CPU, seconds)
    _lower(resource.RLIMIT_CORE, 0)
    signal.setitimer(signal.ITIMER_REAL, seconds)


def _lower(what: int, value: int, none: int = 2**62) -> None:
    """Lower a limit of this process; a value of 2^62 or more is none."""
    if value >= none:
        return
    _, hard = resource.getrlimit(what)
    limit = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(what, (limit, limit))
