"""What is on record of an answer, and when another one differs from it."""

import hashlib
import json
from pathlib import Path
from typing import Any

import dalenius as dl

FILE = Path(__file__).parent / "answers.json"
Answer = dict[str, Any]


def on_record() -> dict[str, Answer]:
    """The answers that were put on record."""
    known: dict[str, Answer] = json.loads(FILE.read_text()) if FILE.exists() else {}
    return known


def of(result: dl.Audit | dl.Design) -> Answer:
    """Bounds and how closely they are repeatable, kinds of proof, nodes, and the digest of the certificate."""
    audit = result.leakage if isinstance(result, dl.Design) else result
    text = result.certificate.text()
    return {
        "lower": result.lower,
        "upper": result.upper,
        "within": 1e-6 if isinstance(result, dl.Design) else 1e-8,
        "kinds": sorted({proof["kind"] for proof in audit.certificate.data["proofs"]}),
        "nodes": audit.nodes,
        "sha256": hashlib.sha256(text.encode()).hexdigest(),
    }


def difference(known: Answer, found: Answer) -> str:
    """Say what differs beyond the order of floating-point work: kinds, nodes by 2 %, bounds by 1e-8.

    Between processors bounds of open sums were seen to differ by 2e-9, and those of designs, whose search ends at a
    tolerance, by 3e-8: there 1e-6 is allowed.
    """
    if known["kinds"] != found["kinds"]:
        return f"kinds {found['kinds']}, were {known['kinds']}"
    if abs(known["nodes"] - found["nodes"]) > 0.02 * known["nodes"]:
        return f"nodes {found['nodes']}, were {known['nodes']}"
    worst = max(abs(known[key] - found[key]) for key in ("lower", "upper"))
    return f"bounds differ by {worst:.1e}" if worst > known["within"] else ""
