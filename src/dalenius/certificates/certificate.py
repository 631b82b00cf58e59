"""A certificate of an audit or a design: the problem and the proofs of both bounds, as plain data in nats.

Those that this process has made itself are checked in this process, all others in a child. A certificate is noted when
a solver has written it, with a digest of its data. One that was loaded, unpickled, copied or built by hand is another
object, and one whose data were changed has another digest: neither counts as made here. The answers of worker
processes, which this process started itself, are noted when they arrive. The same holds of results whose certificate
was accepted: a copy, or one whose certificate was changed since, is not verified.
"""

import hashlib
import json
import marshal
import os
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from dalenius import shown
from dalenius.errors import InputError, refuse
from dalenius.model.files import path_of, read_json, write
from dalenius.verifier import verify as verifier

_digests: dict[int, bytes] = {}  # by the identity of the certificate, for as long as it lives
_accepted: "weakref.WeakKeyDictionary[Any, bytes]" = weakref.WeakKeyDictionary()  # of the certificates of results


@dataclass(frozen=True, repr=False)
class Certificate:
    """The JSON object that `verify` re-checks; leakages are in nats, and numbers survive a round trip exactly.

    Attributes:
        data: the object, as the page on the certificate format describes it.

    Example:
        >>> mechanism = dl.mechanisms.symmetric(dl.queries.modular_sum(n=4, modulus=2), flip=0.3)
        >>> dl.audit(mechanism, knowledge=0.5).certificate.data["problem"]
        {'query': 'modular_sum(n=4, modulus=2)', 'mechanism': 'symmetric(flip=0.3)'}
    """

    data: dict[str, Any]

    @property
    def lower(self) -> float:
        """The lower bound: what a prior leaks (audit), or what no mechanism goes below (design)."""
        return float(self.data["lower"])

    @property
    def upper(self) -> float:
        """The upper bound: what no prior exceeds (audit), or what the mechanism attains (design)."""
        return float(self.data["upper"])

    def text(self) -> str:
        """Return compact JSON, floats by their shortest exact form."""
        return json.dumps(self.data, allow_nan=False, separators=(",", ":")) + "\n"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the JSON; the file appears whole or not at all."""
        write(path_of(path), self.text().encode())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Certificate":
        """Read what save wrote; `verify` decides whether it proves anything."""
        try:
            return cls.of(read_json(path_of(path)))
        except InputError as error:
            # What is not a path is named already, and may have no text.
            place = str(path) if isinstance(path, str | os.PathLike) else ""  # type: ignore[redundant-expr]
            refuse(str(error) if place in str(error) else f"{place}: {error}", error)

    @classmethod
    def of(cls, data: object) -> "Certificate":
        """Return the certificate of parsed JSON; raise InputError if it has no bounds."""
        if not isinstance(data, dict) or any(type(data.get(key)) not in (int, float) for key in ("lower", "upper")):
            refuse('not a certificate: it lacks the numbers "lower" and "upper"')
        return cls(data)

    @classmethod
    def written(cls, data: object) -> "Certificate":
        """Return the certificate that this process has just made; `verify` checks it here, while it is not changed."""
        certificate = cls.of(data)
        note(certificate)
        return certificate

    def _repr_html_(self) -> str:
        proofs = self.data.get("proofs", self.data.get("audit", {}).get("proofs", ()))
        kinds = ", ".join(dict.fromkeys(str(proof.get("kind")) for proof in proofs))
        size = len(self.text())
        return shown.pairs([("proofs", kinds), ("size", f"{size} bytes"), ("check it", "dl.verify")], repr(self)[1:-1])

    def __repr__(self) -> str:
        budget = self.data.get("budget")
        quantity, unit = "L", " nats"
        if isinstance(budget, dict):
            quantity, unit = ("eps(D,b)", " nats") if "distortion" in budget else ("D(L,b)", "")
        return f"<Certificate: {self.lower!r} <= {quantity} <= {self.upper!r}{unit}>"


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
