"""Joint releases: several mechanisms run independently on the same data, and all outputs are seen."""

import math
from collections.abc import Callable, Sequence
from itertools import groupby, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalenius.auditing.joint_releases import of_all_rates
from dalenius.bounds.capacity import capacity
from dalenius.bounds.closed_forms import blend_of_counts, centre, centre_of_counts
from dalenius.bounds.closing import MANY_TERMS
from dalenius.bounds.output_law import WrittenRows, alternate, knowledge_bound
from dalenius.errors import InputError, refuse, show
from dalenius.model import checks
from dalenius.model.channels.joint import MOST as MOST_RELEASES
from dalenius.model.channels.joint import Adaptive, Joint
from dalenius.model.channels.mechanism import Mechanism
from dalenius.model.channels.noisy_counts import NoisyCounts
from dalenius.model.channels.noisy_sum import NoisySum
from dalenius.model.channels.written import Written
from dalenius.model.counting import log_binomial, log_multinomial
from dalenius.model.query import Query
from dalenius.model.reference import UNIFORM, Reference
from dalenius.model.statistic import MOST_FREE, Histogram, Statistic, Sum, Table
from dalenius.search.deadline import Deadline

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Group = tuple[Mechanism, int]  # a mechanism, and how often it runs

MOST_ENTRIES = 2**22  # rows x outputs of a joint release
# From here on releases of one sum are better audited by their structure than by rows; two releases, whose structure
# loses least, earlier: a verifier of a certificate with half a million numbers takes ten times as long.
FEW_ENTRIES, FEW_OF_TWO = 2**19, 2**17
MOST_CHOICES = 2**17  # outputs after each of which a mechanism is chosen
MOST_PRIVACY = 1.0  # beyond it next to all of a divergence is left
MARGIN = 1e-12  # how far rounding in divergences may reach, relative to 1 + the bound


def compose(*mechanisms: Mechanism, times: int = 1) -> Mechanism:
    """Return several releases about the same data as one mechanism.

    The joint release is q(y_1, y_2, ... | x) = q_1(y_1|x) q_2(y_2|x) ..., exact to rounding. With `times` the outputs
    are the counts of how often each answer came, which leak as much as the answers in their order:
    q(c|x) = k! prod_y q(y|x)^c_y / c_y!. Releases of one sum that are too many for a table, with geometric and Laplace
    noise or with Gaussian noise, are never written out: any number of records may be audited.

    Releases are independent: each draws noise of its own. Releases that share noise are not a composition of these, nor
    is a second look at an output that was published already.

    Args:
        mechanisms: what is released, over the same records. One mechanism, once, is that mechanism.
        times: how often one mechanism runs.

    Returns:
        A Mechanism whose outputs are tuples, the first mechanism slowest; or with `times` counts.

    Raises:
        InputError: the mechanisms are over different records, have no rows, or the joint channel would not fit.

    Example:
        >>> count = dl.mechanisms.geometric(dl.queries.count(n=4), epsilon=1)
        >>> dl.compose(count, times=5).n_outputs
        126
    """
    check_parts(mechanisms)
    often = checks.whole("times", times)
    if often > 1 and len(mechanisms) > 1:
        refuse(f"times = {often} repeats one mechanism; {len(mechanisms)} were given: compose them first")
    if often == len(mechanisms) == 1:
        return mechanisms[0]
    if (structured := by_structure([(m, often) for m in mechanisms])) is not None:
        return structured
    parts = [_written(m) for m in mechanisms]
    rows, columns, entries = joint_size([(m, often) for m in parts])
    if entries > MOST_ENTRIES:
        size = "more than 2^64" if columns == math.inf else columns
        refuse(
            f"the joint release would have {rows} rows x {size} outputs, above the limit of {MOST_ENTRIES} entries; "
            "compose fewer releases, use times= where one mechanism is repeated, or keep a dl.Ledger, which bounds "
            "what does not fit"
        )
    return _repeated(parts[0], often) if often > 1 else _product(parts)


def adaptive(first: Mechanism, choose: Callable[[Any], Mechanism]) -> Mechanism:
    """Return the joint release in which choose(y), a mechanism over the same records, runs after output y of `first`.

    q(y, y' | x) = q_1(y|x) q_y(y'|x) for q_y = choose(y). An audit of it bounds what someone learns who sees both
    outputs and knows the rule. Where that is too large for a table, and all are releases of one sum with geometric or
    Laplace noise, or all with Gaussian noise, it is bounded by releases with the least and the most noise that may be
    chosen, at any number of records.

    Args:
        first: the first release.
        choose: a function from an output to the mechanism that follows. It is called once with the label of every
            output; the mechanisms that it returns may have different outputs.

    Returns:
        A Mechanism whose outputs are pairs (y, y'), the first slowest.

    Raises:
        InputError: `choose` returns something else, or the joint channel would not fit.

    Example:
        >>> query = dl.queries.count(n=4)
        >>> first = dl.mechanisms.geometric(query, epsilon=0.3)
        >>> dl.adaptive(first, lambda y: dl.mechanisms.geometric(query, epsilon=1 if y == 0 else 0.2)).n_outputs
        25
    """
    check_parts([first], "adaptive")
    if not callable(choose):
        refuse(f"choose = {show(choose)} must be a function that takes an output and returns a Mechanism")
    known: NoisySum | Written = first.as_sum or _written(first)
    if known.n_outputs > MOST_CHOICES:
        refuse(f"choose would be called for {known.n_outputs:.6g} outputs, above the limit of {MOST_CHOICES}")
    chosen = [_chosen(checks.called(choose, label, "choose"), label, first) for label in known.labels]
    if first.statistic.size * sum(m.n_outputs for m in chosen) > FEW_OF_TWO:
        runs = _runs(chosen)
        structured = compose(first, chosen[0]) if len(runs) == 1 else Adaptive.choosing(first, runs)
        if structured is not None:
            return structured
    start, then = _written(first), [_written(m) for m in chosen]
    statistic = carrier([start, *then])
    entries = statistic.size * sum(m.n_outputs for m in then)
    if entries > MOST_ENTRIES:
        refuse(
            f"the joint release would have {statistic.size} rows x {entries // statistic.size} outputs, above the "
            f"limit of {MOST_ENTRIES} entries; choose mechanisms of fewer outputs, bin those of the first "
            "(mechanism.then), or take noise of one kind on one sum for all of them, geometric and Laplace or Gaussian "
            "and discrete Gaussian, for which no table is needed"
        )
    told = start.rows[_classes(statistic, start.statistic)]
    rows = [told[:, [y]] * m.rows[_classes(statistic, m.statistic)] for y, m in enumerate(then)]
    labels = tuple((y, z) for y, m in zip(start.labels, then, strict=True) for z in m.labels)
    return Written(statistic, np.concatenate(rows, axis=1), labels, _common_query([start, *then]))


def _runs(chosen: Sequence[Mechanism]) -> list[tuple[int, Mechanism]]:
    """How many outputs in a row have the same choice, by its name and that of the query it is about."""
    runs = [list(run) for _, run in groupby(chosen, key=lambda mechanism: (mechanism.name, str(mechanism.query)))]
    return [(len(run), run[0]) for run in runs]


def _chosen(mechanism: object, label: object, first: Mechanism) -> Mechanism:
    """What choose(label) returned, or a refusal."""
    if not isinstance(mechanism, Mechanism):
        refuse(f"choose({label!r}) is a {type(mechanism).__name__}; it must return a Mechanism over the same records")
    if mechanism.records != first.records:
        refuse(
            f"choose({label!r}) is over {records_text(mechanism.records)}, the first mechanism over "
            f"{records_text(first.records)}; joint releases are about the same data"
        )
    return mechanism


def _written(mechanism: Mechanism) -> Written:
    """The mechanism with its rows; a refusal also names what does without them."""
    try:
        return mechanism.written()
    except InputError as error:
        refuse(f"{error}; or keep a dl.Ledger, which bounds what does not fit", error)


def by_structure(groups: Sequence[Group]) -> Joint | None:
    """Return the joint release by its structure, where it is of one sum and too large to be audited by its rows."""
    if sum(often for _, often in groups) > MOST_RELEASES:
        return None
    found = Joint.of(tuple(mechanism for mechanism, often in groups for _ in range(often)))
    if found is None:
        return None
    written = all(mechanism.has_rows for mechanism, _ in groups)
    few = FEW_OF_TWO if len(found.parts) == 2 else FEW_ENTRIES
    return None if written and joint_size(groups)[2] <= few else found


def joint(groups: Sequence[Group]) -> Mechanism:
    """Return the joint release of mechanisms, each run as often as its number says; repeated ones go through counts."""
    if sum(often for _, often in groups) > 1 and (structured := by_structure(groups)) is not None:
        return structured
    return compose(*(compose(mechanism, times=often) for mechanism, often in groups))


def stronger(groups: Sequence[Group]) -> list[Group] | None:
    """Releases that tell no less: those of one sum with geometric or Laplace noise as one of all rates together.

    That is the cone of docs/mathematics.md 4.14. None where no two are of one sum, or the sum has too many values.
    """
    falling: dict[str, tuple[Query, list[float]]] = {}
    others: list[Group] = []
    for mechanism, often in groups:
        whole = mechanism.as_joint or Joint.of((mechanism, mechanism))
        if whole is None or not whole.rates:
            others.append((mechanism, often))
        else:
            rates = whole.rates if mechanism.as_joint else whole.rates[:1]
            falling.setdefault(str(whole.query), (whole.query, []))[1].extend(rates * often)
    if all(len(rates) == 1 for _, rates in falling.values()):
        return None
    return [*others, *((of_all_rates(query, rates).channel, 1) for query, rates in falling.values())]


def joint_size(groups: Sequence[Group], largest: int = 2**64) -> tuple[int, float, float]:
    """Return rows, outputs and entries of a joint release before it is built; outputs beyond `largest` are infinite.

    Entries are rows x outputs, or the numbers in the labels where counts of outputs are longer than columns.
    """
    rows = carrier([mechanism for mechanism, _ in groups]).size
    columns: float = 1
    for mechanism, often in groups:
        columns *= _outputs(mechanism.n_outputs, often)
        columns = columns if columns <= largest else math.inf
    longest = max(mechanism.n_outputs if often > 1 else 1 for mechanism, often in groups)
    return rows, columns, columns * max(rows, longest)


def _outputs(labels: float, often: int) -> float:
    """How many counts of outputs there are, or outputs of a single run."""
    if often == 1:
        return labels
    few = min(often, labels - 1) <= MOST_FREE and labels < math.inf
    return math.comb(often + int(labels) - 1, often) if few else math.inf


def check_parts(mechanisms: Sequence[Mechanism], what: str = "compose") -> None:
    """Refuse what is not a mechanism, and mechanisms over different data."""
    if not mechanisms:
        refuse(f"{what} needs one mechanism or more")
    for i, mechanism in enumerate(mechanisms):
        if not isinstance(mechanism, Mechanism):
            refuse(f"mechanism {i} is a {type(mechanism).__name__}; see dl.mechanisms or dl.Mechanism.from_matrix")
        if mechanism.records != mechanisms[0].records:
            refuse(
                f"mechanism {i} is over {records_text(mechanism.records)}, mechanism 0 over "
                f"{records_text(mechanisms[0].records)}; joint releases are about the same data"
            )


def records_text(records: Sequence[int]) -> str:
    """Return the records in a few words."""
    sizes = sorted(set(records))
    return f"{len(records)} record{'s' * (len(records) > 1)} of {' or '.join(map(str, sizes))} values"


def carrier(mechanisms: Sequence[Mechanism]) -> Statistic:
    """Return a partition on whose classes every one of these mechanisms is constant, small and easily described.

    The same statistic is kept; a sum only together with the query that names it. Otherwise interchangeable records
    are carried by their counts, and anything else by the table of pairs of classes. Rows that are equal after all
    cost nothing later: audits lump them.
    """
    statistics = [m.statistic for m in mechanisms]
    first, query = statistics[0], _common_query(mechanisms)
    named = len(mechanisms) == 1 or not isinstance(first, Sum) or (query is not None and query.statistic == first)
    if named and all(_equal(first, other) for other in statistics[1:]):
        return first
    if all(isinstance(s, (Sum, Histogram)) for s in statistics):
        return Histogram(len(first.records), first.records[0])
    return _pairs(statistics)


def _pairs(statistics: Sequence[Statistic]) -> Table:
    """The classes of all statistics as one, numbered by their first dataset."""
    classes = statistics[0].class_table()
    for statistic in statistics[1:]:
        both = classes * statistic.size + statistic.class_table()
        _, first, inverse = np.unique(both, return_index=True, return_inverse=True)
        classes = np.argsort(np.argsort(first))[inverse.ravel()]
    return Table(statistics[0].records, classes)


def _equal(one: Statistic, other: Statistic) -> bool:
    if isinstance(one, Table) and isinstance(other, Table):
        return one is other or np.array_equal(one.classes, other.classes)
    return one == other


def _classes(fine: Statistic, coarse: Statistic) -> Ints | slice:
    """Return the class under `coarse` of every class of a statistic that carries it."""
    if _equal(fine, coarse):
        return slice(None)
    if isinstance(fine, Table):
        found = np.empty(fine.size, dtype=np.int64)
        found[fine.classes] = coarse.class_table()
        return found
    if isinstance(fine, Histogram) and isinstance(coarse, Sum):
        return coarse.class_of_sum(fine.counts @ np.asarray(coarse.contributions))
    message = f"{fine!r} does not carry {coarse!r}"
    raise AssertionError(message)


def _product(mechanisms: Sequence[Written]) -> Written:
    statistic = carrier(mechanisms)
    rows = np.ones((statistic.size, 1))
    for m in mechanisms:
        rows = (rows[:, :, None] * m.rows[_classes(statistic, m.statistic)][:, None, :]).reshape(len(rows), -1)
    return Written(statistic, rows, tuple(product(*(m.labels for m in mechanisms))), _common_query(mechanisms))


def _common_query(mechanisms: Sequence[Mechanism]) -> Query | None:
    """Return the query that all parts answer, None where they answer different ones."""
    query = mechanisms[0].query
    same = query is not None and all(
        m.query is query or (m.query is not None and m.query.named and query.named and str(m.query) == str(query))
        for m in mechanisms[1:]
    )
    return query if same else None


def _repeated(mechanism: Written, often: int) -> Written:
    """log q(c|x) = log( k! / prod_y c_y! ) + sum_y c_y log q(y|x); equal rows stay equal, being computed once."""
    q, group = np.unique(mechanism.rows, axis=0, return_inverse=True)
    counts = Histogram(often, q.shape[1]).counts
    # Binomial coefficients have a form that is accurate at every size: log_binomial is that of two halves, 2^-k C(k,c).
    pair = q.shape[1] == 2  # two outputs
    ways = log_binomial(often)[counts[:, 0]] if pair else log_multinomial(counts)
    log_q = np.log(np.where(q > 0, q * (2 if pair else 1), 1.0))
    rows = np.exp(ways + log_q @ counts.T)
    rows[(q == 0).astype(float) @ (counts.T > 0) > 0] = 0.0
    rows /= rows.sum(axis=1, keepdims=True)
    return Written(mechanism.statistic, rows[group.ravel()], tuple(map(tuple, counts.tolist())), mechanism.query)


def contracted(mechanisms: Sequence[Mechanism], knowledge: float, reference: Reference) -> float:
    """Guarantee: result >= what releases of any statistics of the counts of values leak together about a record.

    They are C-private together, C the sum, and leave a share of a divergence from independent records (docs/proofs/
    product-laws.md, 7). Infinite where records are not interchangeable, or noise is too narrow to say anything.
    """
    alike = all(isinstance(m.statistic, (Sum, Histogram)) for m in mechanisms) and reference.kind in (None, "marginal")
    if not alike or not 0 < knowledge < math.inf:
        return math.inf
    try:
        c = math.fsum(m.dp_epsilon() for m in mechanisms) * (1 + MARGIN)
    except InputError:
        return math.inf
    if not 0 < c < MOST_PRIVACY:
        return math.inf
    n, k = len(mechanisms[0].records), mechanisms[0].records[0]
    theta = n * (math.sinh(c) * c / -math.expm1(-c)) ** 2 / (4 if k == 2 else 1)
    law = np.exp(reference.log_law_of(0, k))
    upper = blend_of_counts(n, knowledge, law[law > 0], theta / (1 + theta) * (1 + MARGIN)).upper
    return upper + MANY_TERMS


def information_bound(  # noqa: PLR0911 - one for each kind of mechanism
    mechanism: Mechanism,
    knowledge: float,
    deadline: Deadline,
    reference: Reference = UNIFORM,
    rounding: float = 2e-15,
) -> float:
    """Guarantee: result >= I(X;Y) in nats for every prior p with D(p || reference) <= knowledge.

    The smaller of the channel's capacity and of a dual bound. For every output law r and s > 0, with
    D_x = D( q(.|x) || r ) and rho the reference,

        I(X;Y) <= sum_x p(x) D_x <= s log( sum_x rho(x) exp(D_x / s) ) + s knowledge.

    The first, because another law than the true one of Y only adds their divergence; the second is Gibbs'
    variational inequality. Every r and s give a bound; the alternating iteration chooses them. Where it is tight, it
    is the capacity over priors of this knowledge. Rounding is paid for by a little more knowledge and
    a margin; log reference masses are good to `rounding` times 10 + log(1/rho_min). Where the channel is never
    written out, the same dual bound is taken by convolution at a few laws r, or of a noisy histogram at noise around
    the mean counts.
    """
    known = knowledge * (1 + rounding) + rounding * (10 - reference.log_least(mechanism.records))
    if mechanism.has_rows:
        return _dual_bound(mechanism, known, deadline, reference)
    if (parts := mechanism.as_joint) is not None:
        # Given the data outputs are independent: what each tells adds up.
        bounds = {part: information_bound(part, knowledge, deadline, reference, rounding) for part in set(parts.parts)}
        return math.fsum(bounds[part] for part in parts.parts)
    if (real := mechanism.as_real) is not None and NoisySum.fits(real.query):
        # How far rows are from noise around the mean, which is that of real noise.
        most = centre(NoisySum(real.query, real.name, real.noise), known, reference)
        return most + MARGIN * (1 + most)
    if (noisy := mechanism.as_sum) is not None:
        return knowledge_bound(noisy, known, deadline, reference=reference)
    if (counts := mechanism.as_counts) is not None:
        return _around_the_mean(counts, known, reference)
    if (records := mechanism.as_records) is not None:
        # Channels side by side: the capacity of one, n times.
        return records.n * capacity(records.look_at((0,), 0), deadline).upper
    if (symmetric := mechanism.as_symmetric) is not None:
        return symmetric.capacity() + MARGIN * (1 + symmetric.capacity())
    return _dual_bound(mechanism, known, deadline, reference)


def _around_the_mean(mechanism: NoisyCounts, known: float, reference: Reference) -> float:
    """The dual bound at noise around the mean counts; where records have different laws, the maximal leakage."""
    if len(reference.laws) > 1:
        most = mechanism.log_most_likely()
        return most + MARGIN * (1 + most)
    most = centre_of_counts(mechanism, known, np.exp(reference.log_law_of(0, mechanism.k)))
    return most + MARGIN * (1 + most)


def _dual_bound(mechanism: Mechanism, known: float, deadline: Deadline, reference: Reference) -> float:
    """The smaller of the capacity and of the dual bound, of a channel that is written out."""
    rows, log_rho = mechanism.written().rows, reference.log_classes(mechanism.statistic)
    whole, held = capacity(mechanism, deadline), np.isfinite(log_rho)
    tilted = alternate(WrittenRows.of(rows[held]), log_rho[held], known, deadline, rounds=3000, still=1e-11).bound
    return min(whole.upper, max(0.0, tilted) + MARGIN * (1 + whole.upper))
