"""The command `dalenius`, also as `python -m dalenius`: here it begins, and from here on Ctrl-C ends it quietly."""

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType

INTERRUPTED = 130


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


def run() -> None:
    """Import the command and run it."""
    try:
        import signal  # noqa: PLC0415 - inside the try

        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # a shell may have it ignored
            signal.signal(signal.SIGINT, stop)
        from dalenius.cli import main  # noqa: PLC0415 - the same

        main()
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


if __name__ == "__main__":
    run()
