"""How to reproduce a result: the same question as a command and in Python, where it has names."""

import math
import shlex
from collections.abc import Mapping

from dalenius.model.secret import members
from dalenius.results.audit import Audit, Curve
from dalenius.results.calibration import Calibration
from dalenius.results.design import Design, Frontier
from dalenius.results.profile import Profile

# A channel without a name is taken from the saved result.
LOADED = 'import dalenius as dl\n\nmechanism = dl.load("RESULT.json").{}\n'
# Measures of distortion that have a name of their own on the command line, by their words.
MEASURES = {"absolute error": "absolute", "squared error": "squared", "share of wrong answers": "zero-one"}

LOADED_DESIGNS = "# The certificates hold the designs. Load the saved result:\ndl.load(FILE).designs"
Asked = Mapping[str, str | float | list[float]]


def audit_again(audit: Audit) -> str:
    """Return the command and the Python of an audit."""
    asked = {**_adversary(audit), **_secret(audit)}
    return _about_mechanism(audit, "audit", asked, "audit = dl.audit(mechanism, {})")


def curve_again(curve: Curve) -> str:
    """Return the command and the Python of a curve."""
    first = curve.audits[0]
    given = [(a.entropy if first.adversary.given == "entropy" else a.knowledge) for a in curve.audits]
    listed = {"entropies" if first.adversary.given == "entropy" else "knowledges": given}
    return _about_mechanism(first, "curve", listed, "curve = dl.curve(mechanism, {})", "audits[0].mechanism")


def profile_again(profile: Profile) -> str:
    """Return the command and the Python of a profile."""
    first = profile.leakage.audits[0]
    listed = {"entropies": list(profile.leakage.entropies)} if first.reference.uniform else {}
    return _about_mechanism(first, "profile", listed, "profile = mechanism.profile({})")


def frontier_again(frontier: Frontier) -> str:
    """Return the command and the Python of a frontier; how to load it where its query has no name."""
    first = frontier.designs[0]
    if not frontier.query.named:
        return LOADED_DESIGNS
    named = {} if frontier.named else {"named": False}
    options = {**_adversary(first.leakage), "points": len(frontier.designs), **named, **_wanted(first)}
    command = f"dalenius frontier --query {shell(frontier.query)} {as_flags(options)}"
    return _both(first.leakage, command, f"frontier = dl.frontier(dl.queries.{frontier.query}, {as_keywords(options)})")


def calibration_again(calibration: Calibration) -> str:
    """Return the command and the Python of a calibration; those of its audit where a ledger found it."""
    audit, query = calibration.leakage, calibration.mechanism.query
    if calibration.together is not None or query is None or not query.named:
        return audit_again(audit)
    unit = {} if audit.unit == "nats" else {"unit": audit.unit}
    options = {
        "leakage": calibration.budget,
        **_adversary(audit),
        **unit,
        "accuracy": calibration.accuracy,
        "seed": audit.seed,
    }
    command = f"dalenius calibrate --family {shell(calibration.family)} --query {shell(query)} {as_flags(options)}"
    python = f'calibration = dl.calibrate("{calibration.family}", dl.queries.{query}, {as_keywords(options)})'
    return _both(audit, command, python)


def _about_mechanism(audit: Audit, verb: str, given: Asked, python: str, held: str = "mechanism") -> str:
    """The command and the Python of a question about a mechanism; held: where a saved result has it."""
    query, name = audit.mechanism.query, audit.mechanism.name
    options = {**given, **_wanted(audit)}
    if query is None or name is None or not query.named:
        return f"{_note(audit)}{LOADED.format(held)}{python.format(as_keywords(options))}"
    family, arguments = str(name).split("(", 1)
    mechanism = f"mechanism = dl.mechanisms.{family}(dl.queries.{query}, {arguments}"
    command = f"dalenius {verb} --query {shell(query)} --mechanism {shell(name)} {as_flags(options)}"
    return _both(audit, command, f"{mechanism}\n{python.format(as_keywords(options))}")


def design_again(design: Design) -> str:
    """Return the command and the Python of a design; nothing where its question has no name."""
    if not design.query.named or design.beside or design.distortion_name not in MEASURES:
        return ""
    budget = {"distortion" if design.goal == "leakage" else "leakage": design.budget}
    options = {**budget, **_adversary(design.leakage), **_wanted(design)}
    measure = MEASURES[design.distortion_name]
    command = f"dalenius design --query {shell(design.query)} --measure {measure} {as_flags(options)}"
    python = f'design = dl.design(dl.queries.{design.query}, measure="{measure}", {as_keywords(options)})'
    return _both(design.leakage, command, python)


def _both(audit: Audit, command: str, python: str) -> str:
    return f"{_note(audit)}{command}\n\nimport dalenius as dl\n\n{python}"


def _note(audit: Audit) -> str:
    missing = [] if audit.secret is None or _secret(audit) else ["the secret"]
    missing += [] if audit.reference.uniform else ["the reference"]
    return f"# with {' and '.join(missing)} of this report\n" if missing else ""


def _secret(audit: Audit) -> Asked:
    """The secret, where it is some records: a function has no name."""
    records = None if audit.secret is None else members(audit.secret)
    return {} if records is None else {"secret": list(records)}


def _adversary(audit: Audit) -> Asked:
    """The adversary as it was given."""
    value = audit.entropy if audit.adversary.given == "entropy" else audit.knowledge
    limit = {str(audit.adversary.given): value}
    if audit.adversary.kind != "independent":
        return limit
    return {"adversary": "independent", **({} if audit.adversary.unlimited else limit)}


def _wanted(result: Audit | Design) -> Asked:
    """How the answer was wanted, where that is not the default."""
    unit = {} if result.unit == "nats" else {"unit": result.unit}
    method = {} if result.method == "certified" else {"method": "paper"}
    relative = {"relative": result.relative} if result.relative else {}
    return {**unit, **method, **relative, "tolerance": result.tolerance, "seed": result.seed}


def shell(given: object) -> str:
    """Return a text as one word of a shell, in double quotes where nothing in it has a meaning inside of them."""
    text = str(given)
    if shlex.quote(text) == text:
        return text
    return shlex.quote(text) if set(text) & set('"$`\\!') or not text.isprintable() else f'"{text}"'


def as_flags(options: Asked) -> str:
    """Return options as the command line takes them."""
    flags = {False: "--no-{}", True: "--{}"}
    return " ".join(
        flags[value].format(name) if isinstance(value, bool) else f"--{name.replace('_', '-')} {_listed(value)}"
        for name, value in options.items()
    )


def _listed(value: str | float | list[float]) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def as_keywords(options: Asked) -> str:
    """Return options as keyword arguments."""
    shown = {name: 'float("inf")' if value == math.inf else _quoted(value) for name, value in options.items()}
    return ", ".join(f"{name}={value}" for name, value in shown.items())


def _quoted(value: str | float | list[float]) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)
