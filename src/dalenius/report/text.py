"""An audit in plain words."""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dalenius.errors import printable
from dalenius.model import checks
from dalenius.model import secret as secrets
from dalenius.model.channels.density import Density
from dalenius.model.channels.mechanism import Mechanism
from dalenius.model.channels.real_records import RealRecords
from dalenius.model.datasets import commas
from dalenius.model.problem import in_unit
from dalenius.model.query import Query
from dalenius.model.reference import Reference
from dalenius.model.secret import Attributes, Bins, Function, Group
from dalenius.model.statistic import Histogram, Statistic, Sum, Table
from dalenius.numerics.rounding import decimals, outward, round_down, round_up, short, short_up
from dalenius.report.proofs import bound_place, bound_words, explained
from dalenius.results import guess
from dalenius.results.audit import Audit, Curve
from dalenius.results.result import Loaded, Step, Stopped, missing_words
from dalenius.shown import pairs
from dalenius.verifier.proofs import rested_on

if TYPE_CHECKING:
    from dalenius.results.design import Design

Facts = list[tuple[str, list[str]]]  # headings, each with its lines


# What is said of a certificate before its check.
UNCHECKED = "certificate attached, not yet checked"
BY_FILE = "verify() or dalenius verify FILE"
# Stands behind what a certificate does not carry.
FROM_FILE = "from the file"
# What audits of mechanisms known by samples say.
NOTHING_BELOW = "samples prove no lower bound, so it is 0; more draws lower the upper bound"
ASSERTED = "the draws are independent, and all datasets with the same answer have the same law; nothing checks this"
# Values or probabilities that are listed.
MOST_NAMES = 6
WHY: dict[Stopped, str] = {
    "gap": "the gap is within the tolerance",
    "nearly": "the gap is small but above the tolerance",
    "time_limit": "the time limit was reached",
    "nodes": "the limit on nodes was reached",
    "interrupted": "it was interrupted",
    "method": "every bound that applies was tried",
}


class Cell(NamedTuple):
    """A secret value and a class, with its mass under the witness."""

    words: str
    mass: float


def problem(mechanism: Mechanism) -> str:
    """Return what was audited: `symmetric(flip=0.3) of modular_sum(n=4, modulus=2), 4 records, 16 datasets`."""
    name = (
        mechanism.name
        or sampled_name(mechanism)
        or f"a channel of {mechanism.statistic.size} rows and {mechanism.n_outputs} outputs"
    )
    of = f" of {mechanism.query}" if mechanism.query is not None else ""
    records = "1 record" if mechanism.n == 1 else f"{mechanism.n} records"
    if mechanism.as_real_records is not None:
        return f"{name}{of}: {records.replace(' ', ' real-valued ')}"
    return f"{name}{of}: {records}, {checks.size_text(mechanism.records)} datasets"


def sampled_name(mechanism: Mechanism) -> str | None:
    """Return `a mechanism known by 500000 samples`; None where its channel is known."""
    samples = mechanism.as_samples
    return None if samples is None else f"a mechanism known by {samples.draws} samples"


def confidence_words(result: Audit | Curve) -> str:
    """Return ` with confidence 0.999`, or nothing where bounds hold for certain."""
    audit = result.audits[0] if isinstance(result, Curve) else result
    return "" if audit.confidence is None else f" with confidence {audit.confidence:.12g}"


def stacked(named: Facts, width: int = 11) -> str:
    """Return facts one under the other, headings to the left; names from files without control characters."""
    lines = []
    for name, content in named:
        lines += [
            f"{label:{width}}{printable(line)}"
            for label, line in zip([name, *[""] * len(content)], content, strict=False)
        ]
    return "\n".join(lines)


def as_html(named: Facts) -> str:
    """Return facts as a table; spaces are kept, so that columns stay columns."""
    return explained(pairs((name, "\n".join(map(printable, lines))) for name, lines in named))


def checked_words(*results: "Audit | Design", by: str = BY_FILE) -> str:
    """Return whether the certificates of results were checked, and what came of it. by: what checks them."""
    if refused := next((result.refused for result in results if result.refused), ""):
        return f"NOT verified: {refused}; please report"
    if all(result.verified for result in results):
        return "verified"
    origin = f"{FROM_FILE}; " if any(result.loaded for result in results) else ""
    if len(results) == 1:
        return f"{origin}{UNCHECKED}: {by} checks it"
    return f"{origin}{UNCHECKED.replace('certificate', 'certificates')}: {by} checks them"


def facts(audit: Audit) -> Facts:
    """Return what an audit says as pairs of a heading and lines of text."""
    others = len(audit.records.orbits) > 1 and audit.proved != "lower"  # then other records' brackets are named
    own_names = isinstance(audit.secret, Function)  # what its values are called
    named: Facts = [
        ("Audited", [problem(audit.mechanism)]),
        ("Leakage", _leakage(audit)),
        ("Guess", guess.sentences(audit)),
        ("Record", from_file(audit, [_records(audit)], certified=not others))
        if audit.secret is None
        else ("Secret", from_file(audit, [_secret(audit)], certified=not own_names)),
        ("Adversary", [adversary_words(audit)]),
        ("Compare", from_file(audit, _compare(audit))),
        ("Witness", from_file(audit, _witness(audit), certified=not own_names)),
        ("Stopped", from_file(audit, _stopped(audit))),
        *loaded_words(audit),
    ]
    return [(name, lines) for name, lines in named if lines]


def curve_facts(curve: Curve) -> Facts:
    """Return the points of a curve, one a line."""
    first = curve.audits[0]
    lines = []
    for audit in curve.audits:
        bracket = f"{' <= L <= '.join(outward(audit.lower, audit.upper))} {audit.unit}"
        lines.append(f"{bracket}{confidence_words(audit)} where it {adversary_words(audit)}{guess.at_point(audit)}")
    return [
        ("Audited", [problem(first.mechanism)]),
        ("Adversary", lines),
        ("Proved", [checked_words(*curve.audits)]),
        *([("Missing", [missing_words(curve.missing, curve.stopped)])] if curve.missing else []),
    ]


def from_file(answer: Loaded, lines: list[str], *, certified: bool = False) -> list[str]:
    """Mark lines that rest on a file where its certificate says nothing: of a result that was read from one."""
    return lines if certified or not answer.loaded else [f"{line} ({FROM_FILE})" for line in lines]


def loaded_words(answer: "Audit | Design") -> Facts:
    """Say what a result that was read from a file rests on; nothing of one that was computed here."""
    if not answer.loaded:
        return []
    checked = (
        f"was verified (rested on: {rested_on(answer.certificate.data)})"
        if answer.verified
        else "was not verified here: load it with verify=True (report --verify), or verify it"
    )
    words = "read from a file; bounds, mechanism, adversary and secret are those of its certificate"
    return [("Loaded", [f"{words}, which {checked}"])]


def heaviest(audit: Audit, many: int = 4) -> tuple[list[Cell], int]:
    """Return the heaviest cells of the witness, and how many more have mass."""
    masses = audit.prior.masses
    with_mass = int(np.count_nonzero(masses))
    # Neighbours in the order that agree to 1e-5 are tied: a file has fewer digits, and may order them otherwise.
    falling = np.argsort(-masses, axis=None, kind="stable")
    sizes = masses.ravel()[falling]
    rank = np.cumsum(-np.diff(sizes, prepend=sizes[:1]) > 1e-5 * sizes[0])
    order = falling[np.lexsort((falling, rank))][: min(many, with_mass)]
    where = zip(*(axis.tolist() for axis in np.unravel_index(order, masses.shape)), strict=True)
    return [Cell(cell_words(audit, a, t), float(masses[a, t])) for a, t in where], with_mass - order.size


def cell_words(audit: Audit, value: int, cls: int) -> str:
    """Return `record 0 = 1 and sum mod 2 = 1`, or the dataset itself where the cell is one dataset."""
    channel = audit.prior.mechanism
    if (reals := audit.mechanism.as_real_records) is not None:
        return _place_words(audit, reals, value, cls)
    if audit.prior.even:
        return f"x = {secret_value(audit, value)}"
    query = audit.mechanism.query
    words = "" if channel.part is None else f"count of {counted(query, channel.part)} = {cls}"
    if audit.prior.tied:
        words = f"count of {counted(query, value)} = {cls}"
    words = words or class_words(channel.statistic, cls, query)
    return words if words.startswith("x = ") else f"{secret_name(audit)} = {secret_value(audit, value)} and {words}"


def _place_words(audit: Audit, mechanism: RealRecords, value: int, cls: int) -> str:
    """Return `record 0 from 0.25 to 0.5`, and where the sum of the records is."""
    value_place, n = secret_value(audit, value), len(audit.prior.mechanism.records)
    bins = audit.secret if isinstance(audit.secret, Bins) else None
    words = f"record {audit.record if bins is None else bins.bin_of} {value_place}"
    if n == 1 and bins is None:
        return words
    query, m = mechanism.query, audit.certificate.data["witness"]["cells"]
    step = (query.high - query.low) / m
    first = n * query.low + cls * step
    if mechanism.steps is not None:
        return f"{words} and the sum of the rounded records {first:.4g}"
    return f"{words} and the sum from {first:.4g} to {first + n * step:.4g}"


def secret_name(audit: Audit) -> str:
    """Return `record 0`, `records 0 and 1`, or `secret`: what has a value."""
    secret = audit.prior.secret
    plain = isinstance(secret, Function) and not isinstance(secret, Attributes)
    return "secret" if plain else secrets.name(secret)


def secret_value(audit: Audit, value: int, longest: int = 24) -> str:
    """Return a value of the secret: of a record, of each record of a group, or what the function gives, shortened."""
    secret = audit.prior.secret
    if isinstance(audit.secret, Bins):
        return f"from {audit.secret.names[value]}"
    if (reals := audit.mechanism.as_real_records) is not None:
        real, m = reals.query, audit.certificate.data["witness"]["cells"]
        places = [real.low + (real.high - real.low) * k / m for k in (value, value + 1)]
        # A prior on m + 1 values is on grid points, one on m values on the cells between them.
        on_points = len(audit.prior.masses) > m
        return f"at {places[0]:.4g}" if on_points else f"from {places[0]:.4g} to {places[1]:.4g}"
    if isinstance(secret, Function):
        words = str(secret.names[value])
        return words if len(words) <= longest else f"{words[: longest - 3]}..."
    query = audit.mechanism.query
    if isinstance(secret, Group):
        return commas(_called(query, v) or str(v) for v in secrets.values(secret, value, audit.mechanism.records))
    if name := _called(query, value):
        return name
    statistic = audit.mechanism.statistic
    adds = statistic.contributions[value] if isinstance(statistic, Sum) else value
    return str(value) if adds == value else f"{value} (adds {adds})"


def _called(query: Query | None, value: int) -> str:
    """Return the name of a value, or its attributes in a table; nothing where it has neither."""
    return query.words(value) if query is not None and (query.names or len(query.shape) > 1) else ""


def counted(query: Query | None, value: int) -> str:
    """Return `value 1`, or `"yes"`: whose count it is."""
    name = _called(query, value)
    return f'"{name}"' if name else f"value {value}"


def class_words(statistic: Statistic, cls: int, query: Query | None = None) -> str:
    """Return `sum mod 2 = 1`, `counts = 1,0,2`, `x = 0,1,1`: the class as a condition on the dataset.

    Values that have names are called by them: `counts = 1 of no, 2 of yes`.
    """
    if isinstance(statistic, Table) and statistic.finest and _called(query, 0):
        return f"x = {commas(_called(query, int(v)) for v in np.unravel_index(cls, statistic.records))}"
    if isinstance(statistic, Histogram) and _called(query, 0):
        counts = ((_called(query, v), c) for v, c in enumerate(statistic.counts[cls].tolist()))
        return f"counts = {', '.join(f'{c} of {name}' for name, c in counts if c)}"
    if isinstance(statistic, Sum):
        return f"sum{'' if statistic.modulus is None else f' mod {statistic.modulus}'} = {statistic.values[cls]}"
    if isinstance(statistic, Histogram):
        return f"counts = {','.join(map(str, statistic.counts[cls]))}"
    return statistic.class_name(cls)


def starts(history: tuple[Step, ...]) -> str:
    """Return how many random starts the paper's method made, in words."""
    many = len({step.start for step in history})
    return "1 random start" if many == 1 else f"{many} random starts"


def _leakage(audit: Audit) -> list[str]:
    low, high = outward(audit.lower, audit.upper)
    if audit.proved == "lower":
        what = "by the paper's method: only the lower bound is proved"
        return [
            f"{low} <= L <= {high} {audit.unit}, {what}; {checked_words(audit)}",
            "the upper bound is the trivial one, min(log|A|, log|Y|), which holds for every mechanism",
            'local search may miss worse priors; method="certified" bounds the leakage from above',
        ]
    if audit.proved == "upper":
        most = round_up(audit.upper, decimals(audit.upper))
        bound = f"L <= {most} {audit.unit}{confidence_words(audit)}; {checked_words(audit)}"
        return [bound, NOTHING_BELOW, ASSERTED]
    lines = [f"{low} <= L <= {high} {audit.unit}; the gap is at most {short_up(audit.gap)}; {checked_words(audit)}"]
    if audit.upper_by == "trivial":
        most = "the trivial one, min(log|A|, log|Y|)"
        better = f"the upper bound is {most}, and the witness comes within the gap of it"
        return [*lines, better if audit.closed else f"the upper bound is only {most}: no better one was found"]
    if share := share_held(audit):
        groups = {Group: "these records", Function: "the secret", Attributes: "the secret"}
        whose = groups.get(type(audit.prior.secret), "this record")
        lines.append(f"at most {share} of the {short(_most_held(audit))} {audit.unit} that {whose} can hold")
    return lines


def share_held(audit: Audit) -> str:
    """Return which part of the secret can leak at most; by the bound on this secret, as others may hold more."""
    upper, most = audit.records.orbit_of(audit.record)[2], _most_held(audit)
    return f"{round_up(100 * upper / most, 2)} %" if 0 <= upper < most < np.inf else ""


def _most_held(audit: Audit) -> float:
    """All that the secret can hold, in the unit; real numbers hold any amount."""
    if audit.mechanism.as_real_records is not None:
        return np.inf
    return in_unit(float(np.log(alive(audit).sum())), audit.unit)


def alive(audit: Audit) -> NDArray[np.bool_]:
    """Return which values of the secret the reference gives mass."""
    return np.asarray(np.isfinite(audit.prior.log_reference()).any(axis=1))


def _secret(audit: Audit) -> str:
    secret, many = audit.prior.secret, int(alive(audit).sum())
    if isinstance(audit.secret, Bins):
        return f"{audit.secret.words}: {', '.join(map(str, audit.secret.names[:MOST_NAMES]))}"
    if isinstance(secret, Attributes):
        return f"{secrets.name(secret)}{' together' if len(secret.words) > 1 else ''}, {many} values"
    if isinstance(secret, Function):
        shown = ", ".join(map(str, secret.names[:MOST_NAMES])) + (", ..." if len(secret.names) > MOST_NAMES else "")
        return f"a function of the dataset with {many} value{'' if many == 1 else 's'}: {shown}"
    if isinstance(secret, Group):
        return f"{secrets.name(secret)} together, {many} values; other records were not audited"
    return f"record {audit.record}; other records were not audited"


def _records(audit: Audit) -> str:
    members = audit.records.orbit_of(audit.record)[0]
    n, others = len(audit.records), len(members) - 1
    if n == 1:
        return f"record {audit.record}, the only one"
    if others == n - 1:
        rest = "the other record" if others == 1 else f"the {others} other records"
        return f"record {audit.record}; {rest} leak the same, all being interchangeable".replace(
            "record leak", "record leaks"
        )
    words = f"record {audit.record} {'leaks most' if audit.proved == 'upper' else 'attains the lower bound'}"
    if others:
        words += f", as do {others} records interchangeable with it"
    if audit.proved == "lower":
        return words
    worst = audit.records[0]
    if worst.record not in members:
        return f"{words}; record {worst.record} has the highest upper bound"
    others_worst, _, upper = next(group for group in audit.records.orbits if group[0] != members)
    return f"{words}; next is record {others_worst[0]} with at most {round_up(upper, decimals(upper))} {audit.unit}"


def adversary_words(audit: Audit) -> str:
    """Return how much the adversary may know; the number that was given with all its digits."""
    if audit.adversary.kind == "independent":
        return _independent_words(audit)
    if isinstance(audit.reference, Density) or not audit.reference.uniform or audit.priors > 1:
        return _beyond(audit)
    if audit.adversary.knowledge == 0:
        return "knows nothing before the release: its prior is uniform"
    most = short(in_unit(audit.mechanism.log_universe, audit.unit))
    exact = audit.adversary.given == "entropy"
    bound = f": H(X) >= {audit.entropy:.12g}" if exact else ""
    if audit.adversary.free:
        return f"may know everything, all {most} {audit.unit}{bound}"
    knows = short(audit.knowledge) if exact else f"{audit.knowledge:.12g}"
    return f"knows at most {knows} of {most} {audit.unit}{bound}"


def _independent_words(audit: Audit) -> str:
    """What an adversary with independent records believes."""
    words, rho = "any prior under which the records are independent", reference_words(audit.reference)
    if not audit.adversary.unlimited:
        beyond = "" if audit.reference.uniform else f" beyond the reference prior: {rho}"
        return f"{words}, and knows at most {audit.knowledge:.12g} {audit.unit}{beyond}"
    if audit.reference.uniform:
        return f"{words}: it may know all records but one"
    return f"{words}; all records but the secret follow the reference exactly: {rho}"


def _beyond(audit: Audit) -> str:
    """How much the adversary may know beyond a reference prior, or beyond a density of real-valued records."""
    rho, real = reference_words(audit.reference), isinstance(audit.reference, Density)
    if audit.priors > 1:
        return f"has the worst of {audit.priors} listed priors and knows nothing else: {rho}"
    known = "the density" if real else "the reference prior"
    if audit.adversary.knowledge == 0:
        return f"knows {known} and nothing else: {rho}"
    most = "" if real else short(in_unit(-audit.reference.log_least(audit.mechanism.records), audit.unit))
    if most and audit.adversary.free:
        return f"may know everything: all {most} {audit.unit} beyond {known}, {rho}"
    return f"knows at most {audit.knowledge:.12g}{f' of {most}' if most else ''} {audit.unit} beyond {known}: {rho}"


def reference_words(reference: Reference) -> str:
    """Return what the reference prior is: `independent records with law 0.9,0.1 each`."""
    if isinstance(reference, Density):
        wide = f"from {reference.low:g} to {reference.high:g}"
        parts = "" if reference.uniform else f", constant in each of {len(reference.masses)} parts"
        return f"independent records with a {'uniform ' if reference.uniform else ''}density {wide}{parts}"
    if reference.kind == "marginal":
        law = reference.laws[0]
        shown = commas(f"{p:.4g}" for p in law[:MOST_NAMES]) + (",..." if len(law) > MOST_NAMES else "")
        return f"independent records with law {shown} each"
    if reference.kind == "marginals":
        return "independent records, each with its own law"
    return "given weights of the datasets" if reference.kind else "the uniform prior"


def _compare(audit: Audit, tight_share: float = 0.2) -> list[str]:
    """Set the leakage beside that of the extreme adversaries, as far as it is known.

    An adversary without limit is never worse off, L(b) <= L(0). Nothing is said of it where that is this one, where
    only the lower bound is proved, and where no more is known of L(0) than that: its bracket is worth showing where it
    is no wider than `tight_share` of L(0), or tells the two apart.
    """
    if audit.extremes is None or audit.proved == "upper":
        return []
    lines, (low, high) = [], audit.extremes.unconstrained
    if not audit.adversary.free and audit.proved == "both":
        if high <= audit.tolerance:
            about = "a record" if audit.secret is None else secrets.name(audit.secret)
            lines = [f"this release leaks practically nothing about {about}, whatever the adversary knows"]
        elif high - low <= max(tight_share * high, audit.tolerance) or low > audit.upper:
            between = f"{' to '.join(outward(low, high))} {audit.unit}"
            lines = [f"without any limit on its knowledge an adversary could learn {between}", _share(audit, low, high)]
    digits = decimals(audit.extremes.uniform)
    uniform = f"{audit.extremes.uniform:.{digits}f} {audit.unit}"
    # The witness may be about one count of those that are released, or its leakage known from below only.
    if not audit.prior.complete:
        uniform = f"at least {round_down(audit.extremes.uniform, digits)} {audit.unit}"
    little = "knows nothing before the release" if audit.reference.uniform else "knows the reference prior only"
    nothing = audit.adversary.knowledge == 0
    return [
        *lines,
        f"this one {little} and learns {uniform}" if nothing else f"one that {little} would learn {uniform}",
    ]


def _share(audit: Audit, low: float, high: float, same: float = 0.001) -> str:
    """How L(b) compares with L(0) for certain, where low <= L(0) <= high; the same within this share of L(0)."""
    short_by = max(0.0, high - audit.lower)
    if short_by <= min(audit.tolerance, same * high):
        return f"this one could learn just as much, within {short_up(short_by)} {audit.unit}"
    least = f"{round_down(100 * audit.lower / high, 1)} %"
    if audit.upper >= low:
        return f"this one could learn at least {least} of that"
    return f"this one could learn between {least} and {round_up(100 * audit.upper / low, 1)} % of that"


def _witness(audit: Audit) -> list[str]:
    cells, more = heaviest(audit)
    if audit.reference.uniform and not isinstance(audit.reference, Density):
        known = max(0.0, audit.mechanism.log_universe - audit.prior.entropy())
        spread = f"it knows {short(in_unit(known, audit.unit))} {audit.unit}"
    else:
        spread = f"D(p || reference) is {short(in_unit(audit.prior.divergence(), audit.unit))} {audit.unit}"
    if audit.prior.even:
        return [f"the uniform prior attains the lower bound; {spread}"]
    attains = "this prior attains the lower bound"
    if audit.proved == "upper":
        attains = (
            "this prior leaks most under the channel above, which the samples cannot distinguish from the true one"
        )
    lines = [f"{attains}; {spread}, its heaviest cells are"]
    lines += [f"  {cell.words}: {cell.mass:.4g}" for cell in cells]
    lines += [f"  and {more} more cells"] if more else []
    if audit.prior.tied:
        lines.append(
            "it ties every value of the record to its own count; a guess from all noisy counts learns that much"
        )
    if audit.prior.mechanism.part is not None and audit.adversary.kind == "independent":
        lines.append("it knows all other records; the bound is what all noisy counts together leak about this one")
    elif audit.prior.mechanism.part is not None:
        lines.append(
            f"it is about the noisy count of {counted(audit.mechanism.query, audit.prior.mechanism.part)} only; "
            "that count alone leaks the lower bound"
        )
    return lines


def _stopped(audit: Audit) -> list[str]:
    if audit.method == "paper":
        reason = "every start has ended" if audit.stopped == "method" else why(audit)
        return [
            f"{reason}; {audit.seconds:.3g} s, {audit.nodes} iterations of Algorithm 1 from {starts(audit.history)}"
        ]
    kind = audit.upper_by
    by = f" by {bound_words(kind)}{bound_place(kind)}" if kind else ""
    tried = f" ({', '.join(audit.tried)})" if audit.stopped in ("method", "nearly") and audit.tried else ""
    lines = [f"{why(audit)}{tried}; {audit.seconds:.3g} s, {audit.nodes} nodes, upper bound{by}"]
    if audit.adversary.kind == "independent" and not audit.adversary.unlimited and not audit.closed:
        lines.append(
            "independent records within a limit of knowledge have no formula: the upper bound is the lesser of that "
            "for independence alone and that for the knowledge alone, and no prior need attain either"
        )
    if audit.stopped not in ("gap", "nearly") and audit.proved != "upper":
        lines.append(f"the gap of {short_up(audit.gap)} is open: L lies between the bounds{more_time(audit)}")
    return lines


def why(result: "Audit | Design") -> str:
    """Return why a search ended."""
    if result.stopped == "gap" and result.gap > result.tolerance:
        return f"the gap is within {100 * result.relative:.3g} % of the upper bound"
    tolerance = f" {result.tolerance:.2g}" if result.stopped in ("gap", "nearly") else ""
    ended = f", and {WHY['method']}" if result.stopped == "nearly" else ""
    return f"{WHY[result.stopped]}{tolerance}{ended}"


def more_time(result: "Audit | Design") -> str:
    """Return that more time may help, where it was time that ended the search."""
    return "; more time may close it" if result.stopped in ("time_limit", "nodes", "interrupted") else ""
