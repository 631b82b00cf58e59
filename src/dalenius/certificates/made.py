"""Which certificates this process has made itself: those are checked in this process, all others in a child.

A certificate is noted when a solver has written it, with a digest of its data. One that was loaded, unpickled, copied
or built by hand is another object, and one whose data were changed has another digest: neither counts as made here. The
answers of worker processes, which this process started itself, are noted when they arrive. The same holds of results
whose certificate was accepted: a copy, or one whose certificate was changed since, is not verified.
"""

import hashlib
import marshal
import weakref
from collections.abc import Sequence
from typing import Any, Literal

from dalenius.verifier import verify as verifier

_digests: dict[int, bytes] = {}  # by the identity of the certificate, for as long as it lives
_accepted: "weakref.WeakKeyDictionary[Any, bytes]" = weakref.WeakKeyDictionary()  # of the certificates of results


def note(certificate: Any) -> None:
    """Remember a certificate that this process, or a worker of its own, has just made."""
    if (digest := _digest(certificate)) is not None:
        _digests[id(certificate)] = digest
        weakref.finalize(certificate, _digests.pop, id(certificate), None).atexit = False


def made_here(certificate: Any) -> bool:
    """Whether this process made the certificate, and nobody has changed it since."""
    noted = _digests.get(id(certificate))
    return noted is not None and noted == _digest(certificate)


def note_accepted(result: Any) -> None:
    """Remember that the certificate of a result, as it is now, was accepted and is about the result."""
    if (digest := _digest(result.certificate)) is not None:
        _accepted[result] = digest


def accepted(result: Any) -> Literal[True] | None:
    """True where the certificate of this result was accepted in this process, and nobody has changed it since."""
    noted = _accepted.get(result)
    return True if noted is not None and noted == _digest(result.certificate) else None


def verify(
    certificate: Any,
    mechanism: verifier.Describes | Sequence[verifier.Describes] | None = None,
    *,
    memory: int,
    time_limit: float,
) -> verifier.Verification:
    """Check a certificate where it is to be checked; memory is a limit for the child."""
    if made_here(certificate):
        return verifier.verify_here(certificate, mechanism, time_limit=time_limit)
    return verifier.verify(certificate, mechanism, memory=memory, time_limit=time_limit)


def _digest(certificate: Any) -> bytes | None:
    """The digest of a certificate's data; None where they are not plain data."""
    try:
        # Version 2 of this format writes equal data equally; later ones depend on which objects are shared.
        return hashlib.sha256(marshal.dumps(certificate.data, 2)).digest()
    except ValueError:
        return None
