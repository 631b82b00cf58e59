"""Reference priors against enumeration of the datasets, and as users give them."""

import math
from itertools import product

import numpy as np
import pytest
from kinds import Floats
from pandas_like import Categories, Column, Frame
from refusals import refuses

from dalenius.errors import InputError
from dalenius.model import secret as secrets
from dalenius.model.channels.mechanism import Mechanism
from dalenius.model.gallery import mechanisms, queries
from dalenius.model.prior import Prior
from dalenius.model.reference import UNIFORM, Reference
from dalenius.model.secret import Function, Group, Secret
from dalenius.model.statistic import Histogram, Statistic, Sum, Table

CLASSES = np.random.default_rng(1).integers(0, 4, 27)
STATISTICS: list[Statistic] = [
    Sum(3, (0, 1, 5)),
    Sum(3, (0, 1, 1), 2),
    Histogram(3, 3),
    Table((3, 3, 3), CLASSES),
    Table.everything((3, 3, 3)),
]
RHO = np.random.default_rng(2).dirichlet(np.ones(27))
GIVEN = {
    "uniform": None,
    "marginal": [0.7, 0.2, 0.1],
    "marginals": [[0.7, 0.2, 0.1], [0.1, 0.0, 0.9], [0.7, 0.2, 0.1]],
    "weights": RHO.tolist(),
}
SECRETS: list[Secret] = [1, Group((0, 2)), Group((0, 1, 2)), Function(np.arange(27) % 5 % 3, (0, 1, 2))]


def _rho(kind: str) -> Floats:
    laws = {"uniform": [[1 / 3] * 3] * 3, "marginal": [GIVEN["marginal"]] * 3, "marginals": GIVEN["marginals"]}
    if kind == "weights":
        return RHO
    return np.array([math.prod(laws[kind][i][v] for i, v in enumerate(x)) for x in product(range(3), repeat=3)])


def _reference(kind: str) -> Reference:
    return Reference.from_user(GIVEN[kind], (3, 3, 3))


@pytest.mark.parametrize("kind", GIVEN)
@pytest.mark.parametrize("secret", SECRETS, ids=["record", "pair", "all", "function"])
@pytest.mark.parametrize("statistic", STATISTICS, ids=repr)
def test_joint_law_against_enumeration(statistic: Statistic, secret: Secret, kind: str) -> None:
    reference, rho = _reference(kind), _rho(kind)
    a, t = secrets.table(secret, statistic.records), statistic.class_table()
    exact = np.zeros((secrets.size(secret, statistic.records), statistic.size))
    np.add.at(exact, (a, t), rho)
    found = reference.log_joint(statistic, secret)
    np.testing.assert_allclose(np.exp(found), exact, rtol=1e-12, atol=0)
    np.testing.assert_allclose(np.exp(reference.log_classes(statistic)), exact.sum(0), rtol=1e-12)
    np.testing.assert_allclose(np.exp(reference.log_table(statistic.records)), rho, rtol=1e-13)
    np.testing.assert_allclose(reference.log_least(statistic.records), np.log(rho[rho > 0].min()), rtol=1e-13)
    x = (2, 0, 1)
    assert reference.log_probability(x, (3, 3, 3)) == pytest.approx(math.log(rho[19]), rel=1e-13)


@pytest.mark.parametrize("kind", GIVEN)
@pytest.mark.parametrize("secret", SECRETS, ids=["record", "pair", "all", "function"])
def test_a_prior_against_its_weights(secret: Secret, kind: str) -> None:
    reference, rho = _reference(kind), _rho(kind)
    mechanism = mechanisms.geometric(queries.total(n=3, values=[0, 1, 5]), epsilon=1)
    joint = np.exp(reference.log_joint(mechanism.statistic, secret))
    masses = joint * np.random.default_rng(4).random(joint.shape)
    prior = Prior(mechanism, secret, masses / masses.sum(), reference)
    p = prior.weights()
    assert p.sum() == pytest.approx(1, abs=1e-12)
    assert prior.probability((2, 0, 1)) == pytest.approx(p[19], rel=1e-11)
    held = p > 0
    assert prior.entropy() == pytest.approx(-(p[held] * np.log(p[held])).sum(), abs=1e-10)
    assert prior.divergence() == pytest.approx((p[held] * np.log(p[held] / rho[held])).sum(), abs=1e-10)
    z = np.zeros((joint.shape[0], mechanism.rows.shape[1]))
    np.add.at(z, secrets.table(secret, mechanism.records), p[:, None] * mechanism.matrix())
    terms = z * np.log(np.where(z > 0, z / (z.sum(0) * z.sum(1, keepdims=True) + (z == 0)), 1))
    assert prior.leakage() == pytest.approx(terms.sum(), abs=1e-12)
    assert secrets.name(secret) in repr(prior)


def test_large_sums_of_one_law() -> None:
    statistic = Sum(10**6, (0, 1))
    reference = Reference.from_user([0.9, 0.1], statistic.records)
    joint = reference.log_joint(statistic, Group((0, 7)))
    assert joint.shape == (4, 10**6 + 1)
    assert np.logaddexp.reduce(joint, axis=None) == pytest.approx(0, abs=1e-8)
    assert np.logaddexp.reduce(joint[1]) == pytest.approx(math.log(0.09), abs=1e-8)
    assert reference.log_least(statistic.records) == pytest.approx(1e6 * math.log(0.1), rel=1e-14)


def test_orbits_are_split_by_law() -> None:
    count, table = Sum(4, (0, 1)), Table.everything((2, 2))
    split = Reference.from_user([[0.9, 0.1], [0.5, 0.5], [0.9, 0.1], [0.5, 0.5]], count.records)
    assert split.orbits(count) == ((0, 2), (1, 3))
    assert Reference.from_user([0.9, 0.1], count.records).orbits(count) == (range(4),)
    assert UNIFORM.orbits(count) == (range(4),)
    assert Reference.from_user([0.1, 0.2, 0.3, 0.4], (2, 2)).orbits(table) == ((0,), (1,))


def test_what_certificates_say() -> None:
    assert UNIFORM.describe() == {}
    assert Reference.from_user([[0.9, 0.1]] * 3, (2, 2, 2)).describe() == {"marginal": [0.9, 0.1]}
    ragged = Reference.from_user([[0.9, 0.1], [0.2, 0.3, 0.5]], (2, 3))
    assert ragged.describe() == {"marginals": [[0.9, 0.1], [0.2, 0.3, 0.5]]}
    assert Reference.from_user(np.full(6, 1 / 6), (2, 3)).describe() == {"weights": [1 / 6] * 6}
    assert Reference.from_user([[0.9, 0.1]], (2,)).kind == Reference.from_user([0.9, 0.1], (2,)).kind == "marginal"


def test_pandas_columns_are_data() -> None:
    numbers = Column([0, 0, 0, 1]), Column([0.0, 0.0, 0.0, 1.0]), Column([False, False, False, True])
    for data in (*numbers, Categories(["a", "a", "a", "b"])):
        assert Reference.from_user(data, (2, 2)).describe() == {"marginal": [0.75, 0.25]}
    frame = Frame({"a": [0, 1, 1, 1], "b": [2, 0, 0, 1]})
    assert Reference.from_user(frame, (2, 3)).describe() == {"marginals": [[0.25, 0.75], [0.5, 0.25, 0.25]]}


@pytest.mark.parametrize(
    ("value", "records", "says"),
    [
        ([0.9, 0.2], (2, 2), "the law of a record sums to 1.1"),
        ([0.9, -0.1, 0.2], (3,), "holds -0.1 at place 1"),
        ([np.nan, 1.0], (2, 2), "holds nan at place 0"),
        ([[0.9, 0.1], [0.5, 0.6]], (2, 2), "the law of record 1 sums to 1.1"),
        ([[0.9, 0.1]], (2, 2), "1 laws for 2 records"),
        ([[0.9, 0.1], [1.0]], (2, 2), "the law of record 1 has 1 numbers; give 2"),
        ([[0.9, 0.1], 0.5], (2, 2), "the law of record 1 is not a list of numbers"),
        ([0.2] * 5, (2, 2), r"lists 5 numbers; give 2 \(the law of every record\) or 4 \(one weight per dataset"),
        ([0.5, 0.5], (2, 3), "one list per record"),
        ([0.5] * 3, (2,) * 1000, "about 10"),
        ([], (2, 2), "empty"),
        (0.5, (2, 2), "is not a prior"),
        ("uniform", (2, 2), "is not a prior"),
        ({0: 0.5, 1: 0.5}, (2, 2), "is not a prior"),
        (["a", "b"], (2, 2), "not a list of numbers"),
        ([True, False], (2, 2), "not a list of numbers"),
        (np.ones((2, 2, 2)), (2, 2), "not a list of numbers"),
        (np.array(1.0), (2, 2), "lists 1 numbers"),
        (Column([0, 1, 2]), (2, 2), "holds 2; the values of a record are 0 to 1"),
        (Column([0.9, 0.1]), (2, 2), "for probabilities give a list"),
        (Column([0, None, 1]), (2, 2), "misses 1 of 3 values"),
        (Categories(["a", None, "b"]), (2, 2), "misses 1 of 3 values"),
        (Column(["a", "b"]), (2, 2), "astype"),
        (Column([]), (2, 2), "is empty"),
        (Column([0, 1]), (2, 3), "give a frame"),
        (Frame({"a": [0, 1]}), (2, 2), "1 columns for 2 records"),
        (Frame({"a": [0, 1], "b": [0, 5]}), (2, 2), "column 'b' holds 5"),
    ],
)
def test_what_is_no_reference_is_refused_in_a_sentence(value: object, records: tuple[int, ...], says: str) -> None:
    refuses(says, Reference.from_user, value, records)


def test_classes_without_mass_are_named() -> None:
    count = mechanisms.geometric(queries.count(n=3), epsilon=1)
    known = Reference.from_user([[1.0, 0.0], [0.5, 0.5], [0.5, 0.5]], count.records)
    refuses("no mass to datasets with sum 3; give every value a little mass", known.check, count.statistic)
    known.check(mechanisms.symmetric(queries.modular_sum(n=3, modulus=2), flip=0.1).statistic)
    dense = Mechanism.from_matrix(np.full((4, 2), 0.5), [2, 2])
    with pytest.raises(InputError, match="no mass to x = 0,1 and 1 more class"):
        Reference.from_user([0.5, 0.0, 0.0, 0.5], (2, 2)).check(dense.statistic)


def test_pairs_that_would_not_fit_are_refused_before_they_are_built() -> None:
    refuses("32 values and 1000001 classes", UNIFORM.log_joint, Sum(10**6, (0, 1)), Group((0, 1, 2, 3, 4)))
    with pytest.raises(InputError, match="too many to enumerate"):
        Reference.from_user([[0.9, 0.1, 0]] + [[0.5, 0.25, 0.25]] * 29, (3,) * 30).log_joint(Histogram(30, 3), 0)
