"""One line that is kept up to date: on standard error, or as one output of a notebook's cell."""

import html
import sys
import time
from typing import Any

from dalenius.search.deadline import Progress

# Seconds between two states of a notebook's bar: each is a message to the browser.
PAUSE = 0.2


class ProgressLine:
    """A listener that shows where a search is, in one place."""

    def __init__(self) -> None:
        """Show nothing yet."""
        self._handle: Any = None
        self._last = -PAUSE

    def __call__(self, progress: Progress) -> None:
        """Show this state in place of the one before."""
        bracket = f"[{progress.lower:.6f}, {progress.upper:.6f}] nats"
        line = f"{progress.stage}: {bracket}, {progress.nodes} nodes, {progress.seconds:.1f} s"
        if not in_notebook():
            sys.stderr.write(f"\r{line} ")
            sys.stderr.flush()
        elif time.monotonic() >= self._last + PAUSE:
            self._last = time.monotonic()
            self._display(progress, line)

    def _display(self, progress: Progress, line: str) -> None:
        """One bar: how much of the upper bound the lower one has reached."""
        from IPython.display import display

        share = progress.lower / progress.upper if progress.upper > 0 else 1.0
        bar = f'<progress value="{min(1.0, max(0.0, share)):.4f}" max="1"></progress> <code>{html.escape(line)}</code>'
        bundle = {"text/html": bar, "text/plain": line}
        if self._handle is None:
            self._handle = display(bundle, raw=True, display_id=True)
        else:
            self._handle.update(bundle, raw=True)


def in_notebook() -> bool:
    """Whether this process is the kernel of a notebook, where standard error is shown as a warning."""
    python = sys.modules.get("IPython")
    shell = python.get_ipython() if python is not None and hasattr(python, "get_ipython") else None
    return getattr(shell, "kernel", None) is not None
