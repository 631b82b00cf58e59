"""Files for Coq: what is written, what is refused by name, and, at night, what Coq says of examples and forgeries."""

import fcntl
import importlib.util
import json
import shutil
import subprocess
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from click.testing import CliRunner
from refusals import refuses

from dalenius.certificates.coq import designs, question, to_coq, trees
from dalenius.cli import main

PROOFS = Path(__file__).parents[2] / "proofs"
EXAMPLES = sorted(path.stem for path in (PROOFS / "examples").glob("*.json"))


def example(name: str = "first-audit") -> dict[str, Any]:
    data: dict[str, Any] = json.loads((PROOFS / "examples" / f"{name}.json").read_text())
    return data


def audit_of(data: dict[str, Any]) -> dict[str, Any]:
    """The certificate of the audit; of a design that of its mechanism."""
    audit: dict[str, Any] = data.get("audit", data)
    return audit


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_file_states_the_question_and_both_bounds_exactly(name: str) -> None:
    data = example(name)
    text = to_coq(data)
    for bound, x in (("lower", data["lower"]), ("upper", audit_of(data)["upper"])):
        exact = Fraction(x)
        assert (
            f"Definition {bound} : number := (Binary {exact.numerator} {exact.denominator.bit_length() - 1})." in text
        )
    assert "Theorem lower_bound" in text
    assert "Theorem upper_bound : forall i, (i < " in text
    assert text.count("(") == text.count(")")


def test_nothing_in_a_certificate_becomes_a_command() -> None:
    data = example()
    data["problem"]["mechanism"] += " # *) Axiom easy : False. (*"
    data["adversary"]["*) Axiom easy : False. (*"] = 1
    text = to_coq(data)
    assert text.split("From Coq")[0].count("*)") == 1
    data["witness"]["record"] = "0 p). Axiom easy : False. Print (0"
    refuses("the record of the witness", to_coq, data)


def test_ratios_and_complements_become_sums_of_bounds() -> None:
    text = to_coq(example())
    # From the posterior at output 2 to that at output 0; and of the first value what the second leaves.
    assert "(Follows (Side true 1 0) " in text
    assert "(Follows (Side false 0 " in text


def changed(parts: dict[str, Any], name: str = "first-audit") -> dict[str, Any]:
    data = example(name)
    for key, part in parts.items():
        if isinstance(part, dict) and isinstance(data.get(key), dict):
            data[key].update(part)
        elif key == "proof":
            data["proofs"][0].update(part)
        else:
            data[key] = part
    return data


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({"format": "dalenius/joint-certificate"}, "not the certificate of an audit or a design"),
        ({"form": "sum"}, "form 'sum'"),
        ({"adversary": {"independent": True}}, "independent records that knows more"),
        ({"adversary": {"reference": {"marginal": [0.1, 0.9]}}}, "a reference prior"),
        ({"secret": {"records": [0, 1]}}, "a secret other than every record"),
        ({"problem": {"mechanism": "laplace(epsilon=1)"}}, r"laplace\(epsilon=1\) of count\(n=4\)"),
        ({"problem": {"mechanism": "random_rounding(base=3, mechanism='geometric(epsilon=1)')"}}, "random_rounding"),
        ({"problem": {"query": "count(n=40)"}}, "datasets, more than"),
        ({"proof": {"kind": "monotone"}}, "the kind 'monotone'"),
        ({"proof": {"groups": [0, 0, 1, 1, 2]}}, "groups of outputs"),
        ({"proof": {"tree": "AAAA"}}, "damaged"),
        ({"problem": {"mechanism": "geometric(1)"}}, "arguments|damaged"),
        ({"proof": {"steps": [{"kind": "grid", "k": 3}]}}, "steps"),
    ],
)
def test_what_has_no_proof_in_coq_is_refused_by_name(parts: dict[str, Any], words: str) -> None:
    refuses(f"no proof in Coq: .*{words}", to_coq, changed(parts))


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({"beside": 2}, "beside earlier releases"),
        ({"problem": {"max_epsilon": 2.0}}, "a design with max_epsilon"),
        ({"lower": 0.0}, "its lower bound is 0"),
        ({"audit": {"form": "sum"}}, "form 'sum'"),
        ({"problem": {"query": "mean(n=2, low=0, high=1)"}}, "not whole numbers"),
        ({"problem": {"query": "count(n=3)"}}, "not one for each answer"),
        ({"budget": []}, "damaged"),
        ({"adversary": {"independent": True}}, "a design against independent records"),
        ({"problem": {"max_epsilon": 1.0}}, "a design with max_epsilon"),
    ],
)
def test_designs_without_a_proof_in_coq_are_refused_by_name(parts: dict[str, Any], words: str) -> None:
    refuses(f"no proof in Coq: .*{words}", to_coq, changed(parts, "design-parity"))


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({"adversary": {"knowledge": 0.1}}, "independent records that knows more, or less"),
        ({"form": "histogram"}, "form 'histogram'"),
        ({"witness": {"kind": "averaged"}}, "witnesses of the kind 'averaged'"),
        ({"proof": {"kind": "averaged"}}, "the kind 'averaged'"),
        ({"proof": {"weights": [[0.5, 0.5]] * 3}}, "damaged"),
    ],
)
def test_independent_records_without_a_proof_in_coq_are_refused_by_name(parts: dict[str, Any], words: str) -> None:
    refuses(f"no proof in Coq: .*{words}", to_coq, changed(parts, "rounding-independent"))


def test_lines_and_what_the_witness_knows_are_written_by_record() -> None:
    text = to_coq(example("rounding-independent"))
    # The answers 3 and 4, where three others are 1; and three others that are known to be 0.
    assert "([3; 4], [" in text
    assert text.count("[(Whole 1); (Whole 0)]") == 3
    assert text.count("apply (lines_prove") == 4
    # A table of classes has a line for each of the values of the others.
    data = example("channel-anything-known") | {
        "adversary": {"independent": True},
        "witness": {"record": 1, "kind": "known", "law": [0.4, 0.6], "others": [1, 0, 0]},
        "proofs": [{"record": i, "kind": "lines", "weights": [[0.5, 0.5]] * 4} for i in range(3)],
    }
    text = to_coq(data)
    assert "Definition lines_1 : list (list nat * list number) := [\n  ([0; 2], " in text
    assert "  [(Whole 0); (Whole 1)];\n  [(Binary 3602879701896397 53); (Binary 5404319552844595 53)];\n  [(Wh" in text
    data["proofs"].pop()
    refuses("record 2 is interchangeable", to_coq, data)


def test_what_is_made_of_the_exact_answer_is_written_in_fractions() -> None:
    assert "[(Over (Whole 2) (Whole 3)); (Over (Whole 1) (Whole 3)); (Whole 0)];" in to_coq(example("rounding"))


def test_a_bound_by_the_number_of_values_needs_no_tree() -> None:
    text = to_coq(changed({"proof": {"kind": "trivial"}}))
    assert "Lemma checked_0 : values_right rows masses_0 upper = true." in text
    assert "tree_0" not in text


def test_a_prior_of_a_design_stands_for_every_record_and_renaming() -> None:
    # Three records, and both ways to name their values: flipping two bits keeps the parity.
    data = example("design-parity")
    assert to_coq(data).count("  Belief ") == 6 * len(data["pool"])
    # Two records, and the stated symmetry, which turns counts and outputs round.
    data = example("design-count")
    assert len(data["symmetries"]) == 1
    assert to_coq(data).count("  Belief ") == 4 * len(data["pool"])


def test_data_by_class_and_distortions_by_table_are_written_as_they_are() -> None:
    parts = {"problem": {"distribution": [0.25, 0.75], "distortion": [[0.0, 0.5], [2.0, 0.0]]}}
    text = to_coq(changed(parts, "design-parity"))
    # Four datasets have each parity.
    assert "Definition data : list number := [(Binary 1 4); (Binary 3 4)]." in text
    assert "[(Whole 0); (Binary 1 1)];\n  [(Whole 2); (Whole 0)]]." in text


def test_what_would_take_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trees, "LEAVES", 3)
    refuses("362 leaves, more than 3", to_coq, example())
    refuses("nodes, more than 3", to_coq, example("channel-anything-known"))
    monkeypatch.setattr(designs, "PRODUCTS", 50)
    refuses("more than 50 products", to_coq, example("design-parity"))
    monkeypatch.setattr(question, "ENTRIES", 49)
    refuses("50 entries of a value, a class and an output, more than 49", to_coq, example())


def test_the_command_writes_the_same_file(tmp_path: Path) -> None:
    given, out = PROOFS / "examples" / "parity.json", tmp_path / "parity.v"
    done = CliRunner().invoke(main, ["prove", str(given), "--out", str(out)])
    assert done.exit_code == 0, done.output
    assert out.read_text() == to_coq(example("parity"))


# What Coq says


def nearer(data: dict[str, Any]) -> None:
    # Less than the witness leaks; a tree may prove a little less than its certificate claims.
    audit = audit_of(data)
    audit["upper"] = audit["lower"] - 1e-6


def more(data: dict[str, Any]) -> None:
    data["lower"] += 1e-6


def less_known(data: dict[str, Any]) -> None:
    adversary = data["adversary"]
    if "knowledge" in adversary:
        adversary["knowledge"] -= 1e-6
    else:
        adversary["entropy"] += 1.5


def another_law(data: dict[str, Any]) -> None:
    for law in data["proofs"][0]["weights"]:
        law[0] += 1e-3


def less_distorted(data: dict[str, Any]) -> None:
    data["distortion"] -= 1e-9


FORGERIES = [
    pytest.param(name, forge, id=f"{name}-{forge.__name__}")
    for name in EXAMPLES
    for forge in (nearer, more, another_law if "independent" in name else less_known, less_distorted)
    if forge is not less_distorted or name.startswith("design")
]


@pytest.fixture(scope="module")
def check() -> ModuleType:
    """The theorems, compiled, and the script that checks a file."""
    if shutil.which("coqc") is None:
        pytest.skip("Coq is not installed; `make prove` installs Debian's packages")
    with (PROOFS / "_CoqProject").open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # tests run in several processes
        subprocess.run(["coq_makefile", "-f", "_CoqProject", "-o", "CoqMakefile"], cwd=PROOFS, check=True)
        subprocess.run(["make", "-f", "CoqMakefile"], cwd=PROOFS, check=True, capture_output=True)
    spec = importlib.util.spec_from_file_location("check", PROOFS / "check.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.nightly
@pytest.mark.parametrize("name", EXAMPLES)
def test_coq_accepts_the_examples(name: str, check: ModuleType, tmp_path: Path) -> None:
    file = tmp_path / "proof.v"
    file.write_text(to_coq(example(name)))
    assert check.refused(file) == ""


@pytest.mark.nightly
@pytest.mark.parametrize(("name", "forge"), FORGERIES)
def test_coq_refuses_forgeries(
    name: str, forge: Callable[[dict[str, Any]], None], check: ModuleType, tmp_path: Path
) -> None:
    data = example(name)
    forge(data)
    file = tmp_path / "forged.v"
    file.write_text(to_coq(data))
    assert "Error" in check.refused(file)


@pytest.mark.nightly
def test_the_script_refuses_other_axioms(check: ModuleType, tmp_path: Path) -> None:
    file = tmp_path / "assumed.v"
    file.write_text("Axiom easy : 0 = 1.\nTheorem hard : 0 = 1. Proof. exact easy. Qed.\nPrint Assumptions hard.\n")
    assert check.refused(file) == "it assumes easy"
