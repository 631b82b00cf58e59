"""How long a certificate takes to check, estimated from its sizes alone."""

from typing import Any

SECONDS_PER_NUMBER = 2e-5  # of the certificate, on a slow machine
SECONDS_PER_WORD = 1e-3  # a named channel is rebuilt from its call string


def seconds(data: dict[str, Any]) -> float:
    """Return about how many seconds `verify` takes for this certificate."""
    return _seconds(data)


def _seconds(part: object) -> float:
    if isinstance(part, dict):
        return sum(map(_seconds, part.values()))
    if isinstance(part, (list, tuple)):
        return sum(map(_seconds, part))
    return SECONDS_PER_WORD if isinstance(part, str) else SECONDS_PER_NUMBER
