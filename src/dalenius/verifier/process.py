"""What this process did not make is checked in a child process: whatever happens there, the caller has an answer.

FLINT ends the whole process when memory runs out, and a call of FLINT cannot be interrupted. The child is an isolated
interpreter that finds the standard library, this package, and the folder of python-flint, from which it takes NumPy too
where that is installed: neither the current folder nor the environment has a say. The system limits its memory and its
processor time, and it is killed when its time is over.
"""

import contextlib
import errno
import io
import json
import math
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import IO, Any

import flint

from .kernel.limits import MIB, NotChecked, largest, sized, within
from .kernel.reading import Refused, write
from .verify import verify_stream

# Folders of packages come first, then what `check` is called with.
CHILD = f"import json, sys; sys.path += sys.argv[1:-1]; from {__name__} import check; check(**json.loads(sys.argv[-1]))"
# Seconds beyond the time limit after which the child is killed, so that the answer is there within one. The child ends
# the check by itself before, and says more. Where nobody is left to kill it, the system does after so many.
GRACE, ALARM = 0.75, 1.0
# Systems of which os.name is "posix" too, but where no process can start another.
ALONE = ("emscripten", "wasi", "ios", "tvos", "watchos")
STATM = Path("/proc/self/statm")  # address space and resident memory of this process, where there is such a file
WITH_NUMPY = 192  # MiB below which leaves are checked in balls, without NumPy


def available() -> bool:
    """Whether this interpreter can start another one that can be limited."""
    frozen = getattr(sys, "frozen", False)
    return bool(sys.executable) and os.name == "posix" and sys.platform not in ALONE and not frozen


def verdict(source: object, mechanism: object, *, memory: int, time_limit: float) -> dict[str, Any]:
    """Return the fields of a Verification of a certificate: in the file at a Path, or as data.

    OSError when a file cannot be read. Data are written as JSON, for the child to read.
    """
    end = time.monotonic() + time_limit + GRACE
    with contextlib.ExitStack() as stack:
        files: list[IO[bytes] | io.FileIO] = [stack.enter_context(_opened(source))] if isinstance(source, Path) else []
        try:
            with within(time_limit):
                for data in [*([] if files else [source]), *([] if mechanism is None else [mechanism])]:
                    # Without buffers, which would write again, and fail again, when the file is closed.
                    files.append(stack.enter_context(tempfile.TemporaryFile(buffering=0)))
                    write(data, files[-1], memory)
                    files[-1].seek(0)
        except (Refused, NotChecked) as refusal:
            return {"verified": False, "reason": str(refusal)}
        except OSError as error:
            return _not_checked(f"there is no room to write it down for the process that checks it ({error})")
        from fcntl import F_DUPFD_CLOEXEC, fcntl

        # In the child 0 to 2 are its streams; here they are files where the caller has closed its own.
        given = [fcntl(file, F_DUPFD_CLOEXEC, 3) for file in files]
        for one in given:
            stack.callback(os.close, one)
        return _asked(given, memory, time_limit, end)


def _asked(files: list[int], memory: int, seconds: float, end: float) -> dict[str, Any]:
    """Return the child's verdict, or why there is none; end: when the clock says that it is too late."""
    packages = [str(Path(__file__).resolve().parents[2]), str(Path(str(flint.__file__)).resolve().parents[1])]
    question = json.dumps({"files": files, "memory": memory, "seconds": seconds})
    try:
        child = subprocess.run(  # noqa: S603 - our own interpreter
            [sys.executable, "-I", "-S", "-c", CHILD, *packages, question],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            pass_fds=files,
            timeout=max(end - time.monotonic(), 1e-3),
            # Threads of linear algebra set memory aside, each for itself.
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
            check=False,
        )
    except subprocess.TimeoutExpired:
        return _out_of_time()
    except OSError as error:
        return _not_checked(f"no process could be started to check it in ({error})")
    with contextlib.suppress(ValueError):
        found: dict[str, Any] = json.loads(child.stdout)
        return found
    if child.returncode in (-signal.SIGXCPU, -signal.SIGALRM):
        return _out_of_time()
    ended = f"its process ended with exit code {child.returncode}"
    if child.returncode < 0:
        ended += f", most likely because checking needs more than {memory} MiB; allow more with memory= (--memory)"
    return _not_checked(ended)


def _opened(path: Path) -> io.FileIO:
    """Open a file for reading; a FIFO without a writer is empty, and does not block."""
    try:
        file = io.FileIO(str(path), opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK))
    except ValueError:  # a name that no file can have
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path)) from None
    os.set_blocking(file.fileno(), True)
    return file


def _out_of_time() -> dict[str, Any]:
    return _not_checked("the time limit was reached; allow more with time_limit= (--time-limit)")


def _not_checked(why: str) -> dict[str, Any]:
    return {"verified": False, "reason": f"not checked: {why}"}


def check(files: list[int], memory: int, seconds: float) -> None:
    """In the child: print the verdict on a certificate in an open file, and a mechanism in a second one if there is."""
    with contextlib.ExitStack() as stack:
        opened = [stack.enter_context(os.fdopen(file, "rb", buffering=0)) for file in files]
        _limit(memory, seconds)
        # NumPy ends the process where memory is too little for it.
        with sized(numpy_leaves=largest().numpy_leaves if memory >= WITH_NUMPY else sys.maxsize):
            found = verify_stream(*opened, memory=memory, time_limit=seconds)
        sys.stdout.write(json.dumps(found))


def _limit(memory: int, seconds: float) -> None:
    """Let the system limit memory and processor time, and end a child that nobody waits for any more.

    What the child takes itself counts. Pages that it has but did not use yet may come on top, a few MiB.
    """
    import resource

    def lower(what: int, value: int, none: int = 2**62) -> None:
        """A value of 2^62 or more is no limit."""
        _, hard = resource.getrlimit(what)
        most = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(what, (hard if value >= none else most, hard))

    lower(resource.RLIMIT_CORE, 0)
    if STATM.exists():
        space, resident = (int(pages) * resource.getpagesize() for pages in STATM.read_text("ascii").split()[:2])
        lower(resource.RLIMIT_AS, space + max(0, memory * MIB - resident))
    lower(resource.RLIMIT_CPU, math.ceil(time.process_time() + seconds + ALARM))
    signal.setitimer(signal.ITIMER_REAL, seconds + ALARM)
