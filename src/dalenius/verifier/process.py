"""What this process did not make is checked in a child process: whatever happens there, the caller has an answer.

The child (child.py) is an isolated interpreter that finds the standard library, this package, and the folder of
python-flint, from which it takes NumPy too where that is installed: neither the current folder nor the environment has
a say. Its memory and processor time are limited by the system, and it is killed when its time is over.
"""

import contextlib
import errno
import json
import os
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import IO, Any

import flint

from .limits import NotChecked, within
from .reading import Refused, write

CHILD = f"import sys; sys.path += sys.argv[1:]; from {__package__}.child import main; main()"
# Seconds beyond the time limit after which a child is killed, so that the answer is there within one. The child ends
# the check by itself before, and says more.
GRACE = 0.75
# Systems of which os.name is "posix" too, but where no process can start another.
ALONE = ("emscripten", "wasi", "ios", "tvos", "watchos")


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
        files = [stack.enter_context(_opened(source))] if isinstance(source, Path) else []
        try:
            with within(time_limit):
                for data in [*([] if files else [source]), *([] if mechanism is None else [mechanism])]:
                    files.append(stack.enter_context(_unnamed()))
                    write(data, files[-1], memory)
                    files[-1].seek(0)
        except (Refused, NotChecked) as refusal:
            return {"verified": False, "reason": str(refusal)}
        except OSError as error:
            return _not_checked(f"there is no room to write it down for the process that checks it ({error})")
        return _asked(files, memory, time_limit, end)


@contextlib.contextmanager
def one_child() -> Iterator[None]:
    """Let the checks inside share a child, so that many small ones do not each wait for an interpreter to start."""
    kept: list[_Child] = []
    token = _kept.set(kept)
    try:
        yield
    finally:
        _kept.reset(token)
        for child in kept:
            child.end()


def _asked(files: list[IO[bytes]], memory: int, time_limit: float, end: float) -> dict[str, Any]:
    """Ask a child that is kept, or a new one."""
    kept = _kept.get()
    try:
        child = kept.pop() if kept else _Child()
    except OSError as error:
        return _not_checked(f"no process could be started to check it in ({error})")
    try:
        return child.ask(files, memory, time_limit, end)
    finally:
        if kept is not None and child.more:
            kept.append(child)
        else:
            child.end()


class _Child:
    """A child that waits for questions; more: whether it takes another one."""

    def __init__(self) -> None:
        packages = [str(Path(__file__).resolve().parents[2]), str(Path(str(flint.__file__)).resolve().parents[1])]
        self._socket, theirs = socket.socketpair()
        self.more = True
        with theirs:
            try:
                self._process = subprocess.Popen(  # noqa: S603 - our own interpreter
                    [sys.executable, "-I", "-S", "-c", CHILD, *packages],
                    stdin=theirs.fileno(),
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    # Threads of linear algebra set memory aside, each for itself.
                    env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
                )
            except OSError:
                self._socket.close()
                raise

    def ask(self, files: list[IO[bytes]], memory: int, time_limit: float, end: float) -> dict[str, Any]:
        """Return the child's verdict, or why there is none; end: when the clock says that it is too late."""
        question = json.dumps({"memory": memory, "seconds": time_limit}).encode("ascii")
        self.more = False
        try:
            socket.send_fds(self._socket, [question], [file.fileno() for file in files])
            found: dict[str, Any] = json.loads(self._line(end))
        except TimeoutError:
            return _out_of_time()
        except (OSError, ValueError):
            return self._died(memory)
        self.more = found.pop("more")
        return found

    def _line(self, end: float) -> bytes:
        answer = b""
        while not answer.endswith(b"\n"):
            self._socket.settimeout(max(end - time.monotonic(), 1e-3))
            part = self._socket.recv(2**16)
            if not part:
                raise ConnectionResetError
            answer += part
        return answer

    def _died(self, memory: int) -> dict[str, Any]:
        """Say how a child ended that gave no answer."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(1e-1)
        code = self._process.returncode
        if code in (-signal.SIGXCPU, -signal.SIGALRM):
            return _out_of_time()
        ended = f"its process ended with exit code {code}"
        if code is not None and code < 0:
            ended += f", most likely because checking needs more than {memory} MiB; allow more with memory= (--memory)"
        return _not_checked(ended)

    def end(self) -> None:
        """End the process, whatever it does."""
        self._process.kill()
        self._process.wait()
        self._socket.close()


_kept: ContextVar[list[_Child] | None] = ContextVar("kept", default=None)


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


def _unnamed() -> IO[bytes]:
    """Return a file without a name, which is gone when both processes have closed it: in memory where that exists."""
    # Without buffers, which would write again, and fail again, when the file is closed.
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("certificate"), "w+b", buffering=0)
    return tempfile.TemporaryFile(buffering=0)


def _out_of_time() -> dict[str, Any]:
    return _not_checked("the time limit was reached; allow more with time_limit= (--time-limit)")


def _not_checked(why: str) -> dict[str, Any]:
    return {"verified": False, "reason": f"not checked: {why}"}
