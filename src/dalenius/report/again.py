"""How to reproduce a result: the same question as a command and in Python, where it has names."""

import math
from collections.abc import Mapping

from dalenius.results.audit import Audit
from dalenius.results.design import Design

LOADED = "# The certificate holds the channel. To audit it again, load the saved result:\ndl.load(FILE).mechanism"
# Measures of distortion that have a name of their own on the command line, by their words.
MEASURES = {"absolute error": "absolute", "squared error": "squared", "share of wrong answers": "zero-one"}

Asked = Mapping[str, str | float]


def audit_again(audit: Audit) -> str:
    """Return the command and the Python of an audit."""
    query, name = audit.mechanism.query, audit.mechanism.name
    if query is None or name is None or not query.named:
        return LOADED
    options = {**_adversary(audit), **_wanted(audit)}
    family, arguments = str(name).split("(", 1)
    mechanism = f"mechanism = dl.mechanisms.{family}(dl.queries.{query}, {arguments}"
    command = f'dalenius audit --query "{query}" --mechanism "{name}" {as_flags(options)}'
    return _both(audit, command, f"{mechanism}\naudit = dl.audit(mechanism, {as_keywords(options)})")


def design_again(design: Design) -> str:
    """Return the command and the Python of a design; nothing where its question has no name."""
    if not design.query.named or design.beside or design.distortion_name not in MEASURES:
        return ""
    budget = {"distortion" if design.goal == "leakage" else "leakage": design.budget}
    options = {**budget, **_adversary(design.leakage), **_wanted(design)}
    measure = MEASURES[design.distortion_name]
    command = f'dalenius design --query "{design.query}" --measure {measure} {as_flags(options)}'
    python = f'design = dl.design(dl.queries.{design.query}, measure="{measure}", {as_keywords(options)})'
    return _both(design.leakage, command, python)


def _both(audit: Audit, command: str, python: str) -> str:
    plain = audit.secret is None and audit.reference.uniform
    note = "" if plain else "# with the secret and the reference of this report\n"
    return f"{note}{command}\n\nimport dalenius as dl\n\n{python}"


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


def as_flags(options: Asked) -> str:
    """Return options as the command line takes them."""
    return " ".join(f"--{name.replace('_', '-')} {value}" for name, value in options.items())


def as_keywords(options: Asked) -> str:
    """Return options as keyword arguments."""
    shown = {name: 'float("inf")' if value == math.inf else _quoted(value) for name, value in options.items()}
    return ", ".join(f"{name}={value}" for name, value in shown.items())


def _quoted(value: str | float) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)
