"""Which certificates this process has made itself: those are checked in this process, all others in a child.

A certificate is noted when a solver has written it, with a digest of its text. One that was loaded, unpickled, copied
or built by hand is another object, and one whose data were changed has another text: neither counts as made here. The
answers of worker processes, which this process started itself, are noted when they arrive.
"""

import hashlib
import weakref
from collections.abc import Sequence
from typing import Any

from dalenius.verifier import verify as verifier

_digests: dict[int, bytes] = {}  # by the identity of the certificate, for as long as it lives


def note(certificate: Any) -> None:  # noqa: ANN401 - a Certificate, whose module imports this one
    """Remember a certificate that this process, or a worker of its own, has just made."""
    if (digest := _digest(certificate)) is not None:
        _digests[id(certificate)] = digest
        weakref.finalize(certificate, _digests.pop, id(certificate), None).atexit = False


def made_here(certificate: Any) -> bool:  # noqa: ANN401 - whatever is to be checked
    """Whether this process made the certificate, and nobody has changed it since."""
    noted = _digests.get(id(certificate))
    return noted is not None and noted == _digest(certificate)


def verify(
    certificate: Any,  # noqa: ANN401 - a path, a dict, a Certificate
    mechanism: verifier.Describes | Sequence[verifier.Describes] | None = None,
    *,
    memory: int,
    time_limit: float,
) -> verifier.Verification:
    """Check a certificate where it is to be checked; memory is a limit for the child."""
    if made_here(certificate):
        return verifier.verify_here(certificate, mechanism, time_limit=time_limit)
    return verifier.verify(certificate, mechanism, memory=memory, time_limit=time_limit)


def _digest(certificate: Any) -> bytes | None:  # noqa: ANN401 - as above
    """The digest of a certificate's text; None where it cannot be written."""
    try:
        return hashlib.sha256(certificate.text().encode()).digest()
    except (TypeError, ValueError, RecursionError):
        return None
