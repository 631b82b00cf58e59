"""Designs, frontiers and calibrations in words."""

import math

from dalenius.model import checks
from dalenius.model.channels import tables
from dalenius.numerics.rounding import (
    decimals,
    epsilon_up,
    outward,
    round_down,
    round_up,
    short,
    short_up,
    written_up,
)
from dalenius.report.plain import question
from dalenius.report.text import (
    Facts,
    adversary_words,
    checked_words,
    from_file,
    loaded_words,
    more_time,
    problem,
    starts,
    why,
)
from dalenius.results import guess
from dalenius.results.audit import limit_words
from dalenius.results.calibration import Calibration
from dalenius.results.design import Design, Frontier, NamedPoint
from dalenius.results.result import missing_words


def design_facts(design: Design) -> Facts:
    """Return what a design says as pairs of a heading and lines of text."""
    rows = _rows(design)  # the first has the labels
    named: Facts = [
        ("Designed", from_file(design, [_problem(design)], certified=_has_query(design))),
        ("Asked", from_file(design, [_asked(design)], certified=design.kept)),
        ("Best", from_file(design, _best(design), certified=design.kept)),
        ("Mechanism", _mechanism(design)),
        ("Guess", guess.sentences(design.leakage)),
        ("Adversary", [adversary_words(design.leakage)]),
        ("Rows", [*from_file(design, rows[:1], certified=_has_query(design)), *rows[1:]]),
        ("Stopped", from_file(design, _stopped(design))),
        *loaded_words(design),
    ]
    return [(name, lines) for name, lines in named if lines]


def frontier_table(frontier: Frontier) -> str:
    """Return the designs by rising budget, then the named mechanisms with how far each is above the best."""
    first, both = frontier.designs[0], frontier.independent
    width = len(error_words(first)) + len(" at most")
    lines = _least(frontier) if both is None else [*_least(frontier, named=True), "", *_least(both, named=True)]
    if frontier.named:
        longest = max(len(point.name) for point in frontier.named)
        lines += ["", f"{'mechanism':{longest}}   {error_words(first):>{width}}   leaks at most   above the best by"]
        # How far a mechanism is above the best rests on its distortion, which no certificate has.
        lines += from_file(frontier, [_named_line(frontier, point, longest, width) for point in frontier.named])
    beside = () if both is None else both.designs
    words = checked_words(*frontier.designs, *(point.leakage for point in frontier.named), *beside)
    absent = frontier.missing + (both.missing if both is not None else 0)
    missing = [missing_words(absent, frontier.stopped)] if absent else []
    return "\n".join([*lines, "", words, *missing])


def _least(frontier: Frontier, *, named: bool = False) -> list[str]:
    """The brackets by rising budget, under a line that names the adversary where there are two."""
    first = frontier.designs[0]
    head, against = f"{error_words(first)} at most", f", {limit_words(first.adversary, frontier.unit)}" if named else ""
    return [f"{head}   least leakage of any mechanism ({frontier.unit}){against}"] + [
        f"{short(d.budget):>{len(head)}}   {round_down(d.lower)} to {round_up(d.upper)}{guess.at_point(d.leakage)}"
        for d in frontier.designs
    ]


def _named_line(frontier: Frontier, point: NamedPoint, longest: int, width: int) -> str:
    low, high = frontier.excess(point)
    ends = outward(low, high, 4)
    words = f"at most {ends[1]}" if low <= 0 <= high else " to ".join(ends)
    leaks = round_up(point.leakage.upper)
    return f"{point.name:{longest}}   {short(point.distortion):>{width}}   {leaks:>13}   {words}"


def _problem(design: Design) -> str:
    query, outputs = design.query, len(design.mechanism.labels)
    records = "1 record" if query.n == 1 else f"{query.n} records"
    return f"a mechanism for {query}: {records}, {checks.size_text(query.records)} datasets, {outputs} outputs"


def _has_query(design: Design) -> bool:
    """Whether the certificate names the query of the design; a function of the user's is known to the file alone."""
    return design.kept and "query" in design.certificate.data.get("problem", {})


def error_words(design: Design) -> str:
    """Return what the distortion is called; where the certificate has a table of it alone, the file says so.

    Where the budget is not kept the certificate has no distortion, and whole lines are marked.
    """
    name = design.distortion_name
    return from_file(design, [name], certified=name == "distortion" or not design.kept or _has_query(design))[0]


def query_words(design: Design) -> str:
    """Return what is to be known, in plain words; marked where the certificate does not name it."""
    return from_file(design, [question(design.query)], certified=_has_query(design))[0]


def _asked(design: Design) -> str:
    if design.goal == "leakage":
        return f"the least leakage about a record with an expected {error_words(design)} of at most {design.budget:.9g}"
    return f"the least expected {error_words(design)} with a leakage of at most {design.budget:.9g} {design.unit}"


def _best(design: Design) -> list[str]:
    what, unit = ("leakage", f" {design.unit}") if design.goal == "leakage" else (error_words(design), "")
    low, high = outward(design.lower, design.upper)
    if design.proved == "upper":
        attained = "attained by this mechanism" if design.kept else "attained by a constant answer, which leaks nothing"
        certainty = "proved" if design.kept else "known"  # of a constant answer there is no certificate
        beyond = f'others may do better; method="certified" bounds the least {what} from below'
        lines = [f"least {what} <= {high}{unit}, {attained}: only this upper bound is {certainty}", beyond]
        return [*lines, checked_words(design)] if design.kept else lines
    gap, words = short_up(design.gap), checked_words(design)
    lines = [f"{low} <= least {what} <= {high}{unit}; the gap is at most {gap}; {words}"]
    if design.lower > 0:
        share = round_up(100 * design.gap / design.upper, 2)
        lines.append(f"no mechanism with these outputs does better than the one found by more than {share} %")
    return lines


def _mechanism(design: Design) -> list[str]:
    audit = design.leakage
    together = f", together with an earlier release of {design.beside} outputs" if design.beside else ""
    leaks = f"leaks {' to '.join(outward(audit.lower, audit.upper))} {design.unit} about a record{together}"
    if not design.kept:  # the certificate is about this alone
        leaks = f"{leaks}; {checked_words(design)}"
    if design.reported is not None:
        reports = from_file(design, [f"the alternation reports {short(design.reported)} {design.unit}"])[0]
        leaks = f"{reports}; the mechanism it returns {leaks}"
    budget = []
    if not design.kept:
        how = "exceeds" if audit.lower > design.budget else "is not certified to keep"
        budget = [f"it {how} its budget of {design.budget:.9g} {design.unit}: do not use it where that must hold"]
    costs = f"its expected {error_words(design)} is at most {written_up(design.distortion)}"
    epsilon = design.mechanism.dp_epsilon()
    private = (
        f"it is differentially private with epsilon = {epsilon_up(epsilon)}"
        if math.isfinite(epsilon)
        else "it is not differentially private at any epsilon: some change of one record makes an output impossible"
    )
    return [
        *from_file(design, budget),
        leaks,
        *from_file(design, [costs], certified=design.kept),
        private,
    ]


def _rows(design: Design, most: int = 12, widest: int = 109) -> list[str]:
    """The mechanism: of many rows those in the middle, cut to this many characters."""
    lines = tables.table_text(design.mechanism.written(), 4, most, middle=True).splitlines()
    return [line if len(line) <= widest else f"{line[: widest - 4]} ..." for line in lines]


def _stopped(design: Design) -> list[str]:
    if design.method == "paper":
        reason = "every start has ended" if design.stopped == "method" else why(design)
        work = f"{design.rounds} iterations of Algorithm {6 if design.goal == 'leakage' else 9}"
        return [f"{reason}; {design.seconds:.3g} s, {work} from {starts(design.history)}"]
    reason = "no better mechanism or bound was found" if design.stopped == "method" else why(design)
    lines = [f"{reason}; {design.seconds:.3g} s, {design.rounds} round{'' if design.rounds == 1 else 's'}"]
    if design.stopped not in ("gap", "nearly"):
        gap = short_up(design.gap)
        lines.append(f"the gap of {gap} is open: the optimum lies between the bounds{more_time(design)}")
        if design.adversary.kind == "independent" and design.lower == 0:
            many = design.mechanism.rows.shape
            lines.append(
                f"the programme over {many[0]} classes of datasets and {many[1]} outputs was not solved well enough to "
                "prove anything from below; fewer records, values or outputs (outputs=) may fit"
            )
    return lines


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
        ("Stopped", from_file(found, [_found(found)])),
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


def _found(found: Calibration) -> str:
    reasons = {
        "accuracy": f"the parameter is known to a relative {found.accuracy:.2g}, if more noise leaks less",
        "time_limit": "the time limit was reached; with more time less noise may turn out to be enough",
        "interrupted": "it was interrupted; less noise may turn out to be enough",
    }
    return f"{reasons[found.stopped]}; {found.audits} audits, {found.seconds:.3g} s"


def _between(lower: float, upper: float) -> str:
    digits = decimals(upper)
    return f"{round_down(lower, digits)} <= L <= {round_up(upper, digits)}"
