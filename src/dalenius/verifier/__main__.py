"""python -m dalenius.verifier certificate.json: the verifier alone, with only python-flint installed.

Exit code 0: it proves its bounds. 1: it does not, or the limits ended the check. 2: it cannot be read.
"""

import argparse
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace

from .kernel.limits import MEMORY, TIME_LIMIT
from .verify import Verification, verify


def main(arguments: Sequence[str] | None = None, program: str = "python -m dalenius.verifier") -> int:
    """Check the certificate that the command line, or this list of arguments, names, and print the verdict."""
    parser = argparse.ArgumentParser(prog=program, description="Re-check a certificate.")
    parser.add_argument("certificate", type=Path, help="a certificate, or a saved audit or design")
    parser.add_argument(
        "--mechanism",
        type=Path,
        action="append",
        help="a saved mechanism: check also that the certificate is about it; of several releases one for each",
    )
    parser.add_argument("--memory", type=int, default=MEMORY, metavar="MIB", help="that reading and checking may take")
    parser.add_argument("--time-limit", type=float, default=TIME_LIMIT, metavar="SECONDS", help="the same for time")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    given = parser.parse_args(arguments)
    if given.memory < 1 or not given.time_limit > 0:
        parser.error("--memory and --time-limit must be above 0")
    try:
        about = [_described(path) for path in given.mechanism or ()] or None
        verdict = verify(given.certificate, about, memory=given.memory, time_limit=given.time_limit)
    except (OSError, ValueError, AttributeError, RecursionError) as error:
        sys.stderr.write(f"{_printable(str(error))}\n")
        return 2
    try:
        sys.stdout.write(f"{json.dumps(asdict(verdict)) if given.json else _printable(_words(verdict))}\n")
        sys.stdout.flush()
    except BrokenPipeError:
        # Nobody reads any more; the exit code stays, and what is in the buffer is dropped.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0 if verdict.verified else 1


def _described(path: Path) -> SimpleNamespace:
    """Read a saved mechanism, as far as a certificate describes one; a FIFO would block, and a device need not end."""
    if path.exists() and not path.is_file():
        message = f"{path} is not a file"
        raise OSError(message)
    content = json.loads(path.read_text(encoding="utf-8"))
    beside = ("format", "version", "labels", *(("rows",) if "mechanism" in content else ()))
    description = {key: value for key, value in content.items() if key not in beside}
    return SimpleNamespace(describe=lambda: description)


def _words(verdict: Verification) -> str:
    if not verdict.verified:
        return f"NOT VERIFIED: {verdict.reason}"
    bounds = f"{verdict.lower!r} <= {verdict.quantity} <= {verdict.upper!r} {verdict.unit}".rstrip()
    bounds += "" if verdict.confidence is None else f" with confidence {verdict.confidence!r}"
    return f"VERIFIED {bounds}: {verdict.reason}. Problem: {verdict.problem}. Rested on: {verdict.rested_on}"


def _printable(text: str) -> str:
    """Names come from a stranger's file: a terminal gets no control characters."""
    return "".join(c if c.isprintable() else "?" for c in text)


if __name__ == "__main__":
    sys.exit(main())
