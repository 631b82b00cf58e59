"""Mechanisms known by samples."""

import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cases import named
from damage import put
from kinds import Json
from refusals import refuses

import dalenius as dl
from dalenius.model.channels.sampled import KNOWN_SHARE, Sampled

COUNT = dl.queries.count(n=2)
NOISY = dl.mechanisms.geometric(COUNT, epsilon=1)
PAIRS = dl.queries.pairs(n=3)


def drawn(draws: int = 5000) -> dict[int, Any]:
    return {a: NOISY.sample([1] * a + [0] * (2 - a), draws, rng=a) for a in range(3)}


def degraded(known: Sampled, true: np.ndarray[Any, Any]) -> bool:
    """Whether the true rows are the rows above, processed: no limit is above its probability."""
    return bool((known.rows[:, : true.shape[1]] <= true).all())


def test_an_audit_bounds_the_truth_from_above_and_says_how_surely() -> None:
    known = dl.Mechanism.from_samples(drawn(), COUNT)
    truth, found = dl.audit(NOISY, knowledge=0.5), dl.audit(known, knowledge=0.5, verify=True)
    assert isinstance(known, dl.Mechanism)
    assert found.lower == 0
    assert found.proved == "upper"
    assert truth.upper < found.upper < truth.upper + 0.08
    assert found.verified
    assert found.confidence == known.confidence == found.to_dict()["confidence"] == 0.999
    assert found.certificate.data["problem"]["samples"]["confidence"] == 0.999
    verdict = dl.verify(found.certificate, known)
    assert verdict.confidence == 0.999
    assert "with confidence 0.999" in verdict.reason
    for words in (found.summary(), repr(found), repr(verdict), repr(known).replace(", c", " with c")):
        assert "with confidence 0.999" in words
    assert truth.to_dict()["confidence"] is None


@pytest.mark.parametrize("draws", [50, 1000, 20_000])
def test_more_draws_tell_more(draws: int) -> None:
    few, many = (dl.audit(dl.Mechanism.from_samples(drawn(n), COUNT), knowledge=0.5) for n in (draws, 4 * draws))
    assert few.upper > many.upper


def test_a_function_is_called_at_one_dataset_of_every_class() -> None:
    seen = []

    def sampler(dataset: Any, size: int) -> Any:
        seen.append((tuple(dataset.tolist()), size))
        return NOISY.sample(dataset, size, rng=int(sum(dataset)))

    known = dl.Mechanism.from_samples(sampler, COUNT, draws=5000)
    assert known == dl.Mechanism.from_samples(drawn(), COUNT)
    assert [(sum(x), n) for x, n in seen] == [(0, 5000), (1, 5000), (2, 5000)]
    queries = [PAIRS, dl.queries.histogram(n=2, k=3), dl.queries.function([2, 3], lambda x: x[0] * x[1])]
    for query in queries:
        of = dl.Mechanism.from_samples(lambda x, size: [int(sum(x))] * size, query, draws=100)
        assert len(of.rows) == query.statistic.size


def test_answers_of_several_classes_share_their_samples() -> None:
    known = dl.Mechanism.from_samples({0: ["a"] * 300 + ["b"] * 100, 1: ["a"] * 400, 3: ["b"] * 400}, PAIRS)
    assert known.sets.tolist() == [0, 0, 1, 2]
    assert dl.audit(known, knowledge=0.5, verify=True).verified


def test_limits_are_below_the_probabilities_and_rows_divided_by_their_sums_stay_so() -> None:
    known = dl.Mechanism.from_samples(drawn(), COUNT)
    assert degraded(known, NOISY.matrix()[[0, 1, 3]])
    assert (known.above.rows[:, :3] <= known.rows[:, :3]).all()
    assert (np.diff(np.diag(known.rows[:, 3:])) != 0).any()


def test_outputs_that_nobody_listed_are_found_in_a_part_and_counted_in_the_rest() -> None:
    loud = dl.mechanisms.geometric(COUNT, epsilon=1, clamp=False)
    samples = {a: loud.sample([1] * a + [0] * (2 - a), 4000, rng=a) for a in range(3)}
    known = dl.Mechanism.from_samples(samples, COUNT)
    first, second = known.counted
    assert known.labels[:3] == (0, 1, 2)
    assert set(known.labels[3:]) >= {-1, 3}
    assert (first.draws, second.draws) == ((4000,) * 3, (3600,) * 3)
    assert first.share == KNOWN_SHARE
    assert first.share + second.share == 1
    # The order of the draws says nothing: those looked at are chosen by chance.
    assert dl.Mechanism.from_samples({a: np.sort(y) for a, y in samples.items()}, COUNT) == known
    listed = dl.Mechanism.from_samples(samples, COUNT, outputs=range(-3, 6))
    assert [part.share for part in listed.counted] == [1.0]
    assert listed.labels == tuple(range(-3, 6))
    uppers = [dl.audit(one, knowledge=0.5, verify=True).upper for one in (known, listed)]
    assert uppers == pytest.approx([dl.audit(loud, knowledge=0.5).upper + 0.07] * 2, abs=0.05)


def test_words_vectors_and_truth_values_are_outputs() -> None:
    flags = dl.queries.identity(k=2)
    known = dl.Mechanism.from_samples({0: [False, True, True], 1: [True, True, False]}, flags)
    assert known.counted[0].counts.tolist() == [[1, 2], [1, 2]]
    table = dl.queries.histogram(n=2, k=2)
    vectors = {(0, 2): np.array([[0, 2], [1, 1], [0, 2]]), (1, 1): [(1, 1)] * 3, (2, 0): ["2,0", "1,1", "2,0"]}
    assert dl.Mechanism.from_samples(vectors, table).counted[0].counts.tolist() == [[2, 1, 0], [0, 3, 0], [0, 1, 2]]
    called = dl.queries.identity(k=2, names=["no", "yes"])
    known = dl.Mechanism.from_samples({"yes": ["yes"] * 9, "no": ["no"] * 8 + ["yes"]}, called)
    assert known.counted[0].counts.tolist() == [[8, 1], [0, 9]]


def test_numbers_of_numpy_and_of_python_are_one_output() -> None:
    """Whole answers may come as floats, and as numbers of either kind: they look the same."""
    values = {0: [0.0, np.float64(1.0), 1.0] * 9, 1: np.ones(9), 2: np.array([1.0, 2.0] * 9, dtype=np.float32)}
    known = dl.Mechanism.from_samples(values, COUNT)
    assert known.counted[0].counts.tolist() == [[9, 18, 0], [0, 9, 0], [0, 9, 9]]
    words = {"yes": [np.str_("yes"), "yes"] * 9, "no": np.array(["no"] * 9)}
    called = dl.queries.identity(k=2, names=["no", "yes"])
    assert dl.Mechanism.from_samples(words, called).counted[0].counts.tolist() == [[9, 0], [0, 18]]


def test_it_is_saved_and_loaded_and_sent_with_its_confidence(tmp_path: Path) -> None:
    known = dl.Mechanism.from_samples(drawn(500), COUNT, confidence=0.95)
    known.save(path := tmp_path / "mechanism.json")
    assert dl.Mechanism.load(path) == known == pickle.loads(pickle.dumps(known))
    own = dl.Mechanism.from_samples(
        {"a": ["x", "y"] * 50, "b": ["x"] * 100}, dl.queries.function([2], lambda x: "ab"[x[0]])
    )
    for mechanism in (known, own):
        found = dl.audit(mechanism, knowledge=0.2)
        assert (found.proved, found.confidence) == ("upper", mechanism.confidence)
    curve = dl.curve(known, knowledges=[0.1, 0.2])
    assert [audit.confidence for audit in curve.audits] == [0.95, 0.95]
    found = dl.audit(known, knowledge=0.2)
    found.report(page := tmp_path / "page.html")
    assert "with confidence 0.95." in page.read_text()


MIXED: dict[str, Callable[[Json], object]] = {
    "rows": lambda samples: [
        put(samples, f"rows.0.{place}", samples["rows"][0][place] + by) for place, by in ((0, 0.01), (3, -0.01))
    ],
    "counts": lambda samples: put(samples, "counted.0.counts.0.0", samples["counted"][0]["counts"][0][0] - 60),
    "sets": lambda samples: samples.update(sets=[0, 0, 1]),
    "confidence": lambda samples: samples.update(confidence=0.9999),
    "shape": lambda samples: samples["counted"][0]["counts"].pop(1),
    "outputs": lambda samples: samples["counted"][0]["outputs"].pop(1),
    "twice": lambda samples: samples["counted"][0].update(outputs=[1.0, *samples["counted"][0]["outputs"][1:]]),
    "nameless": lambda samples: samples["counted"][0].pop("outputs"),
}


@pytest.mark.parametrize("key", MIXED)
def test_a_file_whose_parts_do_not_belong_together_is_refused(tmp_path: Path, key: str) -> None:
    dl.Mechanism.from_samples(drawn(500), COUNT, confidence=0.95).save(path := tmp_path / "mechanism.json")
    content = json.loads(path.read_text())
    MIXED[key](content["samples"])
    path.write_text(json.dumps(content))
    refuses(r"mechanism\.json", dl.Mechanism.load, path)


def _ledger(known: dl.Mechanism) -> None:
    dl.Ledger(COUNT, knowledge=0.5).release(known)


REFUSED: dict[str, Callable[[dl.Mechanism], object]] = {
    "matrix": lambda m: m.matrix(),
    "profile": lambda m: m.profile(),
    "sample": lambda m: m.sample([0, 1]),
    "epsilon": lambda m: m.dp_epsilon(),
    "delta": lambda m: m.dp_delta(),
    "compose": lambda m: dl.compose(m, NOISY),
    "compose twice": lambda m: dl.compose(m, m),
    "adaptive": lambda m: dl.adaptive(m, lambda _: NOISY),
    "ledger": _ledger,
    "leakage": lambda m: dl.leakage(m, [0.5, 0.5]),
    "g_leakage": lambda m: dl.g_leakage(m, [0.25] * 4),
    "then": lambda m: m.then(str),
    "csv": lambda m: m.save("channel.csv"),
    "table": lambda m: m.table(),
    "weights": lambda m: m.integer_rows(),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_samples_do_not_tell_is_refused_with_the_reason(what: str) -> None:
    known = dl.Mechanism.from_samples(drawn(100), COUNT)
    refuses(r"is not known for a mechanism that is known by samples only; ", REFUSED[what], known)
    assert known.expected_distortion() is None


def test_the_papers_method_is_refused() -> None:
    with pytest.raises(dl.InputError, match="samples show nothing from below"):
        dl.audit(dl.Mechanism.from_samples(drawn(100), COUNT), entropy=0.5, method="paper")


@pytest.mark.parametrize(
    ("samples", "options", "words"),
    [
        ({0: [1], 1: [1]}, {}, r"no samples for 1 of the 3 answers of count\(n=2\): 2; draw outputs"),
        ({0: [1] * 9, 1: [], 2: [1] * 9}, {}, "no samples for answer 1"),
        ({0: [1], 1: [1], 2: [1]}, {}, r"set 0 has 1 samples where there are 3 classes of datasets; draw many more"),
        ({0: [1] * 9, 1: [1] * 9, 3: [1]}, {}, r"3 is not an answer of count\(n=2\); its answers are 0, 1, 2"),
        ({0: [1] * 9, 1: 5, 2: [1] * 9}, {}, "samples of answer 1 must be a list of outputs, not int"),
        ({0: [1.0, np.nan] * 9, 1: [1] * 9, 2: [1] * 9}, {}, "samples of answer 0: nan is not an output.*missing"),
        ({0: [1.0, None] * 9, 1: [1] * 9, 2: [1] * 9}, {}, "samples of answer 0: None is not an output.*missing"),
        ({0: np.arange(10**5) / 7, 1: [1.0] * 9, 2: [1.0] * 9}, {}, "real numbers, .* different ones.* into bins"),
        ({0: list(range(10**5)), 1: [1] * 9, 2: [1] * 9}, {}, "different outputs, where .* into bins"),
        (lambda _: 1, {"draws": 9}, r"failed: TypeError[^;]* A sampler takes a dataset and how many outputs"),
        ({0: [1, 1.0] * 9, 1: [1] * 9, 2: [1] * 9}, {}, r"1 and 1\.0 are among the outputs.* write them alike"),
        ({0: np.ones(9, dtype=int), 1: np.ones(9), 2: [1] * 9}, {}, r"1 and 1\.0 are among the outputs"),
        ({0: [1] * 9, 1: [True] * 9, 2: [1] * 9}, {}, "1 and True are among the outputs"),
        ({0: np.array([0.0, -0.0] * 9), 1: [1.0] * 9, 2: [1.0] * 9}, {}, r"0\.0 and -0\.0 are among the outputs"),
        ({0: [(1, 0.0)] * 9, 1: [(1, -0.0)] * 9, 2: [1] * 9}, {}, r"\(1, 0\.0\) and \(1, -0\.0\) are among"),
        ([1, 2], {}, r"samples are a dict .* or a function .*, not list"),
        (lambda _, size: [1] * (size - 1), {"draws": 9}, "returned 8 outputs for the dataset .* instead of 9"),
        (lambda _, size: [1] * size, {"draws": 0}, "size = 0 is too small"),
        (drawn, {"confidence": 1.0}, "confidence = 1.0 cannot be reached"),
        (drawn, {"confidence": 0}, "confidence = 0 is out of range"),
        (drawn, {"confidence": "high"}, "is not a number"),
        (drawn, {"outputs": 3}, "outputs = 3 must list the outputs"),
        (drawn, {"outputs": []}, "0 different outputs"),
    ],
)  # fmt: skip
def test_bad_samples_are_refused_with_the_remedy(samples: Any, options: dict[str, Any], words: str) -> None:
    refuses(words, dl.Mechanism.from_samples, drawn(10) if samples is drawn else samples, COUNT, **options)


def test_a_query_is_needed() -> None:
    refuses("needs a Query as its second argument, not str", dl.Mechanism.from_samples, drawn(10), "count(n=2)")


@pytest.mark.parametrize(
    ("confidence", "repetitions", "misses"),
    [(0.9, 100, 10), pytest.param(0.999, 4000, 10, marks=pytest.mark.nightly)],
)
def test_the_truth_is_covered_as_often_as_stated(confidence: float, repetitions: int, misses: int) -> None:
    """Of a small channel with an output that nobody listed, and a rare one; by the capacity, which needs no search."""
    query = dl.queries.identity(k=2)
    rows = np.array([[0.7, 0.2, 0.098, 0.002], [0.4, 0.4, 0.2, 0.0]])
    true = dl.audit(dl.Mechanism.from_rows(query, rows), entropy=0).upper
    rng = np.random.default_rng(3)
    missed = failed = 0
    for seed in range(repetitions):
        samples = {a: rng.choice(4, size=300, p=rows[a]) for a in range(2)}
        known = dl.Mechanism.from_samples(samples, query, confidence=confidence, seed=seed)
        place = [known.labels.index(y) if y in known.labels else -1 for y in range(4)]
        limits = np.array([[known.rows[s, j] if j >= 0 else 0.0 for j in place] for s in range(2)])
        # If no limit is above its probability the truth is covered, by the theorem; else by the audit, or not.
        if (limits > rows).any():
            failed += 1
            missed += dl.audit(known, entropy=0, tolerance=1e-9).upper < true
        elif seed % 50 == 0:
            assert dl.audit(known, entropy=0, tolerance=1e-9).upper >= true
    assert missed <= failed <= misses


def test_seen_outputs_alone_would_not_do() -> None:
    """The list must not come from what is counted: of a law on very many outputs, each seen one would have a limit."""
    draws = np.random.default_rng(1).permutation(10**6)[:3000]
    query = dl.queries.identity(k=2)
    known = dl.Mechanism.from_samples({0: draws, 1: draws + 10**6}, query)
    # Outputs of the part that was looked at did not come again: nothing is known of any of them.
    assert known.rows[:, : len(known.labels)].max() == 0
    assert dl.audit(known, entropy=0).upper == pytest.approx(np.log(2))


def test_a_noisy_count_comes_close_with_many_draws() -> None:
    query = dl.queries.count(n=4)
    noisy = named("count(n=4)", "geometric(epsilon=1)")
    known = dl.Mechanism.from_samples(lambda x, size: noisy.sample(x, size, rng=int(sum(x))), query)
    assert 0.3303 < dl.audit(known, entropy=2.2, tolerance=1e-4).upper < 0.3460
