"""Certificates written by hand: closed forms, refusals, forgeries."""

import ast
import copy
import io
import json
import math
import os
import random
import subprocess
import sys
from pathlib import Path

import flint
import mpmath
import numpy as np
import pytest
from damage import put
from flint import ctx
from kinds import Floats, Json
from posterior_trees import packed
from scipy.optimize import brentq, minimize_scalar
from verdicts import accepted, at, places, refused

import dalenius.verifier.verify as verifier
from dalenius.model.gallery.parse import parse_mechanism, parse_query
from dalenius.model.reference import UNIFORM
from dalenius.verifier.verify import verify, verify_here, verify_stream

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


def contraction(rows: Floats) -> float:
    """eta of all pairs of rows, by a bounded search in floats."""
    best = 0.0
    for i, p in enumerate(rows):
        for q in rows[:i]:
            found = minimize_scalar(
                lambda t, p=p, q=q: (p * q / (t * p + (1 - t) * q)).sum(), bounds=(0, 1), method="bounded"
            )
            best = max(best, 1 - found.fun)
    return best


@pytest.mark.parametrize("query", ["count(n=6)", "total(n=3, values=[0, 1, 3])", "histogram(n=3, k=3)"])
def test_where_the_multiplier_exceeds_the_contraction_a_stationary_point_is_certified(query: str) -> None:
    # MATH 4.3: the local answer of MATH 3 at a multiplier s > eta is the global one, with no gap.
    mechanism = parse_mechanism("geometric(epsilon=0.5)", parse_query(query))
    q, rho = mechanism.rows, np.exp(UNIFORM.log_joint(mechanism.statistic, 0))
    eta = np.array([contraction(q[share > 0]) for share in rho])
    s = 1.2 * float(eta.max())
    v = np.random.default_rng(1).uniform(1, 2, (rho.shape[0], q.shape[1]))
    for _ in range(20_000):
        score = np.exp(np.log(v / v.sum(0)) @ q.T / s) * rho
        p = score.sum(1) ** (s / (1 + s))
        pi = score / score.sum(1, keepdims=True) * (p / p.sum())[:, None]
        v = pi @ q
    where = pi > 0
    knowledge = float((pi[where] * np.log(pi[where] / rho[where])).sum()) + 1e-13
    leaked = float((v * np.log(v / (v.sum(0) * v.sum(1)[:, None]))).sum())
    lam = (np.log(v / v.sum(0)) / s).tolist()
    eta = float(eta.max())
    proof = {"kind": "convex", "s": s, "eta": eta + 1e-9, "theta": 1.0, "rho": np.log(v.sum(0)).tolist(), "lam": lam}
    data = certificate(
        mechanism.describe(), {"knowledge": knowledge}, leaked - 1e-11, leaked + 1e-9, pi.tolist(), proof
    )
    accepted(data, mechanism)
    data["proofs"][0]["upper"] = leaked - 1e-10
    assert "proof of record 0: bound" in verify_here(data).reason
    data["proofs"][0] |= {"upper": leaked + 1e-9, "eta": eta - 1e-9}
    assert "contraction" in verify_here(data).reason


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


def test_a_file_is_read(tmp_path: Path) -> None:
    assert verify(save(tmp_path, json.dumps(parity())))
    assert verify(str(save(tmp_path, json.dumps(parity()))))


def test_an_unreadable_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="missing"):
        verify(tmp_path / "missing.json")
    with pytest.raises(OSError, match="directory"):
        verify(tmp_path)


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


def test_huge_files_are_refused_unread() -> None:
    for text in (b" " * (2 * 2**20 + 1), b"[" + b"[]," * 60_000):
        assert verify_stream(io.BytesIO(text), memory=4)["reason"].startswith("not checked: it needs about")
    assert "not valid JSON" in verify_stream(io.BytesIO(b"[" + b"[]," * 60_000), memory=40)["reason"]
    assert verify_stream(io.BytesIO(WHOLE.encode()), memory=2)["verified"]


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


def test_the_reference_prior_is_a_witness_for_any_knowledge() -> None:
    """Floats hold it up to rounding, whose divergence may exceed the knowledge: then the reference itself stands."""
    problem = {"records": [3], "classes": None, "rows": [[0.5, 0.5], [0.25, 0.75], [0.125, 0.875]]}
    third = 1 / 3
    masses = [[third, 0, 0], [0, math.nextafter(third, 1), 0], [0, 0, third]]
    given = certificate(problem, {"knowledge": 1e-300}, 0.04, 0.7, masses, {"kind": "trivial"})
    assert verify_here(given).verified, verify_here(given).reason
    assert not verify_here({**given, "lower": 0.06}).verified  # the reference leaks 0.0599...
    masses[1][1] = third * (1 + 1e-6)
    assert "divergence" in verify_here({**given, "witness": {"record": 0, "kind": "masses", "masses": masses}}).reason


def test_trees_without_end_are_refused() -> None:
    data = rich()
    data["proofs"][1]["tree"] = [[0, 0, 0.5]] * 50_000
    assert "too deep" in verify_here(data).reason


def rich() -> Json:
    """A certificate that uses every field of a convex proof, and a tree."""
    rows = [[0.7, 0.2, 0.1], [0.3, 0.3, 0.4], [0.5, 0.25, 0.25], [0.1, 0.1, 0.8]]
    problem = {"records": [2, 2], "classes": [0, 1, 2, 3], "rows": rows}
    proof = {
        "kind": "convex", "s": 1.5, "eta": 0.9, "theta": 0.9, "omega": 0.1, "rho": [0.1, 0.0, -0.1],
        "lam": [[0.1, 0.0, 0.2], [0.0, 0.0, 0.0]],
    }  # fmt: skip
    data = certificate(problem, {"knowledge": 0.2}, 0.01, 5.0, [[1.0, 1.0, 0, 0], [0, 0, 0.8, 1.0]], proof)
    data["proofs"].append(
        {"record": 1, "upper": 0.7, "kind": "choices", "tree": [[0, 2, 0.2], *[{"rho": [0.1, 0.0, 0.2]}] * 2]}
    )
    return data


def test_the_rich_certificate_holds() -> None:
    accepted(rich())


def test_a_missing_key_is_named() -> None:
    data = rich()
    for key in ("lower", "upper", "problem", "adversary", "witness", "proofs"):
        part = {k: v for k, v in data.items() if k != key}
        assert repr(key) in verify_here(part).reason
    for path in (p for p in places(data) if p[0] == "proofs" and isinstance(p[-1], str) and len(p) == 3):
        part = copy.deepcopy(data)
        del part["proofs"][path[1]][path[2]]
        assert path[2] == "omega" or not verify_here(part)  # 0 where it is left out


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


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"lower": CAPACITY + 1e-9, "upper": 1.0}, "leaks"),
        ({"upper": CAPACITY - 1e-9, "lower": 0.0}, "exceeds"),
        ({"lower": 0.5, "upper": 0.4}, "exceeds upper"),
        ({"adversary": {"entropy": 2.5}}, "divergence"),
        ({"adversary": {"entropy": 2.8}}, "no prior"),
        ({"adversary": {"entropy": -1}}, "entropy"),
        ({"adversary": {"entropy": 1, "knowledge": 1}}, "either"),
        ({"witness": {"record": 4, "kind": "masses", "masses": [[1, 0], [0, 1]]}}, "record"),
        ({"witness": {"record": 0, "kind": "masses", "masses": [[0, 0], [0, 0]]}}, "no mass"),
        ({"proofs": []}, "no proof"),
    ],
)
def test_false_claims_are_refused(change: Json, words: str) -> None:
    refused(parity(**change), words)


def test_mass_where_no_dataset_is_cannot_witness() -> None:
    data = parity(problem={"query": "count(n=1)", "mechanism": "symmetric(flip=0.3)"}, adversary={"entropy": 0})
    accepted(data)
    data["witness"]["masses"] = [[0.5, 0.1], [0, 0.4]]
    assert "no dataset" in verify_here(data).reason


def test_changed_numbers_are_refused_or_still_true() -> None:
    # The truth by brute force: a fine grid of priors over (secret, class) of a 2 x 2 parity problem.
    b = 2.5
    noise = brentq(lambda s: binary_entropy(s) - (b - 3 * LN2), 1e-9, 0.5)

    def truth(entropy: float, p: float) -> float:
        if entropy <= 3 * LN2:
            return LN2 - binary_entropy(p)
        s = brentq(lambda x: binary_entropy(x) - (entropy - 3 * LN2), 1e-12, 0.5)
        return LN2 - binary_entropy(s * (1 - p) + p * (1 - s))

    value = truth(b, 0.3)
    lam = [[1.0, 0.0], [0.0, 1.0]]
    proof = {"kind": "convex", "s": 0.26, "eta": 0.17, "theta": 1.0, "rho": [0.0, 0.0], "lam": lam}
    mix = noise + 1e-6
    data = certificate(NAMED, {"entropy": b}, value - 1e-4, value + 0.05, [[1 - mix, mix], [mix, 1 - mix]], proof)
    accepted(data)
    rng = random.Random(5)
    numbers = [p for p in places(data) if isinstance(at(data, p), float)]
    kept = 0
    for _ in range(1500):
        changed = copy.deepcopy(data)
        for path in rng.sample(numbers, rng.choice([1, 1, 2])):
            old = at(data, path)
            new = rng.choice(
                [old + rng.gauss(0, 0.05), old * rng.uniform(0.5, 1.5), -old, 0.0, 1.0, old + rng.gauss(0, 1e-3)]
            )
            put(changed, path, new)
        answer = verify_here(changed)
        if answer:
            kept += 1
            entropy = min(changed["adversary"]["entropy"], 4 * LN2)
            assert answer.lower <= truth(entropy, 0.3) + 1e-12
            assert answer.upper >= truth(entropy, 0.3) - 1e-12
    assert kept > 50


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
