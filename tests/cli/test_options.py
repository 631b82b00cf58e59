"""Options of the commands that solve reach the function behind each, with the types that it takes."""

import inspect
import math
import shlex
from importlib import import_module
from typing import Any

import pytest
from command_line import command

from dalenius.errors import InputError

PARITY = "--query 'modular_sum(n=4, modulus=2)'"
NOISY = f"{PARITY} --mechanism 'symmetric(flip=0.3)'"
SOLVING = "--unit bits --tolerance 1e-3 --time-limit 7 --seed 3"
SOLVED = {"unit": "bits", "tolerance": 1e-3, "time_limit": 7.0, "seed": 3, "progress": False, "reference": None}
BOUNDED = {"entropy": 2.2, "knowledge": None, "adversary": "bounded"}
PAPER = {"method": "paper", "repairs": "", "reading": "strict"}
CERTIFIED = {"method": "certified", "repairs": None, "reading": None}
FREE = {"max_epsilon": None, "floor": None, "unbiased": False, "within": None, "keep_zero": False}
ABSOLUTE = {"measure": "absolute", "outputs": None, "p0": None}
INDEPENDENT, BY_THE_PAPER = "--adversary independent --knowledge 1", "--method paper --repairs '' --reading strict"
CONSTRAINED = "--max-epsilon 2 --floor 0.1 --unbiased --within 2 --keep-zero"
AUDIT, DESIGN = "api.audits.audit", "api.designs.design"
# The command, the function behind it, and what it is asked with beside what all are.
CASES = [
    (
        f"audit {NOISY} --knowledge inf --relative 0.02 --nodes 500 --jobs 2 --method certified --verify yes",
        AUDIT,
        {"knowledge": math.inf, "entropy": None, "adversary": "bounded", "secret": None, "relative": 0.02}
        | {"nodes": 500, "jobs": 2, "verify": True, **CERTIFIED},
    ),
    (
        f"audit {NOISY} --entropy 2.2 --secret 0,1 {BY_THE_PAPER} --verify no",
        AUDIT,
        {**BOUNDED, **PAPER, "secret": [0, 1], "verify": False, "relative": 1e-3, "nodes": None, "jobs": 1},
    ),
    (
        f"design {PARITY} --distortion 0.1 --entropy 2.2",
        DESIGN,
        {**BOUNDED, **FREE, **ABSOLUTE, **CERTIFIED, "distortion": 0.1, "leakage": None, "relative": 0.0}
        | {"verify": "auto"},
    ),
    (
        f"design {PARITY} --leakage 0.2 {INDEPENDENT} --measure zero-one {CONSTRAINED} --outputs 0,1 {BY_THE_PAPER}",
        DESIGN,
        {"distortion": None, "leakage": 0.2, "entropy": None, "knowledge": 1.0, "adversary": "independent"}
        | {"max_epsilon": 2.0, "floor": 0.1, "unbiased": True, "within": 2.0, "keep_zero": True, "outputs": [0, 1]}
        | {"measure": "zero-one", "p0": None, "relative": 0.0, "verify": "auto", **PAPER},
    ),
    (
        f"calibrate --family symmetric {PARITY} --leakage 0.08 --entropy 2.2 --accuracy 0.01",
        "tools.calibration.calibrate",
        {**BOUNDED, "family": "symmetric", "leakage": 0.08, "accuracy": 0.01},
    ),
    (
        f"profile {NOISY} --entropies 0,0.5 --epsilon 2",
        "tools.profile.profile",
        {"entropies": [0.0, 0.5], "knowledges": None, "epsilon": 2.0},
    ),
    (
        f"curve {NOISY} --knowledges 0.1,0.5 --secret 0 --relative 0",
        "api.audits.curve",
        {"entropies": None, "knowledges": [0.1, 0.5], "secret": [0], "relative": 0.0},
    ),
    (
        f"frontier {PARITY} --entropy 2.2 --adversary both --points 3 --no-named",
        "api.designs.frontier",
        {**BOUNDED, "adversary": "both", "points": 3, "named": False},
    ),
]


@pytest.mark.parametrize(("words", "behind", "wanted"), CASES, ids=lambda case: str(case)[:24])
def test_every_option_reaches_the_function_behind_a_command(
    words: str, behind: str, wanted: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    module, _, name = f"dalenius.{behind}".rpartition(".")
    signature, asked = inspect.signature(getattr(import_module(module), name)), dict[str, Any]()

    def stand_in(*arguments: Any, **options: Any) -> None:
        asked.update(signature.bind(*arguments, **options).arguments)
        message = "that will do"
        raise InputError(message)

    monkeypatch.setattr(import_module(module), name, stand_in)
    assert "that will do" in command(*shlex.split(f"{words} {SOLVING}")).stderr
    asked |= asked.pop("options", {})
    about = asked.pop("query", None) or asked.pop("mechanism").query
    assert str(about) == "modular_sum(n=4, modulus=2)"
    assert asked == {**SOLVED, **wanted}
    assert {key: type(value) for key, value in asked.items()} == {k: type(v) for k, v in {**SOLVED, **wanted}.items()}
