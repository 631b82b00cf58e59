"""A calibration in words."""

import math

from dalenius.numerics.rounding import decimals, epsilon_up, round_down, round_up, short
from dalenius.report.text import Facts, adversary_words, checked_words, from_file, problem
from dalenius.results import guess
from dalenius.results.calibration import Calibration


def calibration_facts(found: Calibration) -> Facts:
    """Return what a calibration answers in words."""
    within = "" if found.together else ", within the budget"
    alone = f"{_between(found.leakage.lower, found.leakage.upper)} {found.unit}{within}; {checked_words(found.leakage)}"
    asked = f"the least {found.family} noise that leaks at most {found.budget:.9g} {found.unit} about a record"
    leaks = [alone]
    if found.together is not None:
        asked += ", together with what was released before"
        both = f"{_between(*found.together)} {found.unit} with all that was released before, within the budget"
        leaks = [*from_file(found, [both]), f"by itself {alone}"]
    all_leaks = None if found.together is None else found.together[1]
    named: Facts = [
        ("Calibrated", [problem(found.mechanism)]),
        ("Asked", from_file(found, [asked])),
        ("Leakage", leaks),
        ("Guess", from_file(found, guess.sentences(found.leakage, all_leaks), certified=all_leaks is None)),
        ("Noise", from_file(found, _noise(found))),
        ("Adversary", [adversary_words(found.leakage)]),
        ("Stopped", from_file(found, [_stopped(found)])),
    ]
    return [(name, lines) for name, lines in named if lines]


def _noise(found: Calibration) -> list[str]:
    lines = [f"{found.parameter} = {found.value!r}"]
    if found.distortion is not None:
        lines[0] += f"; the expected error of an answer is {short(found.distortion)} on uniform data"
    epsilon = found.mechanism.dp_epsilon()
    if math.isfinite(epsilon):
        lines.append(f"it is {epsilon_up(epsilon)}-differentially private")
    if found.quietest:
        return [*lines, "this is the least noise that is tried; less of it would change practically nothing"]
    if found.too_little is None:
        return [*lines, "no parameter with less noise was found to leak more than the budget"]
    return [*lines, f"at {found.parameter} = {found.too_little!r} it was found to leak more than the budget"]


def _stopped(found: Calibration) -> str:
    reasons = {
        "accuracy": f"the parameter is known to a relative {found.accuracy:.2g}, if more noise leaks less",
        "time_limit": "the time limit was reached; with more time less noise may turn out to be enough",
        "interrupted": "it was interrupted; less noise may turn out to be enough",
    }
    return f"{reasons[found.stopped]}; {found.audits} audits, {found.seconds:.3g} s"


def _between(lower: float, upper: float) -> str:
    digits = decimals(upper)
    return f"{round_down(lower, digits)} <= L <= {round_up(upper, digits)}"
