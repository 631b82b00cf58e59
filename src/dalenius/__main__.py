"""Entry point of the command `dalenius` and of `python -m dalenius`; from here on Ctrl-C ends it quietly."""

import gc
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType
    from typing import TextIO

INTERRUPTED = 130
BAD_INPUT = 2
# A defect of dalenius; exit code 1 would mean that a certificate is not verified, or a budget exceeded.
CRASHED = 70
# What the package depends on, by the name under which it is imported.
REQUIRED = {
    "numpy": "numpy",
    "scipy": "scipy",
    "flint": "python-flint",
    "click": "click",
    "rich": "rich",
    "matplotlib": "matplotlib",
    "clarabel": "clarabel",
    "pydantic": "pydantic",
}


def stop(_: int, frame: "FrameType | None") -> None:
    """End at once while something is imported; else raise KeyboardInterrupt, as usual.

    As an exception an interrupt would pass through extension modules that are being loaded; some print it, some turn it
    into an ImportError.
    """
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            os._exit(INTERRUPTED)
        frame = frame.f_back
    raise KeyboardInterrupt


stop.until_answered = True  # type: ignore[attr-defined]  # `cli.common.finish` puts the usual one back


class Output:
    """Standard output that survives a closed pipe: further output is dropped, and the exit code stays the same."""

    def __init__(self, stream: "TextIO") -> None:
        """Take the place of this stream."""
        self._stream = stream

    def write(self, text: str) -> int:
        """Write, unless nobody reads."""
        return self._unless_closed(lambda: self._stream.write(text)) or 0

    def flush(self) -> None:
        """Flush, unless nobody reads."""
        self._unless_closed(self._stream.flush)

    def _unless_closed(self, act: "Callable[[], int | None]") -> int | None:
        try:
            return act()
        except BrokenPipeError:
            # The buffer, which is flushed at the end, goes there too.
            os.dup2(os.open(os.devnull, os.O_WRONLY), self._stream.fileno())
            return None

    def __getattr__(self, name: str) -> object:
        """Return any other attribute of the stream but its buffer, to which click would write past this class."""
        if name == "buffer":
            raise AttributeError(name)
        return getattr(self._stream, name)


def run() -> None:
    """Import the command and run it."""
    if sys.stdout is not None:
        # Names from files may have letters that the terminal cannot show.
        sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
        sys.stdout = Output(sys.stdout)
    # Modules stay: to look through them for garbage every 700 objects takes a twentieth of a small audit's time.
    gc.set_threshold(100_000)
    try:
        import signal

        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # a shell may have it ignored
            signal.signal(signal.SIGINT, stop)
        from dalenius.cli import main

        main()
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except Exception as error:  # noqa: BLE001 - whatever it is, the exit code is not a verdict
        if isinstance(error, ModuleNotFoundError) and (error.name or "").partition(".")[0] in REQUIRED:
            sys.exit(without_packages(sys.argv[1:]))
        import traceback

        traceback.print_exc()
        sys.stderr.write("dalenius: this is a defect of dalenius, and nothing was decided; please report these lines\n")
        sys.exit(CRASHED)


def without_packages(arguments: list[str]) -> int:
    """Run `dalenius verify` with python-flint alone; name what other commands lack."""
    from importlib.util import find_spec

    missing = [package for name, package in REQUIRED.items() if find_spec(name) is None]
    if arguments[:1] == ["verify"] and "python-flint" not in missing:
        from dalenius.verifier.__main__ import main

        return main(arguments[1:], "dalenius verify")
    sys.stderr.write(
        f"dalenius: this command needs packages that are not installed: {', '.join(missing)}; install them with "
        f"pip install {' '.join(missing)}. `dalenius verify` needs python-flint only.\n"
    )
    return BAD_INPUT


if __name__ == "__main__":
    run()
