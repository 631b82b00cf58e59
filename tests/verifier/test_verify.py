"""Certificates written by hand: closed forms, refusals, forgeries."""

import ast
import copy
import io
import json
import math
import os
import subprocess
import sys
from pathlib import Path

import flint
import mpmath
import numpy as np
import pytest
from flint import ctx
from kinds import Json
from posterior_trees import packed
from verdicts import accepted, refused

import dalenius.verifier.verify as verifier
from dalenius.model.gallery.parse import parse_mechanism, parse_query
from dalenius.verifier.verify import verify_here, verify_stream

LN2 = math.log(2)
NAMED = {"query": "modular_sum(n=4, modulus=2)", "mechanism": "symmetric(flip=0.3)"}


def binary_entropy(p: float) -> float:
    return -p * math.log(p) - (1 - p) * math.log(1 - p)


CAPACITY = LN2 - binary_entropy(0.3)


def certificate(problem: Json, adversary: Json, lower: float, upper: float, masses: Json, *proofs: Json) -> Json:
    return {
        "format": "dalenius/audit-certificate",
        "version": 2,
        "form": "rows",
        "problem": problem,
        "adversary": adversary,
        "lower": lower,
        "upper": upper,
        "witness": {"record": 0, "kind": "masses", "masses": masses},
        "proofs": [{"record": 0, "upper": upper, **proof} for proof in proofs],
    }


def choices(*tree: Json) -> Json:
    return {"kind": "choices", "tree": list(tree)}


def parity(**changes: Json) -> Json:
    flat = {"rho": [0.0, 0.0]}
    data = certificate(NAMED, {"entropy": 1.0}, CAPACITY - 1e-12, CAPACITY + 1e-12, [[1, 0], [0, 1]], choices(flat))
    return {**copy.deepcopy(data), **changes}


@pytest.mark.parametrize(("n", "b"), [(1, 0.0), (1, 0.5), (2, 0.3), (4, 0.0), (4, 3 * LN2 - 1e-9), (10**6, 1e4)])
def test_parity_leaks_the_capacity_while_the_parity_of_the_others_may_be_known(n: int, b: float) -> None:
    problem = {"query": f"modular_sum(n={n}, modulus=2)", "mechanism": "symmetric(flip=0.3)"}
    data = parity(problem=problem, adversary={"entropy": b})
    accepted(data)


@pytest.mark.parametrize("adversary", [{"entropy": 4 * LN2 + 1e-10}, {"knowledge": 0.0}])
def test_without_knowledge_the_uniform_prior_is_the_witness_and_the_proof(adversary: Json) -> None:
    channel = [[0.9, 0.1], [0.6, 0.4], [0.3, 0.7], [0.2, 0.8]]
    problem = {"records": [2, 2], "classes": None, "rows": channel}
    if "entropy" in adversary:
        adversary = {"entropy": 2 * LN2 + 1e-10}
    p = np.array(channel).reshape(2, 2, 2)
    truth = []
    for axis in (0, 1):
        z = p.mean(axis=1 - axis) / 2
        truth.append(float((z * np.log(z / (z.sum(0) * z.sum(1)[:, None]))).sum()))
    masses = [[0.25, 0.25, 0, 0], [0, 0, 0.25, 0.25]]
    data = certificate(problem, adversary, truth[0] - 1e-12, truth[0] + 1e-12, masses, {"kind": "reference"})
    data["proofs"].append({"record": 1, "upper": truth[1] + 1e-12, "kind": "reference"})
    accepted(data)
    data["witness"]["masses"][0][0] = 0.26
    assert "uniform" in verify_here(data).reason
    data["witness"]["masses"][0][0] = 0.25
    data["adversary"] = {"knowledge": 1e-9}
    assert "without knowledge" in verify_here(data).reason


def test_masses_near_the_uniform_prior_stand_for_it() -> None:
    problem = {"records": [2], "classes": None, "rows": [[0.9, 0.1], [0.2, 0.8]]}

    def leaked(p: float) -> mpmath.mpf:
        p = mpmath.mpf(p)
        y = [p * mpmath.mpf(0.9) + (1 - p) * mpmath.mpf(0.2), p * mpmath.mpf(0.1) + (1 - p) * mpmath.mpf(0.8)]
        h = lambda law: -sum(u * mpmath.log(u) for u in law)  # noqa: E731
        return h(y) - p * h([mpmath.mpf(0.9), mpmath.mpf(0.1)]) - (1 - p) * h([mpmath.mpf(0.2), mpmath.mpf(0.8)])

    p = 0.5 - 4e-10 if leaked(0.4) > leaked(0.6) else 0.5 + 4e-10
    between = float((leaked(p) + leaked(0.5)) / 2)
    data = certificate(problem, {"knowledge": 0}, between, 0.5, [[p, 0], [0, 1 - p]], {"kind": "reference"})
    assert leaked(0.5) < between < leaked(p)
    assert "leaks" in verify_here(data).reason
    assert verify_here({**data, "lower": float(leaked(0.5)) - 1e-15})


def test_a_single_record_at_entropy_zero_leaks_the_channel_capacity() -> None:
    # Capacity of the Z channel with flip 1/2: log(5/4) bits per nat scale, r = (3/5, 2/5), prior (3/5, 2/5).
    rows = [[1.0, 0.0], [0.5, 0.5]]
    truth = math.log(5 / 4)
    problem = {"records": [2], "classes": None, "rows": rows}
    leaf = {"rho": [math.log(0.8), math.log(0.2)]}
    data = certificate(problem, {"entropy": 0}, truth - 1e-12, truth + 1e-12, [[3, 0], [0, 2]], choices(leaf))
    accepted(data)


def test_choices_trees_split_cells_and_leave_none_out() -> None:
    rows = [[0.9, 0.1], [0.6, 0.4], [0.5, 0.5], [0.2, 0.8]]
    problem = {"records": [2, 2], "classes": None, "rows": rows}
    leaf = {"rho": [0.0, 0.0]}
    tree = [[0, 0, 0.7], [1, 0, 0.3], leaf, leaf, leaf]
    data = certificate(problem, {"entropy": 0}, 0.0, 0.7, [[1, 1, 0, 0], [0, 0, 1, 1]], choices(*tree))
    data["proofs"].append({"record": 1, "upper": 0.7, "kind": "trivial"})
    accepted(data)
    for broken in (tree[:-1], [*tree, leaf], [], [leaf, leaf], [[0, 0, 0.7]], [[0, 5, 0.7], leaf, leaf], [3]):
        data["proofs"][0]["tree"] = broken
        assert not verify_here(data)
    del data["proofs"][0]
    assert "record 0 has no proof" in verify_here(data).reason


@pytest.mark.parametrize("record", range(3))
def test_records_of_a_response_are_interchangeable_but_their_outputs_are_not(record: int) -> None:
    # Given x_record, its own noisy bit depends on nothing else: grouping by the other bits contracts fully.
    problem = {"query": "count(n=3)", "mechanism": "randomized_response(epsilon=1)"}
    place = 2 - record
    others = [(y >> (place + 1) << place) + y % (1 << place) for y in range(8)]
    many = max(others) + 1
    lam, leaf = [[[0.0] * 8] * 2], {"scale": packed(b"\0"), "sigma": packed(bytes(4)), "m": packed(bytes(many))}
    proof = {
        "kind": "posteriors", "groups": others, "eta": 1e-11, "tangents": lam, "ratios": False,
        "tree": packed(bytes([many])), "leaves": {**leaf, "bytes": 1},
    }  # fmt: skip
    masses = [[1.0] * 4 + [0.0] * 4, [0.0] * 4 + [1.0] * 4]
    data = certificate(problem, {"knowledge": 0.1}, 0.0, 2.0, masses, proof)
    data["proofs"][0]["record"] = record
    accepted(data)
    data["proofs"][0]["record"] = (record + 1) % 3
    assert "contraction" in verify_here(data).reason


def test_the_problem_is_said_in_words() -> None:
    answer = verify_here(parity())
    for words in (
        "4 records of 2 values",
        "modular_sum(n=4, modulus=2)",
        "symmetric(flip=0.3)",
        "entropy at least 1.0",
    ):
        assert words in answer.problem
    assert "verified" in repr(answer)
    rows = [[0.5, 0.5]] * 4
    data = parity(problem={"records": [2, 2], "classes": None, "rows": rows})
    assert "4 rows x 2 outputs (sha256 " in verify_here(data).problem


def test_the_precision_of_the_caller_is_left_alone() -> None:
    before = ctx.prec
    verify_here(parity())
    verify_here(parity(lower=9.0))
    assert ctx.prec == before


def test_a_mechanism_given_must_be_the_channel() -> None:
    query = parse_query("modular_sum(n=4, modulus=2)")
    assert verify_here(parity(), parse_mechanism("symmetric(flip=0.3)", query))
    assert verify_here(parity(), parse_mechanism("symmetric(0.3)", query))
    refused(parity(), "another channel", mechanism=parse_mechanism("symmetric(flip=0.31)", query))
    assert not verify_here(parity(), parse_mechanism("symmetric(flip=0.3)", parse_query("modular_sum(n=5, modulus=2)")))
    assert not verify_here(parity(), parse_mechanism("symmetric(flip=0.3)", parse_query("count(n=4)")))


# Input that a stranger may have written.


def save(tmp_path: Path, text: str | bytes) -> Path:
    path = tmp_path / "certificate.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


WHOLE = json.dumps(parity())


@pytest.mark.parametrize(
    "text",
    [
        "", "{",
        "null", "[]", "3", '"text"', "\x00\x01", b"\xff\xfe", WHOLE[: len(WHOLE) // 2],
        WHOLE[:-1], WHOLE + "}",
        "[" * 100_000, '{"a":' * 100_000, "[" * 100_000 + "]" * 100_000,
        WHOLE.replace("0.0", "NaN", 1), WHOLE.replace("0.0", "Infinity", 1), WHOLE.replace("0.0", "1e999", 1),
        WHOLE.replace("0.0", "9" * 5000, 1), WHOLE.replace('"version": 2', '"version": 2, "version": 2'),
        WHOLE.replace('"version": 2', '"version": 3'), WHOLE.replace('"version": 2', '"version": true'),
        WHOLE.replace("audit-certificate", "mechanism"),
    ],
)  # fmt: skip
def test_malformed_files_are_refused_with_a_reason(text: str | bytes) -> None:
    answer = verify_stream(io.BytesIO(text if isinstance(text, bytes) else text.encode()))
    assert not answer["verified"]
    assert len(answer["reason"]) > 10
    assert "cannot be checked" not in answer["reason"]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the largest memory is told so on Linux")
@pytest.mark.parametrize(
    ("unit", "many"),
    [("[],", 15 * 10**6), ("{},", 10**6), ("0.1234567890123456,", 5 * 10**6), ("é", 10**8), ("x", 2 * 10**8)],
    ids=["lists", "objects", "numbers", "letters of two bytes", "letters"],
)
def test_no_file_takes_more_than_512_mib(tmp_path: Path, unit: str, many: int) -> None:
    path = tmp_path / "large.json"
    begin, end = ('["', '"]') if len(unit) == 1 else ("[", "1]")
    path.write_text(begin + unit * many + end, encoding="utf-8")
    script = (
        "import sys; from dalenius.verifier.verify import verify; verify(sys.argv[1]);"
        "print(open('/proc/self/status').read().split('VmHWM:')[1].split()[0])"  # of this program alone
    )
    told = subprocess.run([sys.executable, "-c", script, str(path)], check=True, capture_output=True, text=True)
    assert int(told.stdout) < 512 * 1024


@pytest.mark.skipif(sys.platform != "linux", reason="address spaces are limited so on Linux")
def test_a_small_file_needs_little_memory(tmp_path: Path) -> None:
    path = save(tmp_path, WHOLE)
    script = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_AS, (2**28, 2**28));"
        "from dalenius.verifier.verify import verify; sys.exit(not verify(sys.argv[1]).verified)"
    )
    assert subprocess.run([sys.executable, "-c", script, str(path)], check=False).returncode == 0


@pytest.mark.parametrize(
    ("problem", "words"),
    [
        ({"query": "__import__('os').system('true')", "mechanism": "symmetric(flip=0.3)"}, "query"),
        ({"query": "count(n=4)", "mechanism": "open('x')"}, "mechanism"),
        ({"query": "count(n=10**9)", "mechanism": "symmetric(flip=0.3)"}, "not a number"),
        ({"query": "count(n=1000000000)", "mechanism": "symmetric(flip=0.3)"}, "n of the query"),
        ({"query": "count(n=100000000)", "mechanism": "symmetric(flip=0.3)"}, "too many"),
        ({"query": "modular_sum(n=100000000, modulus=4000000)", "mechanism": "constant()"}, "too many"),
        ({"query": "total(n=50, values=[0, 1099511627776])", "mechanism": "constant()"}, "too many"),
        ({"query": "total(n=90000, values=[0, 1, 2])", "mechanism": "constant()"}, "too"),
        ({"query": "histogram(n=1000, k=1000)", "mechanism": "constant()"}, "too many"),
        ({"query": "histogram(n=60, k=60)", "mechanism": "geometric(epsilon=1)"}, "too many"),
        ({"query": "count(n=30)", "mechanism": "randomized_response(epsilon=1)"}, "too many"),
        ({"query": "count(n=4)", "mechanism": "geometric(epsilon=-1)"}, "epsilon"),
        ({"query": "count(n=4)", "mechanism": "geometric(epsilon=1, epsilon=2)"}, "twice"),
        ({"query": "count(n=4)", "mechanism": "geometric()"}, "epsilon must be"),
        ({"query": "count(n=4)", "mechanism": "laplace(epsilon=1, output='real')"}, "output"),
        ({"query": "count(n=4)", "rows": [[1.0]] * 4}, "5 are needed"),
        ({"query": "count(n=4)", "rows": [[0.5, 0.4]] * 5}, "sums to 0.9"),
        ({"query": "count(n=4)", "rows": [[1.5, -0.5]] * 5}, "not between"),
        ({"query": "count(n=4)"}, "describe no channel"),
        ({"records": [2] * 60, "classes": None, "rows": []}, "too many"),
        ({"records": [2], "classes": [0, 2], "rows": [[1.0], [1.0]]}, "class"),
        ({"records": [2], "classes": [0, 0], "rows": [[1.0], [1.0]]}, "no dataset"),
        ({"records": [2], "classes": None, "rows": [[1.0], [0.5, 0.5]]}, "row 1"),
        ({"records": [], "classes": None, "rows": [[1.0]]}, "empty"),
    ],
)
def test_problems_that_cannot_be_rebuilt_are_refused(problem: Json, words: str) -> None:
    answer = verify_here(parity(problem=problem), time_limit=math.inf)
    assert not answer
    assert words in answer.reason


# Independence.


FOLDER = Path(verifier.__file__).parent
FILES = sorted(FOLDER.rglob("*.py"))


@pytest.mark.parametrize("source", FILES, ids=lambda path: path.relative_to(FOLDER).as_posix())
def test_the_verifier_imports_the_standard_library_and_flint_alone(source: Path) -> None:
    for node in ast.walk(ast.parse(source.read_text())):
        if isinstance(node, ast.Import):
            modules = [alias.name.split(".")[0] for alias in node.names]
            assert all(m in sys.stdlib_module_names or m == "flint" for m in modules), modules
        if isinstance(node, ast.ImportFrom):
            inside = node.level == 1 or f"{node.module}.".startswith("dalenius.verifier.")
            root = (node.module or "").split(".")[0]
            assert inside or (node.level == 0 and (root in sys.stdlib_module_names or root == "flint")), node.module
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            assert node.func.id not in {"eval", "exec", "compile", "__import__"}


@pytest.mark.parametrize("source", sorted((FOLDER / "kernel").rglob("*.py")), ids=lambda path: path.stem)
def test_the_kernel_imports_nothing_of_the_rest_of_the_verifier(source: Path) -> None:
    for node in ast.walk(ast.parse(source.read_text())):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 1 or (node.level == 0 and (node.module or "").split(".")[0] != "dalenius"), node.module
        # NumPy is loaded by its name, and by one file.
        assert "importlib" not in ast.dump(node) or source.stem == "doubles"


def test_the_verifier_runs_alone(tmp_path: Path) -> None:
    """With python-flint as its only package: site packages are not looked at, and flint alone is linked in."""
    packages = tmp_path / "packages"
    packages.mkdir()
    source = Path(flint.__file__).parent
    (packages / "flint").symlink_to(source)
    for libraries in source.parent.glob("python_flint.libs"):
        (packages / libraries.name).symlink_to(libraries)
    certificate, forged = tmp_path / "c.json", tmp_path / "forged.json"
    certificate.write_text(WHOLE)
    forged.write_text(json.dumps({**json.loads(WHOLE), "lower": 0.6, "upper": 0.6}))
    for path, code, word in ((certificate, 0, "VERIFIED"), (forged, 1, "NOT VERIFIED"), (tmp_path / "none", 2, "")):
        done = subprocess.run(
            [sys.executable, "-S", "-m", "dalenius.verifier", str(path)],
            capture_output=True, text=True, check=False,
            env={**os.environ, "PYTHONPATH": os.pathsep.join([str(FOLDER.parents[1]), str(packages)])},
        )  # fmt: skip
        assert done.returncode == code, done.stderr
        assert done.stdout.startswith(word)
        assert "Traceback" not in done.stderr
