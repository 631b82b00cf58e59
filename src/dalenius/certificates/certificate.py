"""A certificate of an audit or a design: the problem and the proofs of both bounds, as plain data in nats.

Those that this process has made itself are checked in this process, all others in a child. A certificate is noted when
a solver has written it, with a digest of its data. One that was loaded, unpickled, copied or built by hand is another
object, and one whose data were changed has another digest: neither counts as made here. The answers of worker
processes, which this process started itself, are noted when they arrive. The same holds of results whose certificate
was accepted: a copy, or one whose certificate was changed since, is not verified.

Whoever shows a number of a file beside a question relies on the certificate being about that question: curves,
frontiers, profiles and calibrations in results/archive.py, points of a study in studies/checking.py. A question is
plain data, each part under the word by which a refusal calls it. `question` reads all parts from a certificate;
`compare` refuses a certificate that does not have those that are stated.
"""

import hashlib
import json
import marshal
import math
import os
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from dalenius import shown
from dalenius.errors import InputError, refuse
from dalenius.model.files import path_of, read_json, write
from dalenius.verifier import verify as verifier
from dalenius.verifier.kernel import reading
from dalenius.verifier.kernel.reading import DESIGN, field, mapping, number
from dalenius.verifier.saved import words

LIMITS = ("entropy", "knowledge")
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


def question(certificate: dict[str, Any], nats: float = 1.0) -> dict[str, object]:
    """Return what a certificate is about, and its bounds in units of so many nats, rounded outward by one float.

    Of a design the mechanism and the secret are those of the audit inside, and there are parts of its own.
    """
    whole_design = certificate.get("format") == DESIGN
    inside = mapping(field(certificate, "audit", "the certificate"), "its audit") if whole_design else certificate
    adversary = mapping(field(certificate, "adversary", "the certificate"), "the adversary")
    if unknown := set(adversary) - {"independent", *LIMITS, "reference"}:
        reading.refuse(
            f"the adversary of the certificate has {reading.show(min(unknown))}, which says nothing about an adversary"
        )
    problem = mapping(field(inside, "problem", "the certificate"), "the problem")
    lower, upper = (
        number(field(certificate, key, "the certificate"), f"{key!r} of the certificate") for key in ("lower", "upper")
    )
    if nats != 1:
        lower, upper = max(0.0, math.nextafter(lower / nats, -math.inf)), math.nextafter(upper / nats, math.inf)
    found: dict[str, object] = {
        "mechanism": {key: x for key, x in problem.items() if key != "quadrature"},
        "adversary": "independent" if "independent" in adversary else "bounded",
        "limit": {key: adversary[key] for key in LIMITS if key in adversary},
        "reference": adversary.get("reference"),
        "secret": inside.get("secret"),
        "lower bound": lower,
        "upper bound": upper,
    }
    if whole_design:
        task = mapping(field(certificate, "problem", "the certificate"), "the problem")
        found |= {"task": task, "query": task.get("query")}
        found |= {key: field(certificate, key, "the certificate") for key in ("budget", "distortion")}
    return found


def compare(stated: Mapping[str, object], certificate: dict[str, Any], nats: float = 1.0, whose: str = "saved") -> None:
    """Refuse a certificate that is about another question than the one stated, or states other bounds.

    stated: parts of a question, by the words of `question`; those left out may be any. nats: how many a unit of the
    bounds is. whose: of what the parts are, for the refusal.
    """
    found = question(certificate, nats)
    for part, value in stated.items():
        if part.endswith(" bound"):
            value = number(value, f"the {whose} {part}")  # noqa: PLW2901 - as it is compared
        if value != found.get(part):
            one, other = (words(x) if isinstance(x, dict) else reading.show(x) for x in (value, found.get(part)))
            reading.refuse(f"the {whose} {part} is {one} where the certificate has {other}")
    low, high = (stated.get(part) for part in ("lower bound", "upper bound"))
    if isinstance(low, (int, float)) and isinstance(high, (int, float)) and low > high:
        reading.refuse(f"lower {low!r} exceeds upper {high!r}")
