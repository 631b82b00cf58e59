"""Which parts of the verifier a certificate rested on: the kernel, and what else its words name."""

from collections.abc import Iterator
from typing import Any

from .kernel.reading import DESIGN, JOINT

# Kinds of proof and of witness that are checked in `special`, and mixtures.
SPECIAL = ("counted", "moved", "tied", "product", "looks", "bellman", "beside", "power", "decoy", "mixture")
STEPS = ("grid", "window", "order", "points", "cone", "mean")


def rested_on(content: dict[str, Any]) -> str:
    """Return "kernel", and the names of forms, steps and special bounds that a verified certificate used beside it."""
    return ", ".join(["kernel", *dict.fromkeys(_named(content))])


def _named(content: dict[str, Any]) -> Iterator[str]:
    if content["format"] == JOINT:
        yield "joint"
        for release in content["releases"]:
            yield from _named(release["audit"])
    elif content["format"] == DESIGN:
        yield "design"
        yield from _named(content["audit"])
    else:
        yield from _of_audit(content)


def _of_audit(content: dict[str, Any]) -> Iterator[str]:
    """Only what was checked is named: steps stand in proofs, audits in the parts of real-valued records."""
    if content["form"] != "rows":
        yield content["form"]
    if {"query", "mechanism", "releases"} & set(content["problem"]):
        yield "names"
    if "independent" in content["adversary"]:
        yield "independent"
    for other in content.get("priors", ()):
        yield from _of_audit(other)
    witness = content["witness"]
    if witness["kind"] in SPECIAL:
        yield witness["kind"]
    for proof in content["proofs"]:
        yield from _of_proof(proof)
    if content["form"] == "real-records":
        yield from (name for part in (witness, *content["proofs"]) if "audit" in part for name in _named(part["audit"]))


def _of_proof(proof: dict[str, Any]) -> Iterator[str]:
    yield from (step["step"] for step in proof.get("steps", ()) if step["step"] in STEPS)
    if proof["kind"] in SPECIAL:
        yield proof["kind"]
    if proof["kind"] == "mixture":
        # What stands in a part whose rows are all equal was not read.
        read = (part["proof"] for part in proof["parts"] if len(set(map(tuple, part["rows"]))) > 1)
        yield from (name for inner in read for name in _of_proof(inner))
