"""Estimators for scikit-learn: its own checks, the mathematics of what they release, and refusals."""

import contextlib
import io
import math
import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.stats
from refusals import refuses_saying

import dalenius as dl
from dalenius.errors import BudgetError

pytestmark = pytest.mark.extras

base = pytest.importorskip("sklearn.base")
pd = pytest.importorskip("pandas")
RNG = np.random.default_rng(7)
FRAME = pd.DataFrame(
    {"a": RNG.choice(["x", "y", "z"], p=[0.5, 0.3, 0.2], size=400), "b": RNG.choice(["no", "yes"], size=400)}
)
LABELS = np.where((FRAME.a == "x") ^ (RNG.random(400) < 0.2), "u", "v")
LISTS = [["x", "y", "z"], ["no", "yes"]]


def estimators() -> list[Any]:
    return [
        dl.sklearn.LeakageTransformer(),
        dl.sklearn.NoisyCategoricalNB(),
        dl.sklearn.NoisyCategoricalNB(leakage=0.8, knowledge=0.5),
    ]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("which", range(3))
def test_the_checks_of_scikit_learn_find_no_failure(which: int) -> None:
    from sklearn.utils.estimator_checks import check_estimator

    results = check_estimator(estimators()[which], on_skip=None, on_fail=None)
    assert not [(r["check_name"], r["exception"]) for r in results if r["status"] == "failed"]
    # Skipped are checks that compare two draws of a transformer, and one that needs an environment variable.
    skipped = {r["check_name"] for r in results if r["status"] == "skipped"}
    allowed = {"check_array_api_input"}
    if which == 0:
        allowed |= {"check_pipeline_consistency", "check_transformer_data_not_an_array", "check_transformer_general"}
    assert skipped <= allowed
    assert len(results) >= 40


def transformer(leakage: float = 1.0, **options: Any) -> Any:
    return dl.sklearn.LeakageTransformer(leakage=leakage, random_state=0, **options)


def test_released_values_follow_the_channel_that_is_certified() -> None:
    for options in ({}, {"p0": [[0.6, 0.2, 0.2], [0.5, 0.5]]}):
        fitted = transformer(0.6, categories=LISTS, **options).fit(FRAME)
        many = pd.DataFrame({"a": ["y"] * 20000, "b": ["no"] * 20000})
        drawn = fitted.transform(many)
        for j, name in enumerate(("y", "no")):
            row = fitted.mechanisms_[j].matrix()[LISTS[j].index(name)]
            seen = [np.count_nonzero(drawn[:, j] == value) for value in LISTS[j]]
            assert scipy.stats.chisquare(seen, row * len(many)).pvalue > 1e-3


def test_the_leakage_of_a_row_is_the_capacity_of_its_channel_and_within_the_budget() -> None:
    fitted = transformer(0.6).fit(FRAME)
    rows = np.kron(*(mechanism.matrix() for mechanism in fitted.mechanisms_))
    # The channel of a whole row is symmetric: the uniform law attains its capacity.
    joint = rows / len(rows)
    exact = float((joint * np.log(rows / joint.sum(axis=0))).sum())
    assert fitted.audit_.lower <= exact <= fitted.leakage_ <= 0.6
    assert fitted.leakage_ - exact < 1e-9
    assert fitted.leakage_ > 0.599
    found = dl.verify(fitted.certificate_)
    assert found.verified
    assert found.upper == fitted.leakage_


def test_frequencies_are_estimated_without_bias() -> None:
    for options in ({}, {"p0": [[0.6, 0.2, 0.2], [0.5, 0.5]]}):
        fitted = dl.sklearn.LeakageTransformer(leakage=1.0, random_state=np.random.RandomState(1), **options).fit(FRAME)
        draws = np.array([fitted.frequencies(fitted.transform(FRAME))[0] for _ in range(100)])
        truth = FRAME.a.value_counts(normalize=True).sort_index().to_numpy()
        error = draws.std(axis=0) / math.sqrt(len(draws))
        assert (np.abs(draws.mean(axis=0) - truth) < 4 * error).all()
        assert draws.sum(axis=1) == pytest.approx(1.0)


def test_a_budget_is_shared_and_what_a_column_cannot_use_goes_to_the_others() -> None:
    from dalenius.adapters.learning.transformer import shared

    assert shared(1.0, [5, 5, 5, 5]) == pytest.approx([0.25] * 4)
    assert shared(2.0, [2, 100, 1]) == pytest.approx([math.log(2), 2 - math.log(2), 0.0])
    everything = transformer(100.0).fit(FRAME)
    assert everything.leakage_ == pytest.approx(math.log(6))
    assert (everything.transform(FRAME) == FRAME.to_numpy()).all()
    exactly = transformer(math.log(2)).fit(FRAME[["b"]])
    assert exactly.leakage_ <= math.log(2)
    assert transformer().fit(np.zeros((4, 2))).leakage_ == 0


def test_frames_names_clones_pickles_and_seeds() -> None:
    fitted = transformer().set_output(transform="pandas").fit(FRAME)
    released = fitted.transform(FRAME)
    assert list(released.columns) == list(fitted.get_feature_names_out()) == ["a", "b"]
    assert set(released.a) <= {"x", "y", "z"}
    assert released.equals(fitted.transform(FRAME))
    assert released.equals(pickle.loads(pickle.dumps(fitted)).transform(FRAME))
    fresh = base.clone(fitted).set_params(random_state=None).fit(FRAME)
    assert not fresh.transform(FRAME).equals(fresh.transform(FRAME))
    bayes = dl.sklearn.NoisyCategoricalNB(random_state=3).fit(FRAME, LABELS)
    again = pickle.loads(pickle.dumps(bayes))
    assert (again.predict_proba(FRAME) == bayes.predict_proba(FRAME)).all()
    assert again.leakage_ == bayes.leakage_


@pytest.mark.parametrize(
    ("options", "adversary"),
    [
        ({"leakage": 0.2}, "independent"),
        ({"leakage": 0.6, "knowledge": 0.5}, "0.5 nats"),
        ({"leakage": 0.6, "knowledge": 0.5, "adversary": "independent"}, "independent"),
        ({"leakage": 0.6, "knowledge": 0.5, "adversary": "bounded"}, "0.5 nats"),
    ],
)
def test_naive_bayes_keeps_its_budget_by_certificate(options: Any, adversary: str) -> None:
    fitted = dl.sklearn.NoisyCategoricalNB(random_state=0, **options).fit(FRAME, LABELS)
    assert options["leakage"] - 1e-4 < fitted.leakage_ <= options["leakage"]
    found = dl.verify(fitted.certificate_)
    assert found.verified
    assert found.upper == fitted.leakage_ == fitted.audit_.upper
    assert adversary in found.problem
    assert len(fitted.ledger_.releases) == 2
    assert fitted.predict_proba(FRAME).sum(axis=1) == pytest.approx(1.0)
    assert fitted.score(FRAME, LABELS) > 0.7


def test_naive_bayes_of_few_people_leaks_no_more_than_is_certified_by_brute_force() -> None:
    """Two people with class and column of two values each: every dataset, every noisy table."""
    fitted = dl.sklearn.NoisyCategoricalNB(leakage=0.3, categories=[[0, 1], [0, 1]]).fit([[0, 1], [1, 0]], [0, 1])
    tables = [release.mechanism for release in fitted.ledger_.releases]
    assert [table.records for table in tables] == [(4, 4), (4, 4)]
    one = dl.mechanisms.geometric(dl.queries.histogram(n=2, k=4), epsilon=fitted.epsilon_).matrix()
    # A person is (class, first, second); tables look at (class, first) and (class, second).
    first = np.array([[x // 4 * 2 + x // 2 % 2, x // 4 * 2 + x % 2] for x in range(8)])
    for other in (0, 3, 6):
        rows = np.stack([np.outer(*(one[x * 4 + o] for x, o in zip(me, first[other], strict=True))) for me in first])
        rows = rows.reshape(8, -1)
        p = np.full(8, 1 / 8)
        for _ in range(100):
            d = (rows * np.log(rows / (p @ rows))).sum(axis=1)
            p = p * np.exp(d) / (p @ np.exp(d))
        assert float(p @ d) <= fitted.leakage_
        assert float(d.max()) > 0.8 * fitted.leakage_


def test_noisy_counts_have_the_law_of_geometric_noise_and_learn_as_categorical_nb_without_it() -> None:
    from sklearn.naive_bayes import CategoricalNB

    codes = np.stack([FRAME.a.map({"x": 0, "y": 1, "z": 2}), FRAME.b.map({"no": 0, "yes": 1})], axis=1)
    exact = CategoricalNB().fit(codes, LABELS)
    loud = dl.sklearn.NoisyCategoricalNB(leakage=20.0).fit(codes, LABELS)
    assert [table.tolist() for table in loud.counts_] == [table.tolist() for table in exact.category_count_]
    assert loud.predict_proba(codes) == pytest.approx(exact.predict_proba(codes), abs=0.01)
    fitted = [dl.sklearn.NoisyCategoricalNB(leakage=0.5, random_state=r).fit(codes, LABELS) for r in range(60)]
    noise = np.concatenate([(f.counts_[0] - exact.category_count_[0]).ravel() for f in fitted])
    alpha = math.exp(-fitted[0].epsilon_ / 2)
    edges = np.arange(-8, 9)
    seen = [np.count_nonzero(np.clip(noise, -8, 8) == k) for k in edges]
    law = (1 - alpha) / (1 + alpha) * alpha ** np.abs(edges)
    law[[0, -1]] = alpha**8 / (1 + alpha)
    assert scipy.stats.chisquare(seen, law * noise.size).pvalue > 1e-3


def test_teachers_vote_until_the_budget_is_used_up() -> None:
    codes = np.stack([FRAME.a.map({"x": 0, "y": 1, "z": 2}), FRAME.b.map({"no": 0, "yes": 1})], axis=1)
    voting = dl.sklearn.NoisyVotingClassifier(n_teachers=12, leakage=3.0, questions=30, random_state=0)
    voting.fit(codes, LABELS)
    assert voting.certificate_ is None
    answers = voting.predict(codes[:20])
    assert np.mean(answers == LABELS[:20]) > 0.5
    share = dl.audit(voting.mechanism_, adversary="independent", verify=False).upper
    assert voting.leakage_ == pytest.approx(20 * share, abs=1e-4)
    assert voting.leakage_ <= 2.0
    assert dl.verify(voting.certificate_).verified
    assert voting.questions_left_ == 10
    with pytest.raises(BudgetError, match="20 more questions: the budget of 3 nats is for 30, and 10 are left"):
        voting.predict(codes[:20])
    assert voting.questions_left_ == 10
    voting.predict(codes[:10])
    assert 2.9 < voting.leakage_ <= 3.0
    bounded = dl.sklearn.NoisyVotingClassifier(n_teachers=5, leakage=1.0, knowledge=0.5, questions=2).fit(codes, LABELS)
    bounded.predict(codes[:2])
    assert 0.9 < bounded.leakage_ <= 1.0
    assert dl.verify(bounded.certificate_).verified


def missing(value: object) -> Any:
    frame = FRAME.astype(object)
    frame.loc[3, "b"] = value
    return frame


REFUSED: list[tuple[Any, str]] = [
    (lambda: transformer(0.0).fit(FRAME), "leakage = 0 allows no release"),
    (lambda: transformer(-1.0).fit(FRAME), "give a positive number of nats"),
    (lambda: transformer().fit(FRAME).transform(FRAME.assign(b="maybe")), "column 'b' has 'maybe', which is not among"),
    (lambda: transformer(categories=[["x", "y"], ["no", "yes"]]).fit(FRAME), "column 'a' has 'z'"),
    (lambda: transformer(categories=[["x"]]).fit(FRAME), "those of each of the 2 columns"),
    (lambda: transformer(p0=[[0.5, 0.5]]).fit(FRAME), "1 laws for 2 columns"),
    (lambda: transformer().fit(missing(None)), "row 3 of column 'b' is None"),
    (lambda: transformer().fit(missing(math.nan)), "Input contains NaN"),
    (lambda: transformer().fit(missing(pd.NA)), "make missing a category of its own"),
    (lambda: dl.sklearn.NoisyCategoricalNB(leakage=0).fit(FRAME, LABELS), "allows no release"),
    (lambda: dl.sklearn.NoisyCategoricalNB(leakage=0.3, knowledge=0.5).fit(FRAME, LABELS), "above the knowledge"),
    (lambda: dl.sklearn.NoisyCategoricalNB(adversary="bounded").fit(FRAME, LABELS), "needs knowledge="),
    (lambda: dl.sklearn.NoisyCategoricalNB(adversary="any").fit(FRAME, LABELS), "'bounded' or 'independent'"),
    (lambda: dl.sklearn.NoisyCategoricalNB(leakage=1e-12).fit(FRAME, LABELS), "too small to be certified"),
    (lambda: dl.sklearn.NoisyCategoricalNB().fit(np.arange(400)[:, None], LABELS), "put rare categories together"),
    (lambda: dl.sklearn.NoisyVotingClassifier(n_teachers=500).fit([[0.0]] * 400, LABELS), "a row for each teacher"),
]


@pytest.mark.parametrize(("call", "reason"), REFUSED, ids=[reason for _, reason in REFUSED])
def test_refusals_name_the_value_and_the_remedy(call: Any, reason: str) -> None:
    refuses_saying(reason, call)


ROOT = Path(__file__).parents[2]


def test_the_code_of_the_page_runs_and_prints_what_stands_below_it() -> None:
    page = (ROOT / "docs" / "machine-learning.md").read_text(encoding="utf-8")
    space: dict[str, object] = {}
    for code, printed in re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", page, re.DOTALL):
        shown = io.StringIO()
        with contextlib.redirect_stdout(shown):
            exec(compile(code, "machine-learning.md", "exec"), space)
        assert shown.getvalue() == printed


@pytest.mark.filterwarnings("ignore")
def test_the_notebook_runs_and_privacy_costs_little_where_counts_are_noisy(tmp_path: Path) -> None:
    pytest.importorskip("statsmodels")
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    book = nbformat.read(ROOT / "examples" / "machine-learning.ipynb", as_version=4)
    facts = "print(baseline['AUC'], own.AUC.iloc[2], rows.AUC.iloc[1], own.leakage.iloc[2], everything.leakage.iloc[2])"
    book.cells.append(nbformat.v4.new_code_cell(facts))
    nbclient.NotebookClient(book, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    exact, counts, rows, own, everything = map(float, book.cells[-1].outputs[0].text.split())
    assert rows < counts < exact + 0.005
    assert exact - counts < 0.01
    assert (own, everything) == pytest.approx((0.1, 0.6), abs=1e-5)
    assert [o for cell in book.cells for o in cell.get("outputs", ()) if "image/png" in o.get("data", {})]
