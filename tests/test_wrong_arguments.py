"""Whatever is given, the answer is a result or an InputError, and nothing is written to standard error."""

import inspect
import math
import random
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from fractions import Fraction
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from refusals import refuses

import dalenius as dl
from dalenius.errors import show
from dalenius.model.gallery.parse import MECHANISMS, QUERIES

COUNT = dl.queries.count(n=3)
TWO = dl.queries.count(n=2)
PAIRS = dl.queries.histogram(n=2, k=2)
REALS = dl.queries.real_sum(n=3, low=0, high=1)
MECHANISM = dl.mechanisms.geometric(COUNT, epsilon=1)
SMALL = dl.mechanisms.symmetric(TWO, flip=0.2)
LARGE = dl.mechanisms.geometric(dl.queries.count(n=5000), epsilon=0.5)
HISTOGRAM = dl.mechanisms.geometric(dl.queries.histogram(n=2000, k=3), epsilon=1)
REAL = dl.mechanisms.laplace(COUNT, epsilon=1, output="real")
QUICK: dict[str, Any] = {"tolerance": 1e-1, "time_limit": 0.2}
SECONDS = 5.0  # of the processor, for any single call


class Unprintable:
    """A stranger's object, of which a message can say nothing."""

    def __repr__(self) -> str:
        raise RuntimeError


JUNK: list[Any] = [
    None, "x", b"x", object(), [], {}, set(), np.array([0.1, 0.2]), np.array(0.3), np.array([]), np.eye(2), math.nan,
    -1, 10**400, 1j, [[1, 0, 1]], [None], ["a"], [[0.5, 0.5], [1]], [1e308] * 4, "a\0b", "\x1b[31m", [[]], 2**63, int,
    np.array(["a"]), np.datetime64("2020"), 5e-324, 10**5000, [10**5000], np.uint64(2**63), Decimal("sNaN"),
    Decimal("0.5"), Fraction(1, 3), np.ma.masked_array([0.5, 0.5], [False, True]), np.ma.masked, "\ud800", True,
    math.inf, -math.inf, np.float32(0.5), np.array([0.5, None]), {0: 1}, Unprintable(), [Unprintable()], ..., 1e308,
    -0.0, 0, np.nan, "nan", "1", np.array([[[0.5]]]), (0.5, 0.5), np.complex128(1), np.True_, 2**31, "count(n=2)",
]  # fmt: skip

# Arguments that every call needs; the others of its signature have defaults, and all are replaced by junk in turn.
FLAT = [0.25] * 4
APART = [[0, 1, 2], [1, 0, 1], [1, 0, 1], [2, 1, 0]]
THIRDS = [[1 / 3] * 3] * 4
BARE = ("self", "bare", "options", "mechanisms", "arguments", "given", "expired")
# What is called on the way: whatever a function of the user raises is the user's own.
CALLBACKS = ("progress",)
# As many steps are taken as are asked for.
STEPS = ("T_max", "max_inner")


def released(mechanism: object, name: object = None, columns: object = None, force: object = False) -> object:
    return dl.Ledger(COUNT, entropy=1.0, **QUICK).release(mechanism, name, columns, force=force)


def composed(first: object, times: object) -> object:
    return dl.compose(first, times=times)


def audited_many(mechanisms: object, knowledge: object, entropy: object = None) -> object:
    return dl.audit_many(mechanisms, knowledge=knowledge, entropy=entropy, jobs=1, **QUICK)


@cache
def made() -> dict[str, Any]:
    """One result of every kind, whose methods are called."""
    audit = dl.audit(MECHANISM, knowledge=0.3, **QUICK)
    ledger = dl.Ledger(COUNT, entropy=1.0, budget=0.5, **QUICK)
    return {
        "audit": audit,
        "prior": audit.prior,
        "certificate": audit.certificate,
        "curve": dl.curve(MECHANISM, [0.5], **QUICK),
        "design": dl.design(TWO, distortion=0.3, entropy=0.5, **QUICK),
        "frontier": dl.frontier(TWO, entropy=0.5, points=2, named=False, **QUICK),
        "calibration": dl.calibrate("geometric", COUNT, leakage=0.1, entropy=1.0, accuracy=0.1),
        "profile": MECHANISM.profile([0.5], **QUICK),
        "ledger": ledger,
    }


def of(name: str, method: str) -> Callable[..., Any]:
    """A method of a result that is made when it is first called."""

    def call(*arguments: Any, **given: Any) -> Any:
        return getattr(made()[name], method)(*arguments, **given)

    return call


PATHS = ("audit", "curve", "design", "frontier", "calibration", "profile", "ledger", "certificate")
CALLS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "audit": (dl.audit, {"mechanism": MECHANISM, "knowledge": 0.3, **QUICK}),
    "audit at an entropy": (dl.audit, {"mechanism": MECHANISM, "entropy": 0.3, **QUICK}),
    "audit by the paper": (dl.audit, {"mechanism": SMALL, "entropy": 0.3, "method": "paper", **QUICK}),
    "audit_many": (audited_many, {"mechanisms": [MECHANISM], "knowledge": 0.3}),
    "curve": (dl.curve, {"mechanism": MECHANISM, "entropies": [0.5], **QUICK}),
    "design": (dl.design, {"query": TWO, "distortion": 0.3, "entropy": 0.5, **QUICK}),
    "design for a leakage": (dl.design, {"query": TWO, "leakage": 0.3, "entropy": 0.5, **QUICK}),
    "frontier": (dl.frontier, {"query": TWO, "entropy": 0.5, "points": 2, "named": False, **QUICK}),
    "calibrate": (
        dl.calibrate,
        {"family": "geometric", "query": COUNT, "leakage": 0.1, "entropy": 1.0, "accuracy": 0.1, "time_limit": 0.5},
    ),
    "load": (dl.load, {"path": "none.json"}),
    "verify": (dl.verify, {"source": {}, "mechanism": MECHANISM}),
    "to_coq": (dl.to_coq, {"certificate": {}}),
    "Ledger": (dl.Ledger, {"data": [2, 2], "knowledge": 0.5, **QUICK}),
    "Ledger of columns": (dl.Ledger, {"columns": {"a": 2}, "n": 2, "knowledge": 0.5, **QUICK}),
    "Ledger.load": (dl.Ledger.load, {"path": "none.json"}),
    "Ledger.release": (released, {"mechanism": MECHANISM}),
    "Ledger.what_if": (of("ledger", "what_if"), {"mechanism": MECHANISM, "columns": None}),
    "Ledger.calibrate": (
        partial(of("ledger", "calibrate"), time_limit=0.3),
        {"family": "geometric", "query": COUNT, "columns": None, "accuracy": 0.1, "seed": 0},
    ),
    "Ledger.design": (
        of("ledger", "design"),
        {"query": COUNT, "measure": "absolute", "outputs": None, "p0": None, "tolerance": 1.0, "time_limit": 0.3},
    ),
    "compose": (composed, {"first": MECHANISM, "times": 2}),
    "adaptive": (dl.adaptive, {"first": SMALL, "choose": lambda _: SMALL}),
    "leakage": (dl.leakage, {"mechanism": SMALL, "prior": FLAT}),
    "g_leakage": (dl.g_leakage, {"mechanism": SMALL, "prior": FLAT}),
    "from_privacy_curve": (dl.from_privacy_curve, {"epsilons": [0.5, 1.0], "deltas": [0.1, 0.01]}),
    "from_opendp": (dl.from_opendp, {"measurement": None, "query": COUNT}),
    "from_diffprivlib": (dl.from_diffprivlib, {"mechanism": None, "query": COUNT}),
    "Mechanism.from_matrix": (
        dl.Mechanism.from_matrix, {"matrix": [[0.5, 0.5]] * 4, "records": [2, 2], "labels": ["a", "b"]}
    ),
    "Mechanism.from_rows": (
        dl.Mechanism.from_rows, {"query": dl.queries.count(n=1), "rows": [[0.5, 0.5]] * 2, "labels": ["a", "b"]}
    ),
    "Mechanism.from_samples": (
        dl.Mechanism.from_samples, {"samples": {0: [0, 1], 1: [1, 1], 2: [0, 0]}, "query": TWO, "draws": 10}
    ),
    "Mechanism.load": (dl.Mechanism.load, {"path": "none.json"}),
    "Mechanism.save": (MECHANISM.save, {"path": "m.json"}),
    "Mechanism.save_table": (MECHANISM.save_table, {"path": "m.csv"}),
    "Mechanism.table": (MECHANISM.table, {"digits": 3}),
    "Mechanism.then": (SMALL.then, {"post": np.eye(3)}),
    "Mechanism.dp_delta": (MECHANISM.dp_delta, {"epsilon": 1.0}),
    "Mechanism.dataset": (MECHANISM.dataset, {"dataset": [0, 0, 0]}),
    "Mechanism.profile": (SMALL.profile, {"entropies": [0.5], **QUICK}),
    "Prior.probability": (of("prior", "probability"), {"dataset": [0, 0, 0]}),
    "Certificate.load": (dl.Certificate.load, {"path": "none.json"}),
    "Certificate.of": (dl.Certificate.of, {"data": {}}),
    "Audit.load": (dl.Audit.load, {"path": "none.json"}),
    "Audit.verify": (of("audit", "verify"), {"time_limit": 1.0, "memory": 448}),
    "Design.load": (dl.Design.load, {"path": "none.json"}),
    "Design.verify": (of("design", "verify"), {"time_limit": 1.0, "memory": 448}),
    "Design.lower_at": (of("design", "lower_at"), {"budgets": [0.3]}),
    "Frontier.band": (of("frontier", "band"), {"distortions": [0.3]}),
    "Frontier.excess": (of("frontier", "excess"), {"point": None}),
    "Study.load": (dl.Study.load, {"path": "none.toml"}),
    "Query.coded": (COUNT.coded, {"dataset": [0, 0, 0]}),
    "Query.words": (COUNT.words, {"value": 0}),
    **{f"{name}.save": (of(name, "save"), {"path": "out.json"}) for name in PATHS},
    **{f"{name}.report": (of(name, "report"), {"path": "out.html"}) for name in ("audit", "curve", "ledger")},
    "queries.count": (dl.queries.count, {"n": 3}),
    "queries.pairs": (dl.queries.pairs, {"n": 3}),
    "queries.modular_sum": (dl.queries.modular_sum, {"n": 3, "modulus": 2}),
    "queries.total": (dl.queries.total, {"n": 3, "values": [0, 1]}),
    "queries.mean": (dl.queries.mean, {"n": 3, "low": 0, "high": 4}),
    "queries.real_sum": (dl.queries.real_sum, {"n": 3, "low": 0, "high": 1}),
    "queries.real_mean": (dl.queries.real_mean, {"n": 3, "low": 0, "high": 1}),
    "queries.weighted_sum": (dl.queries.weighted_sum, {"weights": [1, 2]}),
    "queries.histogram": (dl.queries.histogram, {"n": 3, "k": 2}),
    "queries.table": (dl.queries.table, {"n": 2, "shape": [2, 2]}),
    "queries.identity": (dl.queries.identity, {"k": 3}),
    "queries.function": (dl.queries.function, {"records": [2, 2], "f": lambda x: x[0]}),
    "mechanisms.symmetric": (dl.mechanisms.symmetric, {"query": COUNT, "flip": 0.1}),
    "mechanisms.geometric": (dl.mechanisms.geometric, {"query": COUNT, "epsilon": 1}),
    "mechanisms.geometric of reals": (dl.mechanisms.geometric, {"query": REALS, "epsilon": 1, "step": 0.5}),
    "mechanisms.laplace": (dl.mechanisms.laplace, {"query": COUNT, "epsilon": 1}),
    "mechanisms.laplace of reals": (dl.mechanisms.laplace, {"query": REALS, "epsilon": 1}),
    "mechanisms.gaussian": (dl.mechanisms.gaussian, {"query": COUNT, "sigma": 1}),
    "mechanisms.gaussian of reals": (dl.mechanisms.gaussian, {"query": REALS, "sigma": 1}),
    "mechanisms.discrete_gaussian": (dl.mechanisms.discrete_gaussian, {"query": COUNT, "sigma": 1}),
    "mechanisms.exponential": (dl.mechanisms.exponential, {"query": COUNT, "epsilon": 1}),
    "mechanisms.randomized_response": (
        dl.mechanisms.randomized_response, {"query": dl.queries.identity(k=3), "epsilon": 1}
    ),
    "mechanisms.unary_encoding": (dl.mechanisms.unary_encoding, {"query": PAIRS, "epsilon": 1}),
    "mechanisms.noisy_max": (dl.mechanisms.noisy_max, {"query": PAIRS, "epsilon": 1}),
    "mechanisms.constant": (dl.mechanisms.constant, {"query": COUNT}),
    "mechanisms.exact": (dl.mechanisms.exact, {"query": COUNT}),
    "mechanisms.rounding": (dl.mechanisms.rounding, {"query": COUNT, "base": 2}),
    "mechanisms.random_rounding": (dl.mechanisms.random_rounding, {"query": COUNT, "base": 2}),
    "mechanisms.cell_key": (dl.mechanisms.cell_key, {"query": COUNT, "table": [(0, 0, 1)]}),
    "mechanisms.suppressed": (dl.mechanisms.suppressed, {"query": COUNT, "below": 2}),
    "mechanisms.subsampled": (dl.mechanisms.subsampled, {"query": COUNT, "rate": 0.5}),
    "mechanisms.shuffled_response": (dl.mechanisms.shuffled_response, {"query": PAIRS, "epsilon": 1}),
    "mechanisms.hadamard_response": (dl.mechanisms.hadamard_response, {"query": PAIRS, "epsilon": 1}),
    "mechanisms.subset_selection": (dl.mechanisms.subset_selection, {"query": PAIRS, "epsilon": 1}),
    "knowledge.rumour": (dl.knowledge.rumour, {}),
    "knowledge.sure_of": (dl.knowledge.sure_of, {"records": 1}),
    "knowledge.total": (dl.knowledge.total, {"n": 4}),
    "audit of listed priors": (dl.audit, {"mechanism": SMALL, "adversary": [[0.5, 0.5]], **QUICK}),
    "guess": (of("audit", "guess"), {"before": 0.5}),
    **{
        f"Mechanism.sample of {m.n}, {type(m).__name__}": (m.sample, {"dataset": [0] * m.n, "rng": 0})
        for m in (MECHANISM, LARGE, HISTOGRAM, REAL)
    },
    "Mechanism.sample in earnest": (MECHANISM.sample, {"dataset": [0, 1, 0], "secure": True}),
    "paper.algorithm_1": (dl.paper.algorithm_1, {"channel": THIRDS, "records": [2, 2], "b": 0.5, "T_max": 2}),
    "paper.algorithm_2": (
        dl.paper.algorithm_2,
        {"p_start": [0.5, 0.5], "conditionals": [[0.5, 0.5]] * 2, "rows": np.array(THIRDS).reshape(2, 2, 3), "b": 0.5,
         "T_max": 2},
    ),
    "paper.algorithm_3": (
        dl.paper.algorithm_3,
        {"marginal": [0.5, 0.5], "p_start": [[0.5, 0.5]] * 2, "rows": np.array(THIRDS).reshape(2, 2, 3), "b": 0.5,
         "T_max": 2},
    ),
    "paper.algorithm_4": (dl.paper.algorithm_4, {"v": [0.5, 1.0]}),
    "paper.algorithm_5": (dl.paper.algorithm_5, {"v": [0.5, 0.5], "target": 0.5}),
    "paper.algorithm_6": (
        dl.paper.algorithm_6, {"distance": APART, "records": [2, 2], "D": 0.3, "b": 0.5, "T_max": 1}
    ),
    "paper.algorithm_7": (
        dl.paper.algorithm_7,
        {"prior": FLAT, "distance": APART, "records": [2, 2], "D": 0.3, "q_start": THIRDS, "T_max": 1},
    ),
    "paper.algorithm_8": (
        dl.paper.algorithm_8,
        {"channel": THIRDS, "penalty": 1.0, "prior": FLAT, "distance": APART, "records": [2, 2], "D": 0.3, "record": 0},
    ),
    "paper.algorithm_9": (
        dl.paper.algorithm_9, {"distance": APART, "records": [2, 2], "L": 0.3, "b": 0.5, "T_max": 1}
    ),
    "paper.algorithm_10": (
        dl.paper.algorithm_10,
        {"prior": FLAT, "distance": APART, "records": [2, 2], "L": 0.3, "q_start": THIRDS, "T_max": 1},
    ),
    "paper.algorithm_11": (
        dl.paper.algorithm_11,
        {"channel": THIRDS, "penalty": 1.0, "prior": FLAT, "distance": APART, "records": [2, 2], "L": 0.3},
    ),
}  # fmt: skip


def parameters(call: Callable[..., Any], good: dict[str, Any]) -> list[str]:
    """The names of all arguments, those with defaults included."""
    listed = inspect.signature(call).parameters
    return [*good, *(name for name in listed if name not in good and name not in BARE)]


# Searches, which take a while where junk turns out to be a good argument, and checks, each in a process: a choice of
# junk each, the same every time.
LONG = (
    "audit",
    "curve",
    "design",
    "frontier",
    "calibrate",
    "Ledger",
    "paper",
    "leakage",
    "Mechanism.profile",
    "verify",
)


def tried(name: str, argument: str, few: int = 6) -> Iterator[Any]:
    """What is given in place of an argument; `make fuzz` tries the rest."""
    listed = random.Random(f"{name} {argument}").sample(JUNK, few) if name.startswith(LONG) else JUNK
    for junk in listed:
        long = isinstance(junk, (int, np.integer)) and junk > 1000
        if not (argument in CALLBACKS and callable(junk)) and not (argument in STEPS and (long or junk is None)):
            yield junk


@contextmanager
def limited(what: str) -> Iterator[None]:
    """Fail where a call does not end in time."""

    def late(*_: object) -> None:
        message = f"{what} did not end within {SECONDS} s"
        raise AssertionError(message)

    before = signal.signal(signal.SIGPROF, late)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def attempt(name: str, argument: str, junk: Any) -> str:
    """Call with junk in place of one argument; fail unless it is refused in a sentence, or a good argument."""
    call, good = CALLS[name]
    what = f"{name}({argument}={show(junk, 60)})"
    try:
        with limited(what), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            call(**{**good, argument: junk})
    except dl.InputError as error:
        assert str(error).isprintable()  # noqa: PT017 - most raise, some are good arguments
        assert len(str(error)) < 5000, what  # noqa: PT017 - the same
        return "refused"
    except AssertionError:
        raise
    except Exception as error:
        message = f"{what}: {type(error).__name__}: {error}"
        raise AssertionError(message) from error
    return "taken"


@pytest.mark.parametrize("name", CALLS)
def test_every_kind_of_wrong_argument_is_an_input_error(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    call, good = CALLS[name]
    for argument in parameters(call, good):
        for junk in tried(name, argument):
            attempt(name, argument, junk)


def test_no_public_function_is_left_out() -> None:
    called = {name.split(" ")[0] for name in CALLS}
    public = {name for name in dl.__all__ if inspect.isfunction(getattr(dl, name))}
    public |= {f"queries.{name}" for name in QUERIES} | {f"mechanisms.{name}" for name in MECHANISMS}
    public |= {f"paper.algorithm_{number}" for number in range(1, 12)}
    assert public - called == set()


def test_masked_entries_are_not_read_as_if_they_were_there() -> None:
    hidden = np.ma.masked_array([[0.5, 0.5]] * 4, [[True, False]] * 4)
    refuses("some entries are masked", dl.Mechanism.from_matrix, hidden, records=[2, 2])
    with pytest.raises(dl.InputError, match="some entries are masked"):
        dl.audit(SMALL, knowledge=0.1, reference=np.ma.masked_array([0.5, 0.5], [True, False]))
    shown = np.ma.masked_array([[0.5, 0.5]] * 4, [[False, False]] * 4)
    assert dl.Mechanism.from_matrix(shown, records=[2, 2]).n_outputs == 2


@pytest.mark.parametrize("epsilon", [Fraction(1, 3), np.float32(0.5), np.int64(1)])
@pytest.mark.parametrize("query", [COUNT, REALS])
def test_a_parameter_of_another_type_is_written_as_a_plain_number(
    query: dl.Query,
    epsilon: Any,
    tmp_path: Path,
) -> None:
    mechanism = dl.mechanisms.geometric(query, epsilon=epsilon)
    mechanism.save(tmp_path / "m.json")
    assert dl.Mechanism.load(tmp_path / "m.json").name == mechanism.name
    if query is COUNT:
        assert dl.audit(mechanism, knowledge=0.1, tolerance=0.1, verify=True).verified


def test_limits_of_a_check_are_numbers() -> None:
    audit = dl.audit(MECHANISM, knowledge=0.3, **QUICK)
    for limits in ({"memory": np.uint64(2**63)}, {"time_limit": math.inf}):
        assert dl.verify(audit, **limits).verified
    for wrong in ({"time_limit": np.array([1.0, 2.0])}, {"time_limit": Decimal("sNaN")}, {"memory": Decimal(1)}):
        refuses("is not a", dl.verify, audit, **wrong)


def test_a_certificate_that_is_not_there_is_an_input_error() -> None:
    refuses("^cannot read nowhere.json: No such file", dl.verify, "nowhere.json")


@pytest.mark.parametrize("junk", ["x.png", 3, [], [None], np.array([1, 2])])
def test_pictures_are_drawn_on_axes_alone(junk: object) -> None:
    audit = dl.audit(MECHANISM, knowledge=0.3, **QUICK)
    for result in (audit, dl.curve(MECHANISM, [0.5], **QUICK), MECHANISM.profile([0.5], **QUICK)):
        refuses("is not matplotlib axes", result.plot, junk)


def test_draws_are_whole_numbers_of_one_dataset() -> None:
    for mechanism in (MECHANISM, LARGE, HISTOGRAM, REAL):
        refuses("size = -1 is too small", mechanism.sample, [0] * mechanism.n, size=-1)
        refuses("give one dataset", mechanism.sample, [[0] * mechanism.n])
    prior = dl.audit(MECHANISM, knowledge=0.3, **QUICK).prior
    refuses("give one dataset", prior.probability, [[0, 0, 0]])


def test_a_frontier_has_a_limit_of_points() -> None:
    refuses("above the limit", dl.frontier, dl.queries.count(n=2), entropy=0.5, points=10**9)


@pytest.mark.parametrize(
    "code",
    [
        "dl.mechanisms.gaussian(dl.queries.count(n=3), sigma=5e-324)",
        "dl.audit(dl.mechanisms.geometric(dl.queries.count(3), epsilon=1), entropy=1, tolerance=1e-299, time_limit=.3)",
        "dl.audit(dl.mechanisms.laplace(dl.queries.count(n=3), epsilon=1e-300), knowledge=5e-324, time_limit=0.3)",
    ],
)
def test_no_warning_reaches_standard_error(code: str) -> None:
    command = [sys.executable, "-W", "always", "-c", f"import dalenius as dl; {code}"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr == ""
