"""Files: read with care, written whole or not at all. The standard library alone, so that commands start quickly."""

import json
import os
import stat
import tempfile
from pathlib import Path
from typing import Any, NoReturn

from dalenius.errors import refuse, show

# The version of the package, which files and pages name.
__version__ = "0.3.0"

# Opening a FIFO that nobody writes to would wait for somebody; Windows has no FIFOs.
NO_WAIT = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOCTTY", 0)
# Endings of pages.
PAGES = (".html", ".htm")
MIB = 2**20
# The longest file that is read: a channel of as many entries as are allowed takes 200 MiB as text.
MOST_BYTES = 256 * MIB


def path_of(path: object) -> Path:
    """Return the path that a user gave; an InputError where it is not one."""
    if not isinstance(path, (str, os.PathLike)) or isinstance(os.fspath(path), bytes):
        refuse(f"{show(path)} is not a path; give the name of a file as text or as a pathlib.Path")
    if "\0" in os.fspath(path):
        refuse(f"{path!r} is not a path: it holds a null character")
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        refuse(f"{path!r} is not a path: it holds a character that no file name can have")
    return Path(path)


def obstacle(path: Path) -> str:
    """Return why a file of this name cannot be written, or nothing: what is there must be a regular file, or nothing.

    A rename would put a plain file in place of a device, a FIFO or a socket that other programs rely on.
    """
    try:
        return _irregular(path.stat().st_mode)
    except FileNotFoundError:
        return ""
    except (OSError, ValueError) as error:
        return f"it cannot be looked at: {getattr(error, 'strerror', None) or error}"


def _irregular(mode: int) -> str:
    """Return what stands there instead of a regular file, or nothing."""
    if stat.S_ISREG(mode):
        return ""
    kinds = {stat.S_IFDIR: "a directory", stat.S_IFIFO: "a FIFO", stat.S_IFSOCK: "a socket"}
    return f"it is {kinds.get(stat.S_IFMT(mode), 'a device')}; name a file"


def not_a_page(path: Path) -> str:
    """Return why data cannot go into a file of this name, or nothing: a browser would show it as a page."""
    if path.suffix.lower() not in PAGES:
        return ""
    return (
        f"a file that ends in {path.suffix} is a page, and this is data; write pages with dalenius report or .report()"
    )


def write(path: Path, data: bytes) -> None:
    """Write a file whole or not at all: a temporary neighbour, brought to the disk, then one rename."""
    problem = obstacle(path) or ("" if data.lstrip()[:1] == b"<" else not_a_page(path))
    if problem:
        refuse(f"cannot write {path}: {problem}")
    try:
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:100]}.")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())  # else a crash after the rename could leave an empty file under the name
            umask = os.umask(0)
            os.umask(umask)
            Path(temporary).chmod(0o666 & ~umask)  # as an ordinary new file
            Path(temporary).replace(path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
    except OSError as error:
        refuse(f"cannot write {path}: {error.strerror or error}", error)


def read_bytes(path: Path, most: int = MOST_BYTES) -> bytes:
    """Read a regular file of at most this many bytes; anything else is an InputError.

    Every reader of the package gets its bytes here. A FIFO would block for ever, and a device such as /dev/zero never
    ends; opening without blocking, and looking at what was opened, leaves no moment in which one could replace a file.
    """
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | NO_WAIT), "rb") as file:
            about = os.fstat(file.fileno())
            problem = _irregular(about.st_mode)
            if not problem and about.st_size <= most:
                # Files of /proc state no size, and have nothing to read where they would block.
                content = (file.read() if about.st_size else file.read(most + 1)) or b""
                if len(content) <= most:
                    return content
    except (OSError, ValueError) as error:
        refuse(f"cannot read {path}: {getattr(error, 'strerror', None) or error}", error)
    refuse(f"cannot read {path}: {problem or f'it is longer than {most // MIB} MiB, the most that is read here'}")


def read_json(path: Path) -> Any:
    """Read a JSON file; an InputError when it is not JSON, holds NaN, or names a key twice."""
    return json_of(read_bytes(path), str(path))


def json_of(content: bytes | str, place: str) -> Any:
    """Return what this JSON holds; an InputError names the place where it stands."""
    try:
        return json.loads(content, parse_constant=_no_constant, object_pairs_hook=_no_repetition)
    except (ValueError, RecursionError) as error:
        refuse(f"{place} is not valid JSON: {str(error)[:200]}", error)


def _no_constant(name: str) -> NoReturn:
    message = f"{name} is not a number of JSON"
    raise ValueError(message)


def _no_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        message = "an object names the same key twice"
        raise ValueError(message)
    return content


def read_format(path: Path, what: str, expected: str, version: int) -> dict[str, Any]:
    """Read a JSON object of this format and version."""
    content = read_json(path)
    if not isinstance(content, dict) or content.get("format") != expected:
        refuse(f'{path} is not {what}: it has no "format": "{expected}"')
    if content.get("version") != version or isinstance(content["version"], bool):
        refuse(f"{path} has version {show(content.get('version'))}; this dalenius reads version {version}")
    return content
