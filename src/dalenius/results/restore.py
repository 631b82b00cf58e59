"""From the content of a file to the audit or the design that it holds; whatever is unsound raises.

Bounds, mechanism, adversary, secret and budget have been compared with the certificate (verifier/saved.py); here they
are rebuilt from it, and what the certificate does not carry is checked as far as it can be.
"""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from dalenius.certificates.audits import Group
from dalenius.certificates.certificate import Certificate
from dalenius.certificates.question import adversary_of, secret_of, witness_of
from dalenius.errors import refuse, show
from dalenius.model import checks, storage
from dalenius.model.channels.mechanism import Mechanism
from dalenius.model.channels.written import Written
from dalenius.model.distortion import MEASURES, Distortion, measure_name, output_labels
from dalenius.model.problem import NATS_PER_UNIT, is_closed, up
from dalenius.model.query import Query
from dalenius.results.audit import Audit, Extremes, Records
from dalenius.results.design import Design
from dalenius.results.notes import read_notes
from dalenius.results.result import Step

# Forms whose proofs are about the release itself, and not about a channel that a step leads to.
DIRECT = ("rows", "samples", "sum", "releases", "histogram", "per-record", "real-records")
NEAR = 1e-9  # relative: by how much bounds of real outputs may differ that were rounded on different ways
LONGEST = 40  # characters of the name of a bound
DISTORTIONS = ("absolute error", "squared error", "share of wrong answers", "distortion")


def audit_of(content: dict[str, Any]) -> Audit:
    """Rebuild a saved audit."""
    return _audit(content, content["certificate"], storage.mechanism_from(content["mechanism"]))


def _audit(content: dict[str, Any], certificate: dict[str, Any], mechanism: Mechanism) -> Audit:
    if mechanism.describe() != {key: x for key, x in certificate["problem"].items() if key != "quadrature"}:
        refuse("its mechanism is not the one that its certificate is about")
    # "bounds" is the name of `upper_by` in version 0.1.
    found = read_notes(Audit, {"upper_by": content["bounds"], **content} if "bounds" in content else content)
    sampled = mechanism.as_samples is not None
    names = (found["upper_by"], *found.get("tried", ()))
    if (found["proved"] == "upper") != sampled or max(map(len, names)) > LONGEST or len(names) > LONGEST:
        refuse(f"it is proved {found['proved']!r}, the upper bound by {show(found['upper_by'])}")
    secret = secret_of(content, certificate, mechanism)
    adversary = adversary_of(content["adversary"], certificate, mechanism)
    return Audit(
        mechanism=mechanism,
        adversary=adversary,
        records=_records(content, certificate, None if secret is None else found["record"], mechanism.n),
        secret=secret,
        prior=witness_of(mechanism, secret, certificate, adversary.reference),
        certificate=Certificate.of(certificate),
        extremes=_extremes(content["extremes"]),
        **_ended(found, content),
    )


def _ended(found: dict[str, Any], content: dict[str, Any]) -> dict[str, Any]:
    """How it ended. Version 0.1 wrote "gap" also of a gap that was only nearly within the tolerance."""
    closed = is_closed(found["lower"], found["upper"], found["tolerance"], found.get("relative", 0.0))
    if not all(name.isidentifier() for name in found.get("repairs", ())):
        refuse('"repairs" must list names of repairs')
    stopped = "nearly" if found["stopped"] == "gap" and not closed else found["stopped"]
    history = tuple(_step(*line) for line in content.get("history", ()))
    return {**found, "stopped": stopped, "history": history, "loaded": True}


def _step(start: object, iteration: object, *numbers: object) -> Step:
    """One iteration; files of version 0.1 have neither the worst-case leakage nor the penalty."""
    if len(numbers) not in {4, 6}:
        refuse(f"an iteration has {len(numbers) + 2} numbers in place of 8")
    measured = (checks.real("a number of the history", x, -math.inf, math.inf) if x is not None else x for x in numbers)
    whole = checks.whole("a start", start, 0), checks.whole("an iteration", iteration, 0)
    return Step(*whole, *(math.inf if x is None else x for x in measured))


def _extremes(listed: Any) -> Extremes | None:
    if listed is None:  # they were not computed
        return None
    low, high, uniform = (math.nan if x is None else checks.real("an extreme", x, -NEAR, math.inf) for x in listed)
    if low > high:
        refuse(f"its extremes cross: {low!r} > {high!r}")
    return Extremes((low, high), uniform)


def _records(content: dict[str, Any], certificate: dict[str, Any], record: int | None, n: int) -> Records:
    """Every record's bracket; refused unless they are of all records, and of the certificate as far as it tells.

    It tells the lower bound of the worst record and, but for real outputs, every upper bound.
    """
    groups = [_orbit(orbit) for orbit in content["orbits"]]
    one = "secret" in certificate
    if not ([group[0] for group in groups] == [(record,)] if one else _cover(groups, n)):
        refuse(f"its brackets are not of {'the secret' if one else f'the {n} records'}")
    records = Records(tuple(groups))
    worst = max(content["lower"], *(upper for _, _, upper in groups))
    witness = records.orbit_of(record if one else certificate["witness"]["record"])[1]
    near = abs(worst - content["upper"]) <= NEAR * max(1.0, worst)
    if not (near and witness == content["lower"] and _proved(records, content["unit"], certificate, record)):
        refuse("the brackets of its records are not those of the certificate")
    return records


def _proved(records: Records, unit: str, certificate: dict[str, Any], record: int | None) -> bool:
    """Whether the upper bound of every orbit is that of its proof, as far as there are proofs by records."""
    if certificate.get("form", "rows") not in DIRECT or not certificate["proofs"]:
        return True
    proofs, nats, one = certificate["proofs"], NATS_PER_UNIT[unit], "secret" in certificate
    stated = [(record if one else proof["record"], up(proof["upper"], nats)) for proof in proofs]
    return len(proofs) == len(records.orbits) and all(records.orbit_of(of)[2] == upper for of, upper in stated)


def _orbit(orbit: dict[str, Any]) -> Group:
    listed = orbit["records"]
    lower, upper = (checks.real("a bound of a record", orbit[key], 0.0, math.inf) for key in ("lower", "upper"))
    if type(listed) is not list or not listed or (listed != [None] and not checks.all_whole(listed)) or lower > upper:
        refuse(f"it has no sound bracket of the records {show(listed)}")
    if orbit["range"] is True:
        first, last = listed
        return range(first, last), lower, upper
    return tuple(listed), lower, upper


def _cover(groups: list[Group], n: int) -> bool:
    """Whether the orbits hold each of the records 0..n-1 once."""
    spans = []
    for members, _, _ in groups:
        ranges = [members] if isinstance(members, range) else [range(i, i + 1) for i in members if i is not None]
        spans += [(span.start, span.stop) for span in ranges if span]
    ends = [(0, 0), *sorted(spans), (n, n)]
    return len(spans) > 0 and all(before[1] == after[0] for before, after in pairwise(ends))


def design_of(content: dict[str, Any]) -> Design:
    """Rebuild a saved design."""
    certificate = Certificate.of(content["certificate"])
    inside = certificate.data.get("audit", certificate.data)  # of its mechanism; all of it where no budget is kept
    found, query = read_notes(Design, content), storage.query_from(content["query"])
    together = storage.mechanism_from(content["mechanism"]).written()
    if query.records != together.records:
        refuse("its query is not about the records of its mechanism")
    if together.query is None:  # a function of the user's: files keep its answers beside the mechanism
        same = np.array_equal(together.statistic.class_table(), query.statistic.class_table())
        statistic = query.statistic if same and not query.named else together.statistic
        together = Written(statistic, together.given, together.labels, query)
    mechanism = together
    if "beside" in certificate.data:
        released = storage.mechanism_from(content["released"]).written()
        mechanism = Written(together.statistic, released.given, released.labels, together.query)
    _check_words(found["distortion_name"], query, mechanism, certificate.data)
    design = Design(
        query=query,
        adversary=adversary_of(content["adversary"], inside, mechanism),
        mechanism=mechanism,
        leakage=_audit(content["leakage"], inside, together),
        certificate=certificate,
        **_ended(found, content),
    )
    checks.real("the slope of its certificate", design.slope if design.kept else 0.0, 0.0, math.inf)
    return design


def _check_words(name: str, query: Query, mechanism: Written, certificate: dict[str, Any]) -> None:
    """Refuse words for the distortion and labels of outputs other than the certificate's, where it has them.

    Where it has a table of distortions alone, the table must be that of a named query; reports say in any case that the
    query and the words are from the file.
    """
    checks.choice('"distortion_name"', name, DISTORTIONS)
    problem = certificate["problem"]
    if "distortion" not in problem:
        return
    measure, listed = problem["distortion"], problem.get("outputs")
    if "query" not in problem:
        _check_table(name, query, mechanism, measure)
        return
    if name != measure_name(measure if measure in MEASURES else "table", query):
        refuse(f'"distortion_name" cannot be {name!r} where the certificate has another distortion')
    outputs = query.outputs if listed is None else tuple(map(storage.answer_from, listed))
    if mechanism.labels != output_labels(query, outputs):
        refuse("the labels of its mechanism are not the outputs of the certificate")


def _check_table(name: str, query: Query, mechanism: Written, table: object) -> None:
    """Refuse a table of distortions that is not the one of a named query by a measure of this name."""
    measure = next((word for word in MEASURES if measure_name(word, query) == name), None)
    if measure is None or not query.named:
        return
    outputs: Sequence[object] = mechanism.labels
    if mechanism.labels == query.labels:
        outputs = query.outputs
    elif query.vector:
        outputs = [tuple(map(float, str(label).split(","))) for label in mechanism.labels]
    expected = Distortion.from_user(query, measure, outputs).table[query.statistic.class_table()]
    if not np.array_equal(np.asarray(table, dtype=float)[mechanism.statistic.class_table()], expected):
        refuse(f"the distortions of its certificate are not the {name} of {query} and the labels of its mechanism")
