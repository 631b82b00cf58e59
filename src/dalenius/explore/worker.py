"""What a solver process does with a question of the page; the folder of results goes when the server is gone."""

import json
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from dalenius.search.helper import Line

# What one solver may take of the memory, where the system can limit that.
MOST_MEMORY = 4 * 2**30


def begin(folder: Path) -> Callable[[], None]:
    """Limit the memory, and load what answers need while nobody waits; return what is done when the server is gone."""
    _limit_memory()
    from dalenius.explore import solving  # noqa: F401 - a second

    return partial(shutil.rmtree, folder, ignore_errors=True)


def answer(message: dict[str, Any], line: Line) -> None:
    """Answer a question by events."""
    from dalenius.explore.release import Job
    from dalenius.explore.solving import ANSWERS

    job = Job(
        message["fields"],
        Path(message["folder"]),
        # As JSON: a number that no page can read is a defect of the answer.
        lambda event: line.tell(json.dumps(event, allow_nan=False)),
        line.stop,
        bool(message.get("narrow")),
        message.get("file", ""),
        None if message.get("path") is None else Path(message["path"]),
    )
    try:
        ANSWERS[message["what"]](job)
    except Exception as error:  # noqa: BLE001 - the page is to say that there was a defect, and the process lives on
        words = f"{type(error).__name__}: {error}"
        line.tell(json.dumps({"kind": "defect", "words": words[:500]}))


def _limit_memory() -> None:
    try:
        import resource
    except ImportError:
        return
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    most = MOST_MEMORY if hard == resource.RLIM_INFINITY else min(hard, MOST_MEMORY)
    resource.setrlimit(resource.RLIMIT_AS, (most, hard))
