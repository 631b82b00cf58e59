"""Which parts of the verifier a certificate rested on: the kernel, and what else its words name."""

from collections.abc import Iterator
from typing import Any

from .kernel.reading import DESIGN, JOINT

# Kinds of proof and of witness that are checked in `special`, and mixtures.
SPECIAL = ("counted", "moved", "tied", "product", "looks", "bellman", "beside", "power", "mixture")
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
    if {"mechanism", "releases"} & set(content["problem"]):
        yield "names"
    if "independent" in content["adversary"]:
        yield "independent"
    for other in content.get("priors", ()):
        yield from _of_audit(other)
    for part in (content["witness"], *content["proofs"]):
        steps = () if part is content["witness"] else part.get("steps", ())
        yield from (step["step"] for step in steps if step["step"] in STEPS)
        if part["kind"] in SPECIAL:
            yield part["kind"]
        if content["form"] == "real-records" and "audit" in part:
            yield from _named(part["audit"])
