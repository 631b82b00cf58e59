"""The command `dalenius`, also as `python -m dalenius`: here it begins, and from here on Ctrl-C ends it quietly."""

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType

INTERRUPTED = 130
BAD_INPUT = 2
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
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in REQUIRED:
            raise
        sys.exit(without_packages(sys.argv[1:]))


def without_packages(arguments: list[str]) -> int:
    """Run `dalenius verify` with python-flint alone; name what other commands lack."""
    from importlib.util import find_spec  # noqa: PLC0415 - seldom needed

    missing = [package for name, package in REQUIRED.items() if find_spec(name) is None]
    if arguments[:1] == ["verify"] and "python-flint" not in missing:
        from dalenius.verifier.__main__ import main  # noqa: PLC0415 - the same

        return main(arguments[1:], "dalenius verify")
    sys.stderr.write(
        f"dalenius: this command needs packages that are not installed: {', '.join(missing)}; install them with "
        f"pip install {' '.join(missing)}. `dalenius verify` needs python-flint only.\n"
    )
    return BAD_INPUT


if __name__ == "__main__":
    run()
