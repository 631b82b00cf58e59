"""Whether an answer, in a store or just found, is one to its question, and its certificate about that question."""

import math
from typing import Any

from dalenius.errors import InputError, refuse
from dalenius.studies.grid import COLUMNS
from dalenius.studies.task import Task, TaskName, Work, audit_asked, design_asked

# Beside the columns of every table of results.
MORE: dict[TaskName, tuple[str, ...]] = {
    "audit": ("confidence",),
    "design": ("distortion", "leakage_lower", "leakage_upper"),
    "calibrate": ("value", "distortion"),
}
SOMETIMES = {"confidence"}
ENDS = ("lower", "upper")
LEAST = {"value": -math.inf}  # 0 of all other numbers
MOST = {"confidence": 1.0}


def check_numbers(task: Task, numbers: dict[str, Any]) -> None:
    """Refuse numbers that no answer to this question has: not finite, out of range, or the lower above the upper."""
    from dalenius.model import checks

    _check_names(task, numbers)
    for name in filter(numbers.__contains__, (*ENDS, *MORE[task.task])):
        # Some mechanisms have no expected distortion.
        if numbers[name] is not None or (task.task, name) != ("calibrate", "distortion"):
            checks.real(name, numbers[name], LEAST.get(name, 0.0), MOST.get(name, math.inf))
    checks.whole("nodes", numbers["nodes"], 0)
    paper = "upper" if task.task == "design" else "lower"
    proved = "upper" if "confidence" in numbers else paper if task.method == "paper" else "both"
    for name, expected in (("unit", task.unit), ("proved", proved), ("gap", numbers["upper"] - numbers["lower"])):
        if numbers[name] != expected:
            refuse(f"{name} = {numbers[name]!r} where it must be {expected!r}")
    _check_order(task, numbers)


def _check_names(task: Task, numbers: dict[str, Any]) -> None:
    """Refuse numbers by other names than an answer has, and words that cannot be printed on one line."""
    names = {*COLUMNS, *MORE[task.task]}
    if set(numbers) | SOMETIMES != names | SOMETIMES:
        odd = sorted(map(str, set(numbers) ^ (names - SOMETIMES)))
        refuse(f"it has other numbers than an answer of task = {task.task!r}: {', '.join(odd)}")
    for name in ("stopped", "upper_by"):
        if not isinstance(numbers[name], str) or not numbers[name].isprintable():
            refuse(f"{name} = {numbers[name]!r} is not a word")


def _check_order(task: Task, numbers: dict[str, Any]) -> None:
    """Refuse lower bounds above their upper bounds."""
    for prefix in ("", "leakage_") if task.task == "design" else ("",):
        low, high = (numbers[f"{prefix}{end}"] for end in ENDS)
        if low > high:
            refuse(f"{prefix}lower = {low!r} is above {prefix}upper = {high!r}")


def mismatch(work: Work, numbers: dict[str, Any], certificate: object) -> str:
    """Return why a certificate is not about this question, or does not state these numbers; nothing where it does."""
    from dalenius.verifier.kernel.reading import Refused

    try:
        check_numbers(work.task, numbers)
        _compare(work, numbers, certificate)
    except (Refused, InputError) as reason:
        return str(reason)
    return ""


def _compare(work: Work, numbers: dict[str, Any], certificate: object) -> None:
    """Refuse a certificate about another mechanism, adversary, secret or budget than those of the question."""
    from dalenius.certificates.audits import adversary_data, question_data
    from dalenius.certificates.certificate import compare, question
    from dalenius.model.problem import NATS_PER_UNIT
    from dalenius.results.answers import described
    from dalenius.verifier.kernel.reading import AUDIT, DESIGN, field, mapping, refuse

    task, data, bounds = work.task, mapping(certificate, "the certificate"), {end: numbers[end] for end in ENDS}
    nats, whose = NATS_PER_UNIT[task.unit], "point's"
    if task.task != "design":
        if task.leakage is not None and numbers["upper"] > task.leakage:
            refuse(f"the mechanism leaks up to {numbers['upper']!r}, above the budget of {task.leakage!r}")
        _of_format(data, AUDIT)
        problem = audit_asked(work, numbers.get("value"))
        compare(question({**question_data(problem), **bounds}), data, nats, whose)
        if numbers.get("confidence") != problem.mechanism.confidence:
            refuse(f"the confidence is {numbers.get('confidence')!r}, not {problem.mechanism.confidence!r}")
        return
    if data.get("format") == AUDIT:
        refuse("its mechanism is not certified to keep the budget: the certificate is about its leakage alone")
    _of_format(data, DESIGN)
    asked, reduced = design_asked(work)
    stated = question({"problem": {}, "adversary": adversary_data(asked.adversary), **bounds})
    del stated["mechanism"]  # it is the answer
    stated |= {"task": described(asked.distortion, reduced), "distortion": numbers["distortion"]}
    stated["budget"] = {"leakage" if task.dual else "distortion": asked.budget}
    compare(stated, data, 1.0 if task.dual else nats, whose)
    leaks = {f"{end} bound": numbers[f"leakage_{end}"] for end in ENDS}
    compare(leaks, mapping(field(data, "audit", "the certificate"), "its audit"), nats, f"{whose} leakage's")


def _of_format(certificate: dict[str, Any], expected: str) -> None:
    """Refuse another kind of certificate: bounds of a design are distortions, and joint ones may name any problem."""
    from dalenius.verifier.kernel.reading import refuse, show

    if certificate.get("format") != expected:
        refuse(f"its format is {show(certificate.get('format'))}, and not {expected}")
