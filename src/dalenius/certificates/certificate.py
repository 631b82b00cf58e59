"""A certificate of an audit or a design: the problem and the proofs of both bounds, as plain data in nats."""

import json
import os
from dataclasses import dataclass
from typing import Any

from dalenius import shown
from dalenius.certificates import made
from dalenius.errors import InputError, refuse
from dalenius.model import storage


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
        storage.write(storage.path_of(path), self.text().encode())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Certificate":
        """Read what save wrote; `verify` decides whether it proves anything."""
        try:
            return cls.of(storage.read_json(storage.path_of(path)))
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
        made.note(certificate)
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
