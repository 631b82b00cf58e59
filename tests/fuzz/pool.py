"""Real certificates of every kind, small enough to be checked thousands of times, and the truth about them."""

import json
import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import large_samples
from cases import LN2, named, random_channel
from kinds import Json

import dalenius as dl
from dalenius.auditing.real_records import RealRecordSearch
from dalenius.bounds.bellman import BellmanSearch
from dalenius.bounds.counted import CountedSearch
from dalenius.bounds.decoys.programme import DecoySearch
from dalenius.bounds.moved_counts import MovedSearch
from dalenius.bounds.trees.posteriors import PosteriorSearch
from dalenius.bounds.trees.rows import RowSearch
from dalenius.bounds.trees.window import WindowSearch
from dalenius.bounds.unwritten_rows import PointRows
from dalenius.model.channels.joint import Adaptive, Joint
from dalenius.search.tied import TiedSearch
from dalenius.settings import DEFAULT, Limits, only, without

# Histograms at one multiplier, so that it takes no time; and through one noisy count only.
TILTS = CountedSearch(s=(1.15,), rounds=3, upper_rounds=1, most_contraction=0.0)
COUNTED = dl.Settings(parts=(TILTS,))
CUT = dl.Settings(parts=(replace(TILTS, few=1, rare=(1e-3,)),))
SLOPE = dl.Settings(parts=(replace(TILTS, s=(), most_contraction=1.0, slope_rounds=4),))
# No table is small enough.
NO_TABLE = CountedSearch(few=0, outputs=0)
UNCOUNTED = dl.Settings(parts=(NO_TABLE,))
MOVED = dl.Settings(
    parts=(
        MovedSearch(steps=60, own=3, others=2),
        NO_TABLE,
        TiedSearch(rounds=1, few_rounds=8, spreads=6, least=5),
    )
)
# Few outputs count as too many, so that a window of them is taken.
WINDOW = dl.Settings(
    portfolio=replace(DEFAULT.portfolio, opening=("window",)),
    parts=(WindowSearch(spreads=(2.2,), rest=(0.04,)), PointRows(rows=20)),
)
ONE_COUNT = dl.Settings(parts=(TiedSearch(rounds=0), MovedSearch(room=0), NO_TABLE))
# Every value tied to its own count, and the others left as they are.
TIED = dl.Settings(parts=(MovedSearch(room=0), NO_TABLE))
# Noisy sums by formula: a window of so few classes, or chains on so few answers, would take the place of every formula.
NO_ROWS = dl.Settings(portfolio=without("window", "monotone"))
# What is known of the truth: ascents find the best prior long before a tree shows that it is.
SHARP: Json = {"tolerance": 1e-4, "time_limit": 0.1}
# Local randomisers by formula, and on few nodes, so that a check takes no time.
BY_FORMULA = dl.Settings(parts=(BellmanSearch(records=0),))
FEW_NODES = dl.Settings(parts=(BellmanSearch(nodes=40),))


@dataclass(frozen=True)
class Sample:
    """A certificate as data, and the tightest bracket known of what it is about."""

    data: Json
    lower: float
    upper: float


def audited(
    build: Callable[[], dl.Mechanism], kind: str = "", tolerance: float = 1e-3, limit: float = 0.5, **options: Json
) -> Sample:
    mechanism = build()
    if not kind:
        audit = best = dl.audit(mechanism, **options, tolerance=tolerance, time_limit=limit)
    else:
        # Grid rows are for very many cells: all problems count as such.
        limits = Limits(many_cells=1) if "grid" in kind else Limits()
        alone = dl.Settings(portfolio=only(*kind.split()), limits=limits, parts=(RowSearch(values=2),))
        audit = dl.audit(mechanism, **options, tolerance=tolerance, time_limit=limit, settings=alone)
        best = dl.audit(mechanism, **options, **SHARP)
    data = json.loads(audit.certificate.text())
    return Sample(data, max(audit.lower, best.lower), min(audit.upper, best.upper))


def reshaped(sample: Sample, kind: str, upper: float, **fields: Json) -> Sample:
    """The same question, answered by a cruder proof."""
    proofs = [{**p, "kind": kind, "upper": upper, **fields} for p in sample.data["proofs"]]
    proofs = [{k: v for k, v in p.items() if k not in ("tree", "audit", "cells", "steps")} for p in proofs]
    return Sample({**sample.data, "upper": upper, "proofs": proofs}, sample.lower, sample.upper)


def designed_beside() -> Sample:
    """A design beside an earlier release."""
    book = dl.Ledger(dl.queries.count(n=2), knowledge=0.5, budget=0.15, tolerance=1e-3)
    book.release(dl.Mechanism.from_matrix([[0.5, 0.5], [0.7, 0.3], [0.4, 0.6], [0.6, 0.4]], records=[2, 2]))
    design = book.design(dl.queries.count(n=2), tolerance=1e-2, time_limit=3)
    return Sample(json.loads(design.certificate.text()), design.lower, design.upper)


def designed(**options: Json) -> Sample:
    design = dl.design(dl.queries.count(n=2), **options, tolerance=1e-3, time_limit=3)
    return Sample(json.loads(design.certificate.text()), design.lower, design.upper)


def designed_in_blocks() -> Sample:
    """A design in three blocks of a count of eight; the truth is about all mechanisms with its three outputs."""
    three = dl.Settings(parts=(DecoySearch(changes=0, blocks=3),), limits=Limits(design_pairs=10))
    design = dl.design(dl.queries.count(n=8), leakage=0.05, knowledge=0.1, settings=three)
    data = json.loads(design.certificate.text())
    outputs = data["problem"]["outputs"]
    best = dl.design(design.query, leakage=0.05, knowledge=0.1, outputs=outputs, tolerance=1e-2, time_limit=10)
    return Sample(data, best.lower, design.upper)


def decoy() -> Sample:
    """Truth or decoy, as it is on record: only designs find it."""
    data = json.loads((Path(__file__).parents[1] / "golden/decoy.json").read_text())
    mechanism = dl.Mechanism.from_rows(dl.queries.count(n=6), data["problem"]["rows"])
    best = dl.audit(mechanism, **data["adversary"], **SHARP)
    return Sample(data, max(data["lower"], best.lower), min(data["upper"], best.upper))


def saved(build: Callable[[], dl.Mechanism], **options: Json) -> Sample:
    """A whole saved audit, which carries its certificate."""
    audit = dl.audit(build(), **options, tolerance=1e-3, time_limit=2)
    with TemporaryDirectory() as folder:
        audit.save(path := Path(folder) / "audit.json")
        return Sample(json.loads(path.read_text()), audit.lower, audit.upper)


def continuous(mechanism: str, n: int = 2, cells: int = 4, **options: Json) -> Sample:
    """Real-valued records on a coarse grid, and what a finer one says of them."""
    build = named(f"real_sum(n={n}, low=0, high=1)", mechanism)
    coarse = dl.audit(build, **options, tolerance=1e-9, settings=dl.Settings(parts=(RealRecordSearch(cells=(cells,)),)))
    best = dl.audit(build, **options, tolerance=3e-2, time_limit=1)
    data = json.loads(coarse.certificate.text())
    return Sample(data, max(coarse.lower, best.lower), min(coarse.upper, best.upper))


def parity() -> dl.Mechanism:
    return named("modular_sum(n=2, modulus=2)", "symmetric(flip=0.1)")


def count() -> dl.Mechanism:
    return named("count(n=3)", "geometric(epsilon=1)")


def small() -> dl.Mechanism:
    return random_channel([2, 2], 3, 5)


def two_outputs() -> dl.Mechanism:
    return random_channel([2, 2], 2, 7)


def sampled(**options: Json) -> Sample:
    """A noisy count known by samples, outputs beyond its range among them; nothing is true of it from below."""
    query = dl.queries.count(n=2)
    noisy = dl.mechanisms.geometric(query, epsilon=1, clamp=False)
    known = dl.Mechanism.from_samples(lambda x, size: noisy.sample(x, size, rng=int(sum(x))), query, 0.9, draws=2000)
    found, above = audited(lambda: known, **options), dl.audit(known.above, **options, **SHARP)
    return Sample(found.data, above.lower, 0.0)


def unwritten(mechanism: str, query: str = "count(n=12)", **options: Json) -> Sample:
    """A noisy sum that is never written out; what is true of it is known from the same channel with its rows."""
    # A window of so few classes is all of them, and its tree would take the place of every other proof.
    formulas = dl.Settings(portfolio=without("window"))
    return beside(*large_samples.both(mechanism, query), **{"settings": formulas, **options})


def unlisted(mechanism: str, **options: Json) -> Sample:
    """The same of a histogram with noise on every count."""
    return beside(*large_samples.both_histograms(mechanism, "histogram(n=4, k=3)"), **options)


def local(mechanism: str, query: str, **options: Json) -> Sample:
    """Records that each have their own channel; what is true of them is known from the same release with its rows."""
    return beside(*large_samples.both_local(mechanism, query), **options)


def symmetric(mechanism: str, query: str, **options: Json) -> Sample:
    """One record through a symmetric channel that is never written out, and the same channel with its rows."""
    return beside(*large_samples.both_symmetric(mechanism, query), **options)


def released(*mechanisms: str, **options: Json) -> Sample:
    """Several releases of one count that are never written out, and the same joint release with its rows."""
    parts = tuple(named("count(n=4)", mechanism) for mechanism in mechanisms)
    joint, dense = Joint.of(parts), dl.compose(*parts)
    assert joint is not None
    assert dense.has_rows
    return beside(joint, dense, **options)


def chosen(first: str, low: str, high: str, **options: Json) -> Sample:
    """A second release of one count chosen by the output of the first, and the same with its rows."""
    start, weak, strong = (named("count(n=4)", mechanism) for mechanism in (first, low, high))
    structure = Adaptive.choosing(start, [(2, weak), (3, strong)])
    assert structure is not None
    return beside(structure, dl.adaptive(start, lambda y: weak if y < 2 else strong), **options)


def beside(large: dl.Mechanism, dense: dl.Mechanism, **options: Json) -> Sample:
    found = audited(lambda: large, **options)
    # Settings are for the certificate; what is true is to be known as well as can be.
    best = dl.audit(dense, **{key: x for key, x in options.items() if key != "settings"}, **SHARP)
    return Sample(found.data, best.lower, best.upper)


def near_mean(**options: Json) -> Sample:
    """A blend over classes near the mean of very many people; chains know better what is true."""
    mechanism = named("count(n=4500)", "geometric(epsilon=0.02)")
    return beside(mechanism, mechanism, **options, settings=NO_ROWS)


@cache
def samples() -> dict[str, Sample]:
    """All of them, by name; built once."""
    middle = {"entropy": 1.2 * LN2}
    free = audited(small, knowledge=2.0)
    little = audited(count, knowledge=0.1)
    large = unwritten("geometric(epsilon=0.7)", knowledge=0.2)
    tied = unlisted("geometric(epsilon=1)", knowledge=0.2, settings=TIED)
    response = local("randomized_response(epsilon=1)", "count(n=5)", knowledge=0.3, settings=BY_FORMULA)
    flipped = symmetric("symmetric(flip=0.2)", "identity(k=4)", knowledge=0.3)
    bins = continuous("laplace(epsilon=1)", knowledge=0.1, secret={"record": 1, "edges": [0.5]})
    stepped = continuous("geometric(epsilon=1, step=0.5)", knowledge=0.1)
    return {
        "choices": free,
        "reference": audited(small, knowledge=0.0),
        "convex": audited(count, "convex", entropy=1.4),
        "groups": audited(
            lambda: named("count(n=8)", "geometric(epsilon=0.5)"),
            settings=dl.Settings(
                portfolio=only("posteriors"), parts=(PosteriorSearch(ungrouped_outputs=1, grouped_share=0.9),)
            ),
            tolerance=2e-2,
            limit=20,
            knowledge=0.4,
        ),
        "simplices": audited(parity, "simplices", **middle),
        "posteriors": audited(parity, "posteriors", **middle),
        "ratios": audited(lambda: random_channel([3, 2], 2, 42), "posteriors", entropy=1.25, tolerance=3e-3),
        "rows": audited(count, "rows", entropy=1.7),
        "monotone": audited(count, "monotone", entropy=1.7),
        "monotone numbers": audited(two_outputs, "monotone", knowledge=0.3),
        "monotone runs": audited(
            lambda: dl.compose(named("count(n=2)", "geometric(epsilon=1)"), times=2), "monotone", knowledge=0.3
        ),
        "window": audited(
            lambda: named("count(n=20)", "geometric(epsilon=1)"),
            tolerance=0.008,
            limit=60,
            knowledge=0.7,
            settings=WINDOW,
        ),
        "beside": audited(
            lambda: dl.compose(
                named("count(n=2)", "geometric(epsilon=1)"), named("count(n=2)", "randomized_response(epsilon=1)")
            ),
            "beside",
            knowledge=0.3,
        ),
        "decoy": decoy(),
        "grid": audited(small, "grid", tolerance=5e-2, limit=20, knowledge=0.3),
        "rows on a grid": audited(small, "grid rows", tolerance=5e-2, limit=20, knowledge=0.3),
        "monotone points": unwritten("geometric(epsilon=0.3)", knowledge=0.2),
        "two records": audited(lambda: random_channel([2, 3], 3, 1), "convex", entropy=1.523),
        "trivial": reshaped(free, "trivial", 0.7),
        "plain": reshaped(little, "trivial", 0.7),
        "group": audited(small, knowledge=0.3, secret=[0, 1]),
        "function": audited(small, knowledge=0.3, secret=lambda x: x[0] ^ x[1]),
        "marginal": audited(count, knowledge=0.3, reference=[0.8, 0.2]),
        "marginals": audited(small, knowledge=0.2, reference=[[0.8, 0.2], [0.3, 0.7]]),
        "weights": audited(small, knowledge=0.2, reference=[0.1, 0.2, 0.3, 0.4]),
        "real": audited(lambda: named("count(n=2)", "laplace(epsilon=1, output='real')"), entropy=0.5),
        "large": large,
        "large, trivial": reshaped(large, "trivial", 0.7),
        "large, nothing known": unwritten("gaussian(sigma=2)", knowledge=0.0),
        "large, sibson": unwritten("gaussian(sigma=0.3)", knowledge=0.05, settings=NO_ROWS),
        "large, reference": unwritten("geometric(epsilon=0.7)", knowledge=0.2, reference=[0.8, 0.2]),
        "blend": unwritten("gaussian(sigma=2)", knowledge=0.01, settings=NO_ROWS),
        "blend, near the mean": near_mean(knowledge=0.2),
        "blend, near a rare mean": near_mean(knowledge=0.2, reference=[0.8, 0.2]),
        "law": unwritten("geometric(epsilon=0.1)", knowledge=20.0),
        "law at bounded knowledge": unwritten("gaussian(sigma=12)", knowledge=3.0),
        "releases": released("geometric(epsilon=0.6)", "geometric(epsilon=0.3)", knowledge=0.5),
        "releases, cone": released("geometric(epsilon=0.6)", "geometric(epsilon=0.3)", knowledge=0.0),
        "releases, chosen": chosen(
            "geometric(epsilon=0.6)", "geometric(epsilon=0.2)", "geometric(epsilon=0.5)", knowledge=0.3
        ),
        "releases, chosen, mean": chosen(
            "gaussian(sigma=2.5)", "gaussian(sigma=3)", "discrete_gaussian(sigma=2)", knowledge=0.3
        ),
        "releases, mean": released(
            "gaussian(sigma=2.5)",
            "discrete_gaussian(sigma=3)",
            knowledge=0.5,
            settings=dl.Settings(portfolio=without("monotone", "window")),
        ),
        "histogram": unlisted("geometric(epsilon=1)", knowledge=0.2, settings=ONE_COUNT),
        "counted": audited(
            lambda: named("histogram(n=14, k=4)", "geometric(epsilon=1)"), knowledge=0.05, settings=COUNTED
        ),
        "counted, cut": audited(
            lambda: named("histogram(n=14, k=4)", "geometric(epsilon=1)"), limit=30, knowledge=0.05, settings=CUT
        ),
        "counted, slope": audited(
            lambda: named("histogram(n=14, k=4)", "geometric(epsilon=1)"), knowledge=0.05, settings=SLOPE
        ),
        "counted, law": unlisted("laplace(epsilon=2)", knowledge=0.2, reference=[0.5, 0.3, 0.2]),
        "moved": audited(
            lambda: named("histogram(n=60, k=8)", "laplace(epsilon=1)"),
            knowledge=0.5,
            settings=MOVED,
            tolerance=0.1,
            limit=60,
        ),
        "tied": tied,
        "histogram, trivial": reshaped(tied, "trivial", 1.1),
        "histogram, reference": unlisted(
            "laplace(epsilon=2)", knowledge=0.2, reference=[0.5, 0.3, 0.2], settings=UNCOUNTED
        ),
        "histogram, attributes": beside(
            *large_samples.both_histograms("geometric(epsilon=1)", "table(n=2, shape=[2, 2])"),
            knowledge=0.2,
            secret=["0.1"],
        ),
        "power": unwritten("gaussian(sigma=3)", knowledge=0.6, settings=NO_ROWS),
        "local": response,
        "local, trivial": reshaped(response, "trivial", 0.7),
        "local, nothing known": local("randomized_response(epsilon=1)", "count(n=5)", knowledge=0.0),
        "local, bellman": audited(
            lambda: large_samples.both_local("randomized_response(epsilon=1)", "count(n=4)")[0],
            limit=30,
            knowledge=0.5,
            settings=FEW_NODES,
        ),
        "local, looks": local("randomized_response(epsilon=1)", "count(n=5)", knowledge=9.0),
        "local, values": local("randomized_response(epsilon=1)", "histogram(n=4, k=3)", knowledge=0.3),
        "local, reference": local(
            "randomized_response(epsilon=1)", "count(n=5)", knowledge=0.2, reference=[0.8, 0.2], settings=BY_FORMULA
        ),
        "local, bits": local("unary_encoding(epsilon=1)", "histogram(n=3, k=2)", knowledge=0.2),
        "local, attributes": beside(
            *large_samples.both_local("randomized_response(epsilon=1)", "table(n=2, shape=[2, 2])", named=True),
            knowledge=0.2,
            secret=["0.1"],
        ),
        "symmetric": flipped,
        "symmetric, trivial": reshaped(flipped, "trivial", 1.4),
        "symmetric, response": symmetric("randomized_response(epsilon=1)", "identity(k=3)", entropy=0.0, secret=0),
        "design": designed(distortion=0.3, entropy=0.5),
        "dual design": designed(leakage=0.1, entropy=0.5),
        "design, private": designed(leakage=0.3, entropy=0.5, max_epsilon=1.5),
        "design, floor": designed(leakage=0.3, entropy=0.5, floor=0.05),
        "design, unbiased": designed(distortion=0.7, knowledge=0.2, unbiased=True, within=2, outputs=[-1, 0, 1, 2, 3]),
        "design, zeros": designed(distortion=0.4, knowledge=0.2, keep_zero=True, within=1),
        "design, independent": designed(leakage=0.1, adversary="independent"),
        "design beside": designed_beside(),
        "design, in blocks": designed_in_blocks(),
        "independent": audited(small, adversary="independent"),
        "independent, shift": audited(count, adversary="independent"),
        "independent, indicators": audited(
            lambda: named("histogram(n=2, k=3)", "geometric(epsilon=1)"), adversary="independent"
        ),
        "independent, counts": beside(
            *large_samples.both_histograms("laplace(epsilon=2)", "histogram(n=2, k=3)"), adversary="independent"
        ),
        "independent, one count": beside(
            *large_samples.both_histograms("geometric(epsilon=1)", "histogram(n=2, k=3)"),
            adversary="independent",
            knowledge=0.2,
        ),
        "independent, sum": beside(
            *large_samples.both("gaussian(sigma=1)", "count(n=3)"), adversary="independent", reference=[0.7, 0.3]
        ),
        "independent, own": beside(
            *large_samples.both_local("randomized_response(epsilon=1)", "histogram(n=2, k=3)"), adversary="independent"
        ),
        "independent, leaning": audited(count, adversary="independent", knowledge=1.0),
        "independent, reference": audited(count, adversary="independent", reference=[0.8, 0.2]),
        "independent, knowledge": audited(small, adversary="independent", knowledge=0.2),
        "attributes": audited(
            lambda: named("table(n=2, shape=[2, 2])", "exponential(epsilon=2)"), knowledge=0.2, secret=["0.1", "1.0"]
        ),
        "real records": continuous("laplace(epsilon=1)", knowledge=0.1, reference=([0, 0.5, 1], [0.25, 0.75])),
        "real records, gaussian": continuous("gaussian(sigma=0.7)", knowledge=0.0),
        "real records, bins": bins,
        "real records, snapped": continuous(
            "laplace(scale=0.3)", 1, 8, knowledge=0.0, secret={"record": 0, "edges": [0.5]}
        ),
        "real records, trivial": reshaped(bins, "trivial", 0.7),
        "real records, maximal": reshaped(bins, "maximal", 0.8),
        "real records, together": continuous("laplace(epsilon=1)", 4, knowledge=0.1),
        "real records, independent": continuous("laplace(scale=0.5)", adversary="independent"),
        "real records, stepped": stepped,
        "real records, steps at most": reshaped(stepped, "maximal", 0.7),
        "samples": sampled(knowledge=0.3),
        "samples, independent": sampled(adversary="independent"),
        "saved": saved(small, knowledge=2.0),
    }


def sample(rng: random.Random) -> tuple[str, Sample]:
    name = rng.choice(sorted(samples()))
    return name, samples()[name]
