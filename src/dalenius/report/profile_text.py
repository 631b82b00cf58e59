"""A profile in plain words."""

from dalenius.numerics.rounding import decimals, outward, short
from dalenius.report.text import Facts, checked_words, from_file, problem
from dalenius.results.guess import at_point
from dalenius.results.profile import Profile

# What the two adversaries believe.
BOUNDED = "the adversary may believe that records depend on each other in any way, but its knowledge is limited"
INDEPENDENT = "the adversary believes that records are independent, and may know every record but one"
FOLLOWING = "the adversary believes that the others follow the reference independently, and knows no more of them"


def facts(profile: Profile) -> Facts:
    """Return every measure as a heading and lines of text: its value, then what it means."""
    named: Facts = [
        ("Profiled", [problem(profile.mechanism)]),
        ("Leakage", _leakage(profile)),
        ("Unrelated", _independent(profile)),
        ("Capacity", from_file(profile, _capacity(profile))),
        ("Guessing", from_file(profile, _guessing(profile))),
        ("Neighbours", from_file(profile, _neighbours(profile))),
        ("Distortion", from_file(profile, [_distortion(profile)])),
        ("Left out", from_file(profile, list(profile.notes))),
        ("Stopped", from_file(profile, [_stopped(profile)])),
    ]
    return [(name, lines) for name, lines in named if lines]


def _leakage(profile: Profile) -> list[str]:
    """Every point by what the adversary knows, or by the entropy of its prior where that was given."""
    audits, unit = profile.leakage.audits, profile.unit
    given = audits[0].adversary.given
    name, places = given, [short(getattr(audit, given)) for audit in audits]
    width = max(map(len, places))
    limit = "H(X) >= entropy"
    if given == "knowledge":
        limit = f"D(p || {'uniform' if audits[0].reference.uniform else 'reference'}) <= knowledge"
    head = f"max_i max I(X_i;Y) over priors p with {limit}: about one record; {checked_words(*audits)}"
    points = (
        f"  {name} = {place:>{width}} {unit}: {_bracket(audit.lower, audit.upper)} {unit}{at_point(audit)}"
        for place, audit in zip(places, audits, strict=True)
    )
    return [head, BOUNDED, *points]


def _independent(profile: Profile) -> list[str]:
    """The other adversary, beside the one of bounded knowledge."""
    audit = profile.independent
    if audit is None:
        return []
    belief = INDEPENDENT if audit.reference.uniform else FOLLOWING
    bracket = f"{_bracket(audit.lower, audit.upper)} {audit.unit}{at_point(audit)}"
    return [f"{bracket}; {checked_words(audit)}", belief]


def _capacity(profile: Profile) -> list[str]:
    if profile.capacity is None:
        return []
    whole = _bracket(profile.capacity.lower, profile.capacity.upper)
    return [f"{whole} {profile.unit}", "max I(X;Y) over all priors: about the whole dataset, not one record"]


def _guessing(profile: Profile) -> list[str]:
    if profile.maximal_leakage is None or profile.record_min_entropy_leakage is None:
        return []
    guessed, record = (
        f"{x:.{decimals(x)}f} {profile.unit}" for x in (profile.maximal_leakage, profile.record_min_entropy_leakage)
    )
    return [
        f"{guessed}: maximal leakage, log sum_y max_x q(y|x)",
        "the most that the guess of any function of the dataset can improve, under any prior",
        f"{guessed}: min-entropy leakage, how much better the dataset is guessed under the uniform prior",
        "the same number as above, as for every mechanism under that prior",
        f"{record}: min-entropy leakage about one record, max_i log sum_y max_a P(y|X_i=a)",
    ]


def _neighbours(profile: Profile) -> list[str]:
    lines = []
    if profile.dp_epsilon is not None:
        lines.append(
            f"epsilon = {short(profile.dp_epsilon)}: max log q(y|x)/q(y|x') where one record differs, natural logarithm"
        )
    if profile.dp_delta is not None:
        lines.append(
            f"delta = {short(profile.dp_delta)} at epsilon = {short(profile.epsilon)}: "
            "max sum_y max(0, q(y|x) - e^epsilon q(y|x'))"
        )
    return lines


def _distortion(profile: Profile) -> str:
    if profile.distortion is None:
        return "none: there is no query, or the outputs are not its range"
    return f"{short(profile.distortion)}: expected |y - f(x)| on uniform data, in units of the answer"


def _stopped(profile: Profile) -> str:
    reasons = {
        "gap": "every gap is within the tolerance",
        "nearly": "every gap is within the tolerance or 1e-5, where every bound that applies was tried",
        "time_limit": "the time limit was reached; more time may close open gaps",
        "interrupted": "it was interrupted; later points are left out",
        "method": "every bound that applies was tried; some gaps are open",
    }
    return f"{reasons[profile.stopped]}; {profile.seconds:.3g} s"


def _bracket(lower: float, upper: float) -> str:
    return " to ".join(outward(lower, upper, min(decimals(lower), decimals(upper))))
