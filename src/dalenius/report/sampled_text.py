"""What an audit of a mechanism known by samples says: an upper bound with its confidence, and nothing from below."""

from dalenius.model.channels.mechanism import Mechanism
from dalenius.numerics.rounding import decimals, round_up
from dalenius.results.audit import Audit, Curve

NOTHING_BELOW = "samples prove no lower bound, so it is 0; more draws lower the upper bound"
ASSERTED = "the draws are independent, and all datasets with the same answer have the same law; nothing checks this"


def sampled_name(mechanism: Mechanism) -> str | None:
    """Return `a mechanism known by 500000 samples`; None where its channel is known."""
    samples = mechanism.as_samples
    return None if samples is None else f"a mechanism known by {samples.draws} samples"


def confidence_words(result: Audit | Curve) -> str:
    """Return ` with confidence 0.999`, or nothing where bounds hold for certain."""
    audit = result.audits[0] if isinstance(result, Curve) else result
    return "" if audit.confidence is None else f" with confidence {audit.confidence:.12g}"


def sampled_leakage(audit: Audit, checked: str) -> list[str]:
    """Return the lines on what leaks."""
    most = round_up(audit.upper, decimals(audit.upper))
    return [f"L <= {most} {audit.unit}{confidence_words(audit)}; {checked}", NOTHING_BELOW, ASSERTED]


def sampled_witness(lines: list[str]) -> list[str]:
    """Return the lines on the witness of an audit of the channel above, as what they are."""
    what = "this prior leaks most under the channel above, which the samples cannot distinguish from the true one"
    return [lines[0].replace("this prior attains the lower bound", what), *lines[1:]]
