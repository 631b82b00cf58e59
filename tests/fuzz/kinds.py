"""Which kinds of proof and of witness the verifier knows, and which of them some certificates lack."""

import io
import json
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from dalenius.verifier.verify import verify_stream

Json = Any

# Forms of a release, with the kinds of witness that each has.
WITNESSES = {
    "histogram blocks",
    "histogram counted",
    "histogram following",
    "histogram known",
    "histogram tied",
    "histogram tied tilt",
    "per-record uniform",
    "per-record following",
    "per-record part",
    "real-outputs masses",
    "real-records cells",
    "releases blocks",
    "rows following",
    "rows known",
    "rows leaning",
    "rows masses",
    "samples known",
    "samples masses",
    "sum blocks",
    "sum following",
    "sum known",
}
# Steps, with the kinds that came after them.
STEPS = {"grid", "window", "order", "points", "cone", "mean"}
# Rows, sums, histograms, local randomisers, independent records, real-valued records, their bins, real-valued records
# in steps.
WAYS = 8


def audit_of(data: Json) -> Json:
    """The audit certificate in a certificate, a design, a saved result, or the first of several releases."""
    data = data.get("certificate", data)
    data = data["releases"][0] if "releases" in data else data
    return data.get("audit", data)


def lacking(certificates: Iterable[Json]) -> set[str]:
    """Kinds that the verifier knows and none of these has; how a channel is held decides which kinds there are."""
    audits = [audit_of(data) for data in certificates]
    met: dict[tuple[str, ...], set[str]] = defaultdict(set)
    for data in audits:
        met[known(data)] |= {proof["kind"] for proof in data["proofs"]}
    met.pop((), None)
    ways = set() if len(met) == WAYS else {f"{len(met)} of {WAYS} ways to hold a channel"}
    # The bin of a record has the kinds that the record has, and two more.
    whole = {way: kinds.union(*(met[more] for more in met if set(way) < set(more))) for way, kinds in met.items()}
    proofs = {f"{kind} of {', '.join(way)}" for way, kinds in whole.items() for kind in set(way) - kinds}
    steps = {step["step"] for data in audits for proof in data["proofs"] for step in proof.get("steps", ())}
    return ways | proofs | (WITNESSES - set(map(held, audits))) | (STEPS - steps)


def held(data: Json) -> str:
    """The form of a release and the kind of its witness."""
    witness = data["witness"]
    return " ".join([data["form"], witness["kind"], *(["tilt"] if "tilt" in witness else [])])


def known(data: Json) -> tuple[str, ...]:
    """The kinds that the verifier names when it refuses another; none where it refuses for another reason."""
    unknown = [{**proof, "kind": "unknown"} for proof in data["proofs"]]
    changed = {**data, "proofs": [{key: x for key, x in proof.items() if key != "steps"} for proof in unknown]}
    reason = verify_stream(io.BytesIO(json.dumps(changed).encode()))["reason"]
    _, found, kinds = reason.partition("its kind is none of ")
    return tuple(kinds.split(", which")[0].split(", ")) if found else ()
