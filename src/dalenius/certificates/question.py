"""From a certificate back to its question: adversary, reference, secret; and to the prior of its witness.

Each kind of witness is read in its own way. Whatever is unsound raises.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np

from dalenius.errors import refuse
from dalenius.model import checks
from dalenius.model.alike import Runs
from dalenius.model.channels.mechanism import Mechanism
from dalenius.model.channels.noisy_sum import NoisySum
from dalenius.model.counted import CountedPrior, Decoder, TiedPrior, Tilts
from dalenius.model.counting import Law
from dalenius.model.gallery.parse import parse_mechanism, parse_query
from dalenius.model.prior import Prior
from dalenius.model.problem import Adversary
from dalenius.model.reference import UNIFORM, Reference
from dalenius.model.secret import Attributes, Function, Secret, describe, from_user, members
from dalenius.model.statistic import Histogram, Sum


def adversary_of(certificate: dict[str, Any], mechanism: Mechanism) -> Adversary:
    """Return the adversary of a certificate."""
    given = certificate["adversary"]
    amount: dict[str, Any] = {key: given[key] for key in ("entropy", "knowledge") if key in given}
    reference, known = reference_of(given.get("reference"), mechanism), amount.get("knowledge")
    if mechanism.as_real_records is not None:
        return Adversary.of_reals(known, "nats", reference, "independent" if "independent" in given else "bounded")
    if "independent" in given:
        return Adversary.independent(mechanism.records, known, "nats", reference)
    return Adversary.from_user(mechanism.records, **amount, reference=reference)


def reference_of(described: dict[str, Any] | None, mechanism: Mechanism) -> Reference:
    """Return the reference prior that a certificate describes."""
    if (real := mechanism.as_real_records) is not None:
        return real.density(None if described is None else (described["edges"], described["masses"]))
    if described is None:
        return UNIFORM
    (listed,) = described.values()
    reference = Reference.from_user(listed, mechanism.records)
    if reference.describe() != described:
        refuse("the reference prior of its certificate is not one of these records")
    return reference


def secret_of(content: dict[str, Any], certificate: dict[str, Any], mechanism: Mechanism) -> Secret | None:
    """Return the secret of a certificate; what its values are called is from the file, which is `content`."""
    described, records = certificate.get("secret"), mechanism.records
    if described is None:
        return None
    if (real := mechanism.as_real_records) is not None:
        bins = {key: described[key] for key in ("record", "edges") if key in described}
        return real.secret(bins if described["kind"] == "bin" else described["records"])
    group, values = described.get("records"), described.get("values")
    whole = None if group is None else from_user(group, records)
    if whole is not None and describe(whole)["records"] != group:
        refuse("the secret of its certificate does not list records in ascending order")
    if values is None:
        return whole
    many = max(values) + 1
    expected = checks.universe(records) if group is None else math.prod(records[i] for i in group)
    if len(values) != expected or set(values) != set(range(many)) or not checks.all_whole(values):
        refuse("the secret of its certificate is not one value for every dataset, or for all values of its records")
    names = _texts(content["names"], "names")
    if len(names) != many:
        refuse(f'"names" must list {many} texts, one for each value of the secret')
    if group is None:
        return Function(np.array(values, dtype=np.int64), names)
    words = _texts(content["words"], "words") if "words" in content else _words(group)
    return Attributes(np.array(values, dtype=np.int64), names, tuple(group), words)


def _texts(listed: object, name: str) -> tuple[str, ...]:
    """Texts of a file, which reports escape."""
    if not isinstance(listed, list) or any(type(x) is not str for x in listed):
        refuse(f'"{name}" must list texts')
    return tuple(listed)


def _words(group: Sequence[int]) -> tuple[str, ...]:
    return tuple(f"a function of record {i}" for i in group)


def witness_of(mechanism: Mechanism, secret: Secret | None, certificate: dict[str, Any], reference: Reference) -> Prior:
    """Return the witness: of real-valued records on cells or grid points, of samples for the channel above."""
    if mechanism.as_real_records is not None:
        certificate = certificate["witness"]["audit"]
        problem = certificate["problem"]
        mechanism = parse_mechanism(problem["mechanism"], parse_query(problem["query"]))
        secret, reference = None, reference_of(certificate["adversary"].get("reference"), mechanism)
        if "secret" in certificate:
            names = [str(v) for v in range(max(certificate["secret"]["values"]) + 1)]
            secret = secret_of({"names": names}, certificate, mechanism)
    elif (samples := mechanism.as_samples) is not None:
        mechanism = samples.above
    about = certificate["witness"].get("record", 0) if secret is None else secret
    return prior_of_witness(mechanism, about, certificate, reference)


def prior_of_witness(mechanism: Mechanism, secret: Secret, certificate: dict[str, Any], reference: Reference) -> Prior:
    """Return the prior that the witness of a certificate states; whatever is not a prior of this mechanism raises."""
    witness = certificate["witness"]
    if "law" in witness:
        assert isinstance(secret, int)  # for the type checker: the verifier's rule
        return independent_prior(mechanism, secret, witness, reference)
    if witness.get("kind") in ("tied", "counted"):
        of_counts = _tied if witness["kind"] == "tied" else _counted
        return of_counts(mechanism, secret, certificate, reference)
    if "blocks" in witness:
        cell, counts, blocks = witness.get("cell"), mechanism.as_counts, witness["blocks"]
        part: Mechanism = mechanism
        if counts is not None and not (cell is None and mechanism.has_rows):
            part = counts.cell(cell)
        if isinstance(part, NoisySum):
            part = part.near(reference)
            blocks = [max(0, start - cast("Sum", part.statistic).first) for start in blocks]
        return Prior.on_blocks(part, secret, blocks, witness["masses"], reference)
    if witness.get("kind") == "uniform":
        return _even(mechanism, secret)
    if "part" in witness:
        return _on_some_records(mechanism, secret, witness, reference)
    return Prior(mechanism, secret, witness["masses"], reference)


def _on_some_records(mechanism: Mechanism, secret: Secret, witness: dict[str, Any], reference: Reference) -> Prior:
    """The prior on a few records of a local randomiser, its masses by the secret and what is looked at of others."""
    group = members(secret.whole if isinstance(secret, Attributes) else secret)
    whole, about = mechanism.as_records, witness["part"]
    if whole is None or group is None:
        refuse("its witness looks at some records, but its mechanism has no channel for each")
    law = np.exp(reference.log_law_of(0, whole.k))
    part = whole.look_at(group, checks.whole("others", about["others"], 0), counted=about["counted"], law=law)
    looked_at, given = part.looked_at, np.asarray(witness["masses"], dtype=float)
    labels = secret.values if isinstance(secret, Attributes) else np.arange(looked_at.values)
    masses = np.zeros((int(labels.max()) + 1, looked_at.values, looked_at.inside))
    masses[labels, np.arange(looked_at.values)] = given
    return Prior(part, secret, masses.reshape(len(masses), -1) / given.sum(), reference)


def _even(mechanism: Mechanism, secret: Secret) -> Prior:
    """The uniform prior of one record through a symmetric channel."""
    if mechanism.as_symmetric is None or secret != 0:
        refuse(
            "its witness is the uniform prior of one record, and its mechanism is not a symmetric channel of one record"
        )
    return Prior.uniform(mechanism)


def _counted(mechanism: Mechanism, secret: Secret, certificate: dict[str, Any], reference: Reference) -> CountedPrior:
    """The prior on all counts; what it tells is the certificate's lower bound."""
    counts = mechanism.as_counts
    if counts is None or not counts.listed or not isinstance(secret, int):
        refuse("its witness is on all counts, and it is not about a record of a noisy histogram of few people")
    tilts = Tilts.from_certificate(certificate["witness"])
    return CountedPrior.of_tilts(counts, secret, tilts, float(certificate["lower"]), reference)


def _tied(mechanism: Mechanism, secret: Secret, certificate: dict[str, Any], reference: Reference) -> TiedPrior:
    """The prior that ties every value to its own count; what it tells is the certificate's lower bound."""
    counts = mechanism.as_counts
    single = secret.whole if isinstance(secret, Attributes) else secret
    if counts is None or not isinstance(single, int):
        refuse("its witness ties values to their counts, and it is not about a record of a noisy histogram")
    witness = certificate["witness"]
    law = np.zeros(counts.n + 1)
    listed = np.asarray(witness["masses"], dtype=float)
    law[witness["first"] : witness["first"] + listed.size] = listed
    if not 0 < law.sum() < math.inf or law.min() < 0:
        refuse("the masses of its witness are not those of a prior")
    low, high = witness["window"]
    decoder = Decoder(
        tuple(witness["cuts"]),
        tuple(witness["weights"]),
        (low, high),
        tuple(witness["nodes"]),
        witness["step"],
        tuple(witness.get("scores", ())),
    )
    leaked, tilt = float(certificate["lower"]), tuple(witness.get("tilt", ()))
    if tilt and len(tilt) != high - low + 1:
        refuse("the tilt of its witness is not one of the counts in its window")
    return TiedPrior.of_counts(counts, secret, law, decoder=decoder, leaked=leaked, tilt=tilt, reference=reference)


def independent_prior(mechanism: Mechanism, record: int, witness: Mapping[str, Any], reference: Reference) -> Prior:
    """Return the prior of a witness: a law for every record, those of the others certain where they are known.

    others: how many of the other records have each value, or what they are where records differ. Without them the
    others follow `beside`, a law of their own, or the reference; of local randomisers they are left out, as they do not
    matter.
    """
    others, beside = witness.get("others"), witness.get("beside")
    given = reference if beside is None else Reference((tuple(beside),))
    laws = _laws(mechanism, record, witness, given)
    prior = Reference(cast("tuple[Law, ...]", laws))
    # The prior of a release that is never written out is about a part of it: one noisy count, or the record alone.
    part: Mechanism = mechanism
    counts, channels = mechanism.as_counts, mechanism.as_records
    if counts is not None and not mechanism.has_rows:
        part = counts.cell(witness.get("cell", 0))
    if channels is not None and not mechanism.has_rows:
        part = channels.look_at((record,), 0)
    if (noisy := mechanism.as_sum) is not None and not noisy.query.listed:
        if others is None:
            part = noisy.near(given)
        else:
            added = cast("Sum", mechanism.statistic).contributions
            total = sum(many * c for many, c in zip(others, added, strict=True))
            part = noisy.between(range(total + min(added), total + max(added) + 1))
    if others is None and isinstance(part.statistic, Histogram) and len(given.laws) <= 1:
        # Laws that differ would need a list of datasets.
        log_joint = given.log_joint(part.statistic, record)
        own = np.exp(np.logaddexp.reduce(log_joint, axis=1, keepdims=True))
        masses = np.exp(log_joint) / np.where(own > 0, own, 1.0) * np.array(laws[record])[:, None]
        return Prior(part, record, masses / masses.sum(), given)
    masses = np.exp(prior.log_joint(part.statistic, record))
    return Prior(part, record, masses / masses.sum(), prior)


def _laws(mechanism: Mechanism, record: int, witness: Mapping[str, Any], given: Reference) -> Sequence[Law]:
    """The law of every record: that of the witness for one, and for the others the given one, or what is known."""
    records, others, own = mechanism.records, witness.get("others"), tuple(float(p) for p in witness["law"])
    if isinstance(mechanism.statistic, (Sum, Histogram)) and len(given.laws) <= 1:
        law, many = law_of(given, record, records[record]), len(records) - 1
        rest = (
            Runs((law, many)) if others is None else Runs(*((_certain(v, len(own)), c) for v, c in enumerate(others)))
        )
        return Runs(*rest[:record].parts, (own, 1), *rest[record:].parts)
    if others is None:
        laws = [law_of(given, i, size) for i, size in enumerate(records)]
    else:
        laws = [_certain(v, size) for v, size in zip(others, records, strict=True)]
    laws[record] = own
    return tuple(laws)


def law_of(reference: Reference, record: int, size: int) -> tuple[float, ...]:
    """Return the law of one record, of so many values."""
    if not reference.laws:
        return (1 / size,) * size
    return reference.laws[0] if len(reference.laws) == 1 else reference.laws[record]


def _certain(value: int, size: int) -> tuple[float, ...]:
    return tuple(float(v == value) for v in range(size))


def one_by_one(counts: Sequence[int], record: int) -> tuple[int, ...]:
    """Return a dataset whose records but one have these numbers by value; that one is 0."""
    values = [v for v, many in enumerate(counts) for _ in range(many)]
    return (*values[:record], 0, *values[record:])
