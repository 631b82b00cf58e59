"""What the server keeps while it runs: dropped files and answers, in a folder of its own, the newest few of each."""

import hashlib
import json
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

from dalenius.errors import refuse

MOST_BYTES = 16 * 2**20
MOST_UPLOADS, MOST_ANSWERS = 4, 32
# Endings of files that the library reads.
ENDINGS = (".csv", ".tsv", ".txt", ".xlsx", ".npy", ".json")


@dataclass(frozen=True)
class Upload:
    """A dropped file: what the user calls it, and where it is."""

    name: str
    path: Path


@dataclass
class Shelf:
    """The folder, and what is in it. Names of files are made here; none comes from the page."""

    folder: Path
    uploads: OrderedDict[str, Upload] = field(default_factory=OrderedDict)
    answers: OrderedDict[str, list[bytes]] = field(default_factory=OrderedDict)
    results: OrderedDict[str, None] = field(default_factory=OrderedDict)

    def put(self, name: str, content: bytes) -> str:
        """Keep a dropped file; return its identity, a digest of its ending and content."""
        shown = PurePosixPath(PureWindowsPath(name).name).name[:100] or "file"
        ending = PurePosixPath(shown).suffix.lower()
        if ending not in ENDINGS:
            refuse(f"{shown!r} is not a file that this page reads; drop one that ends in {', '.join(ENDINGS)}")
        if not content:
            refuse(f"{shown} is empty; drop a file with a matrix, a saved mechanism or a saved result")
        identity = hashlib.sha256(ending.encode() + content).hexdigest()[:32]
        path = self.folder / f"{identity}{ending}"
        path.write_bytes(content)
        self.uploads[identity] = Upload(shown, path)
        self.uploads.move_to_end(identity)
        while len(self.uploads) > MOST_UPLOADS:
            self.uploads.popitem(last=False)[1].path.unlink(missing_ok=True)
        return identity

    def keep_answer(self, key: str, events: list[bytes]) -> None:
        """Keep the events of a whole answer, to show it again at once."""
        self.answers[key] = events
        while len(self.answers) > MOST_ANSWERS:
            self.answers.popitem(last=False)

    def keep_result(self, name: str) -> None:
        """Register the files that a solver wrote for the buttons."""
        self.results[name] = None
        self.results.move_to_end(name)
        while len(self.results) > MOST_ANSWERS:
            oldest, _ = self.results.popitem(last=False)
            for ending in ("certificate", "results", "html"):
                (self.folder / f"{oldest}.{ending}").unlink(missing_ok=True)

    def result(self, name: str, ending: str) -> Path:
        """Return the file of a kept result."""
        path = self.folder / f"{name}.{ending}"
        if name not in self.results or not path.is_file():
            refuse("this answer is no longer here; ask the question again, then press the button once more")
        return path


def key_of(fields: Mapping[str, Any]) -> str:
    """Return a key that differs for different questions."""
    return hashlib.sha256(json.dumps(sorted(fields.items())).encode()).hexdigest()
