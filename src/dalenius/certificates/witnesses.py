"""Priors from the witnesses of certificates: how each kind is read."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dalenius.errors import InputError
from dalenius.gallery.parse import local
from dalenius.model import checks
from dalenius.model.channels.local import Local
from dalenius.model.channels.mechanism import Mechanism
from dalenius.model.channels.noisy_histogram import NoisyHistogram
from dalenius.model.channels.symmetric import EvenPrior, Symmetric
from dalenius.model.prior import Prior
from dalenius.model.reference import Reference
from dalenius.model.secret import Attributes, Secret, members
from dalenius.model.statistic import Histogram, Sum
from dalenius.model.tied import Decoder, TiedPrior


def prior_of_witness(mechanism: Mechanism, secret: Secret, certificate: dict[str, Any], reference: Reference) -> Prior:
    """Return the prior that the witness of a certificate states; whatever is no prior of this mechanism raises."""
    witness = certificate["witness"]
    if "law" in witness:
        assert isinstance(secret, int)  # noqa: S101 - for the type checker: the verifier's rule
        return independent_prior(mechanism, secret, witness, reference)
    if "kind" in witness:
        return _tied(mechanism, secret, certificate, reference)
    if "blocks" in witness:
        part = mechanism.witnessed(witness.get("cell"))
        return Prior.on_blocks(part, secret, witness["blocks"], witness["masses"], reference)
    if "uniform" in witness:
        return _even(mechanism, secret)
    if "part" in witness:
        return _on_some_records(mechanism, secret, witness, reference)
    return Prior(mechanism, secret, witness["masses"], reference)


def _on_some_records(mechanism: Mechanism, secret: Secret, witness: dict[str, Any], reference: Reference) -> Prior:
    """The prior on a few records of a local randomiser, its masses by the secret and what is looked at of others."""
    group = members(secret.whole if isinstance(secret, Attributes) else secret)
    whole, about = local(mechanism), witness["part"]
    if whole is None or group is None:
        message = "its witness looks at some records, but its mechanism has no channel for each"
        raise InputError(message)
    law = np.exp(reference.log_law_of(0, whole.k))
    part = whole.look_at(group, checks.whole("others", about["others"], 0), counted=about["counted"], law=law)
    looked_at, given = part.looked_at, np.asarray(witness["masses"], dtype=float)
    labels = secret.labels if isinstance(secret, Attributes) else np.arange(looked_at.values)
    masses = np.zeros((int(labels.max()) + 1, looked_at.values, looked_at.inside))
    masses[labels, np.arange(looked_at.values)] = given
    return Prior(part, secret, masses.reshape(len(masses), -1) / given.sum(), reference)


def _even(mechanism: Mechanism, secret: Secret) -> EvenPrior:
    """The uniform prior of one record through a symmetric channel."""
    if not isinstance(mechanism, Symmetric) or secret != 0:
        message = (
            "its witness is the uniform prior of one record, and its mechanism is not a symmetric channel of one record"
        )
        raise InputError(message)
    return EvenPrior.of(mechanism, 0)


def _tied(mechanism: Mechanism, secret: Secret, certificate: dict[str, Any], reference: Reference) -> TiedPrior:
    """The prior that ties every value to its own count; what it tells is the certificate's lower bound."""
    if not isinstance(mechanism, NoisyHistogram) or not isinstance(secret, int):
        message = "its witness ties values to their counts, and it is not about a record of a noisy histogram"
        raise InputError(message)
    witness = certificate["witness"]
    law = np.zeros(mechanism.n + 1)
    listed = np.asarray(witness["masses"], dtype=float)
    law[witness["first"] : witness["first"] + listed.size] = listed
    if not 0 < law.sum() < math.inf or law.min() < 0:
        message = "the masses of its witness are not those of a prior"
        raise InputError(message)
    low, high = witness["window"]
    decoder = Decoder(
        tuple(witness["cuts"]), tuple(witness["weights"]), (low, high), tuple(witness["nodes"]), witness["step"]
    )
    told, tilt = float(certificate["lower"]), tuple(witness.get("tilt", ()))
    if tilt and len(tilt) != high - low + 1:
        message = "the tilt of its witness is not one of the counts in its window"
        raise InputError(message)
    return TiedPrior.of_counts(mechanism, secret, law, decoder=decoder, told=told, tilt=tilt, reference=reference)


def independent_prior(mechanism: Mechanism, record: int, witness: Mapping[str, Any], reference: Reference) -> Prior:
    """Return the prior of a witness: a law for every record, those of the others certain where they are known.

    others: how many of the other records have each value, or what they are where records differ. Without them the
    others follow `beside`, a law of their own, or the reference; of local randomisers they are left out, as they do not
    matter.
    """
    records, others, beside = mechanism.records, witness.get("others"), witness.get("beside")
    given = reference if beside is None else Reference((tuple(beside),))
    if others is None:
        laws = [law_of(given, i, size) for i, size in enumerate(records)]
    else:
        counted = isinstance(mechanism.statistic, (Sum, Histogram)) and len(reference.laws) <= 1
        known = list(enumerate(one_by_one(others, record) if counted else others))
        certain = {(v, records[i]): _certain(v, records[i]) for i, v in known}
        laws = [certain[v, records[i]] for i, v in known]
    laws[record] = tuple(float(p) for p in witness["law"])
    held = Reference(tuple(laws))
    # Of a release that is never written out, the prior is held by a part of it: one noisy count, or the record alone.
    told: Mechanism = mechanism
    if isinstance(mechanism, NoisyHistogram):
        told = mechanism.cell(witness.get("cell", 0))
    if isinstance(mechanism, Local):
        told = mechanism.look_at((record,), 0)
    if others is None and isinstance(told.statistic, Histogram) and len(given.laws) <= 1:
        # Laws that differ would need a list of datasets.
        log_joint = given.log_joint(told.statistic, record)
        own = np.exp(np.logaddexp.reduce(log_joint, axis=1, keepdims=True))
        masses = np.exp(log_joint) / np.where(own > 0, own, 1.0) * np.array(laws[record])[:, None]
        return Prior(told, record, masses / masses.sum(), given)
    masses = np.exp(held.log_joint(told.statistic, record))
    return Prior(told, record, masses / masses.sum(), held)


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
