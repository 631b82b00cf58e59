"""The same study on a Dask cluster: points are sent with the files they need, answers come back to the one store."""

import importlib
import logging
import platform
import signal
import socket
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from dalenius.errors import InputError, refuse
from dalenius.numerics import compiled
from dalenius.studies.running import answer
from dalenius.studies.store import Entry
from dalenius.studies.task import FILES, Task, Work, files_of, renamed

# Numbers to the last digit depend on these.
VERSIONS = ("dalenius", "numpy", "scipy", "python-flint", "clarabel")


@dataclass(frozen=True)
class Parcel:
    """A point with the content of its files: workers elsewhere do not see this machine's folders."""

    key: str
    task: Task
    files: dict[str, bytes]
    # Versions of the machine that asks: a worker that joins later may have others.
    versions: dict[str, str]

    @classmethod
    def of(cls, key: str, work: Work) -> "Parcel":
        """Pack a point."""
        return cls(key, work.task, work.content(), versions())

    def answer(self) -> Entry:
        """Answer the point on whichever machine this is, unless its last digits could be others."""
        if differs := _differs(versions(), self.versions):
            return Entry(self.key, "failed", f"a worker joined that has other versions: {differs}", {}, 0.0)
        with tempfile.TemporaryDirectory() as folder:
            names = {name: f"{name}{Path(file).suffix}" for name, file in files_of(self.task).items()}
            for name, content in self.files.items():
                (Path(folder) / names[name]).write_bytes(content)
            mechanism = renamed(self.task, lambda name, _: names[name])
            stated = {**{name: file for name, file in names.items() if name in FILES}, "mechanism": mechanism}
            return answer((self.key, Work(self.task.model_copy(update=stated), Path(folder))))


def answer_parcel(parcel: Parcel) -> Entry:
    """Answer a parcel; a function of its own, so that Dask shows its name."""
    return parcel.answer()


@cache
def versions() -> dict[str, str]:
    """Return the versions that results depend on, on the machine that runs this."""
    # Kernels in C round otherwise than NumPy does.
    kernels = "built" if compiled.library() is not None else "not built"
    found = {"python": platform.python_version(), "kernels in C": kernels}
    for name in VERSIONS:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found


def _differs(theirs: Mapping[str, str], mine: Mapping[str, str]) -> str:
    return ", ".join(
        f"{name} {theirs.get(name)} (here {mine[name]})" for name in mine if theirs.get(name) != mine[name]
    )


@dataclass
class Cluster:
    """A connected Dask client."""

    client: Any
    words: str
    stopping: bool = False
    _taken_back: set[Any] = field(default_factory=set)

    def stop(self) -> None:
        """Begin no further point; what is running ends."""
        self.stopping = True

    def answers(self, missing: Mapping[str, Work], ahead: int = 4, tries: int = 3) -> Iterator[list[Entry]]:
        """Yield answers as they come, or nothing for half a second, so that whoever listens learns of a stop.

        Only `ahead` points a worker are sent at a time. After a stop those that no worker has begun are taken back.
        Dask gives a point whose worker was lost to another, `tries` times.
        """
        queue = iter(missing.items())
        room = max(1, ahead * len(self.client.scheduler_info()["workers"]))
        ended: SimpleQueue[Any] = SimpleQueue()
        futures: dict[Any, str] = {}
        while True:
            while len(futures) < room and not self.stopping and (item := next(queue, None)) is not None:
                try:
                    parcel = Parcel.of(*item)
                except InputError as error:
                    yield [Entry(item[0], "failed", str(error), {}, 0.0)]
                    continue
                future = self.client.submit(answer_parcel, parcel, key=f"dalenius-{item[0]}", retries=tries, pure=False)
                futures[future] = item[0]
                future.add_done_callback(ended.put)
            if not futures:
                return
            if self.stopping and not self._taken_back:
                self._taken_back = self._not_begun(futures)
                self.client.cancel(list(self._taken_back))
            yield self._ended(futures, ended)

    def _ended(self, futures: dict[Any, str], ended: "SimpleQueue[Any]") -> list[Entry]:
        try:
            future = ended.get(timeout=0.5)
        except Empty:
            return []
        key = futures.pop(future)
        if future in self._taken_back:
            return []
        if future.status in ("cancelled", "lost"):
            refuse(
                "the connection to the Dask scheduler was lost; finished points are kept, and the same command "
                "continues once it runs again"
            )
        error = future.exception() if future.status == "error" else None
        found = future.result() if error is None else Entry(key, "failed", f"on the cluster: {error}", {}, 0.0)
        future.release()
        return [found]

    def _not_begun(self, futures: Mapping[Any, str]) -> set[Any]:
        """Futures that wait for a worker; none where the cluster does not say what its workers are at."""
        try:
            stacks = self.client.call_stack(list(futures))
        except Exception:  # noqa: BLE001 - whatever it is: then every point that was sent is waited for
            return set()
        begun = {key for running in stacks.values() for key in running}
        return {future for future in futures if future.key not in begun}


def dask_setup(_: object) -> None:
    """Leave a terminal's Ctrl-C to the process that started this one: Dask calls this as a worker of ours begins."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def check_installed() -> None:
    """Refuse a cluster where Dask is missing."""
    if find_spec("distributed") is None:
        refuse("--dask needs dask.distributed, which is not installed; pip install 'dalenius[dask]'")


@contextmanager
def connected(address: str, patience: float = 4.0) -> Iterator[Cluster]:
    """Yield a cluster: that of a scheduler's address, or `local:4` for 4 processes on this machine.

    Refused where the scheduler does not answer, or a worker has other versions than this process.
    """
    check_installed()
    if not address.startswith("local:"):
        _reach(address, patience)
    # Dask sets the levels of its logs as it is loaded.
    distributed = importlib.import_module("distributed")
    with _quiet(), _client(distributed, address, patience) as cluster:
        yield cluster


@contextmanager
def _quiet() -> Iterator[None]:
    """Within: Dask's client does not print tracebacks of its own for what is said here in one sentence."""
    log = logging.getLogger("distributed.client")
    before = log.level
    log.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        log.setLevel(before)


@contextmanager
def _client(distributed: Any, address: str, patience: float) -> Iterator[Cluster]:
    if address.startswith("local:"):
        many = _workers(address)
        with (
            script_left_alone(),
            distributed.LocalCluster(
                n_workers=many, threads_per_worker=1, dashboard_address=None, preload=[__name__]
            ) as local,
            distributed.Client(local, timeout=patience) as client,
        ):
            yield Cluster(client, f"a local cluster of {many} processes")
        return
    try:
        client = distributed.Client(address, timeout=patience)
    except Exception as error:
        # Whatever it is that listens there: Dask has no exception of its own for it.
        message = f"no Dask scheduler answers at {address} within {patience:g} s: {str(error)[:200]}"
        raise InputError(message) from error
    with client:
        _check_versions(client, address)
        yield Cluster(client, f"the Dask cluster at {address}, {len(client.scheduler_info()['workers'])} workers")


@contextmanager
def script_left_alone() -> Iterator[None]:
    """Within: a process that starts does not run the user's script, which need not guard against that.

    A spawned process imports the module that was started as a program, found by these two names; points need nothing
    of it.
    """
    names = vars(sys.modules["__main__"])
    hidden: dict[str, Any] = {name: names.pop(name) for name in ("__file__", "__spec__") if name in names}
    names["__spec__"] = None
    try:
        yield
    finally:
        names.update(hidden)


def _reach(address: str, patience: float) -> None:
    """Refuse an address where nothing listens: Dask takes seconds to load, and tries a bad one for ever."""
    scheme, _, place = address.rpartition("://")
    host, _, port = place.rpartition(":")
    if scheme not in ("", "tcp", "tls") or not host or not port.isdigit() or not 0 < int(port) < 2**16:
        refuse(f"--dask {address!r}: write local:4 for a cluster of 4 processes, or an address as tcp://host:8786")
    found: list[str] = []
    silence = f"no answer came within {patience:g} s"

    def knock() -> None:
        try:
            with socket.create_connection((host.strip("[]"), int(port)), patience) as line:
                # A scheduler speaks first. Dask's own client would wait for that without a limit.
                heard = scheme == "tls" or line.recv(1)
            found.append("" if heard else "what listens there closes the connection")
        except OSError as error:
            found.append(str(error.strerror or error) if not isinstance(error, TimeoutError) else silence)

    # In a thread: finding the address of a name has no limit of its own.
    thread = threading.Thread(target=knock, daemon=True)
    thread.start()
    thread.join(patience)
    if found != [""]:
        why = found[0] if found else silence
        refuse(f"no Dask scheduler answers at {address}: {why}; is it running, and is the address right?")


def _workers(address: str) -> int:
    number = address.partition(":")[2]
    if not number.isdigit() or int(number) < 1:
        refuse(f"--dask {address!r}: write local:4 for a cluster of 4 processes, or the address of a scheduler")
    return int(number)


def _check_versions(client: Any, address: str) -> None:
    """Refuse workers whose numbers may differ from ours."""
    mine = versions()
    try:
        theirs = client.run(versions)
    except Exception as error:
        # A worker that cannot import what it was asked to run raises what it likes.
        message = f"a worker of {address} cannot run dalenius: {error}; install dalenius {mine['dalenius']} there"
        raise InputError(message) from error
    if not theirs:
        refuse(f"the Dask cluster at {address} has no worker; start one with: dask worker {address}")
    for worker, found in theirs.items():
        if differs := _differs(found, mine):
            refuse(f"the worker {worker} has other versions: {differs}; results would differ")
