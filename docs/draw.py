"""Draw every picture of README and docs: `make pictures`, or `python docs/draw.py audit curve` for some of them.

docs/pictures/made.json keeps a digest of the code that drew each picture; a test says which pictures are older than
their code. Pictures of measurements are drawn from the numbers on record, which `make bench` and `make paper` renew.
"""

import ast
import csv
import hashlib
import inspect
import json
import re
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import dalenius as dl
from dalenius.paper.reproduce.figures import audit_figures, comparison_figures, figures, marks
from dalenius.report import drawn, plots

DOCS = Path(__file__).parent
BENCH = DOCS.parent / "bench"
PICTURES, MADE = DOCS / "pictures", DOCS / "pictures" / "made.json"
PAPER_FIGURES = (audit_figures, comparison_figures, figures, marks)


def adversary() -> bytes:
    """Leakage against knowledge for a count of eight, with five beliefs below the curve of the worst."""
    n = 8
    mechanism = dl.mechanisms.geometric(dl.queries.count(n=n), epsilon=1)
    independent = dl.audit(mechanism, adversary="independent")
    knowledges = [0.001, 0.01, 0.03, 0.07, 0.15, 0.3, 0.6, 1.0, 1.5, 2.0, 3.0, 4.0, 5.545]
    curve = dl.curve(mechanism, knowledges=knowledges, tolerance=5e-3, time_limit=240)

    axes = plots.figure_of(7.0, 4.0).subplots()
    axes.fill_between(knowledges, curve.lower, curve.upper, color=plots.MIDDLE, linewidth=0)
    axes.plot(knowledges, curve.upper, color=plots.DARK)
    axes.axhline(independent.upper, color="0.3", linestyle="--", linewidth=1.2)
    axes.annotate("the worst belief with this much knowledge", (1.35, 0.48), color=plots.DARK, fontsize=9)
    words = "the worst belief that people are independent (differential privacy)"
    axes.annotate(words, (1.3, 0.125), color="0.3", fontsize=9)

    x = np.array(list(np.ndindex(*[2] * n)))
    others, total = x[:, 1:].sum(axis=1), x.sum(axis=1)
    beliefs = {
        "a rumour: person 0 goes with the majority, 4 to 1": (np.where(x[:, 0] == (others > 3), 4, 1), (7, -3)),
        "sure of two people": ((x[:, 1:3] == 1).all(axis=1), (7, -3)),
        "the total ±1": (abs(total - 4) <= 1, (7, -3)),
        "the total": (total == 4, (7, -3)),
        "everyone but one": ((x[:, 1:] == [0, 0, 0, 0, 1, 1, 1]).all(axis=1), (-40, -14)),
    }
    for belief, (weights, place) in beliefs.items():
        p = weights / weights.sum()
        known = n * np.log(2) + p[p > 0] @ np.log(p[p > 0])
        learned = dl.leakage(mechanism, p).upper
        axes.plot([known], [learned], "o", color="0.15", markersize=5)
        axes.annotate(belief, (known, learned), xytext=place, textcoords="offset points", fontsize=9)
    axes.set(xlabel="what the adversary knows before the release (nats)", ylabel="leakage about one person (nats)")
    axes.set(xlim=(-0.05, 5.7), ylim=(-0.02, 0.72))
    axes.set_title("a noisy count of eight people, epsilon = 1", fontsize=10)
    plots.tidy(axes)
    return plots.image(axes.figure, "png")


def audit() -> bytes:
    """The worst prior of a noisy count, and its bracket between the two extreme adversaries."""
    mechanism = dl.mechanisms.geometric(dl.queries.count(n=4), epsilon=1)
    return plots.image(dl.audit(mechanism, knowledge=0.5).plot(), "png")


def curve() -> bytes:
    """Leakage against knowledge, with the staircase that is certified between audited points."""
    mechanism = dl.mechanisms.geometric(dl.queries.count(n=4), epsilon=1)
    knowledges = [0, 0.001, 0.02, 0.07, *np.arange(0.17, 2.2, 0.2)]
    return plots.image(dl.curve(mechanism, knowledges=knowledges, tolerance=1e-4).plot(), "png")


def design() -> bytes:
    """The mechanism of least leakage at an expected error of 0.5, and the region where no mechanism is."""
    found = dl.design(dl.queries.count(n=4), distortion=0.5, knowledge=0.5, tolerance=1e-3)
    return plots.image(found.plot(), "png")


def decoy() -> bytes:
    """The best mechanisms for ten and a hundred people against limited knowledge, for a hundred independent ones."""
    from matplotlib.colors import PowerNorm
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11.5, 3.6), layout="constrained")
    *decoys, right = figure.subplots(1, 3)
    for axes, n, near in zip(decoys, (10, 100), (0, 34), strict=True):
        query = dl.queries.count(n=n)
        best = dl.design(query, leakage=0.05, knowledge=0.1, relative=0.05, time_limit=60, verify=False)
        shown = slice(near, n + 1 - near)
        ends = (near - 0.5, n - near + 0.5)
        # Decoys of many people have small chances each: shades go by the root.
        rows, shades = best.mechanism.rows[shown, shown], PowerNorm(0.5, 0, 1)
        axes.imshow(rows, cmap="Blues", norm=shades, origin="lower", extent=2 * ends)
        axes.set(xlabel="released", ylabel="count", title=f"{n} people, limited knowledge")
    many = dl.design(query, leakage=0.05, adversary="independent", verify=False)
    noise = dl.calibrate("geometric", query, leakage=0.05, adversary="independent").mechanism
    outputs, words = np.arange(38, 63), f"geometric, error {noise.expected_distortion():.2f}"
    label = f"best, error {many.distortion:.2f}"
    right.bar(outputs, many.mechanism.rows[50, outputs], color="tab:blue", alpha=0.6, label=label)
    right.step(outputs, noise.written().rows[50, outputs], where="mid", color="black", label=words)
    right.set(xlabel="released where the count is 50", ylabel="probability", title="100 people, independent records")
    # Room for the legend above the bars.
    right.set_ylim(0, 0.45)
    right.legend(frameon=False, fontsize=9)
    return plots.image(figure, "png")


def frontier() -> bytes:
    """The least leakage of any mechanism at every expected error, and named mechanisms above it."""
    found = dl.frontier(dl.queries.count(n=4), knowledge=0.5, points=7, tolerance=2e-3)
    return plots.image(found.plot(), "png")


def profile() -> bytes:
    """The usual measures of one mechanism side by side."""
    mechanism = dl.mechanisms.geometric(dl.queries.count(n=4), epsilon=1)
    return plots.image(mechanism.profile().plot(), "png")


def ledger() -> bytes:
    """What six monthly counts leak together, exactly and by adding up."""
    query = dl.queries.count(n=4)
    monthly = dl.mechanisms.geometric(query, epsilon=0.3)
    ledger = dl.Ledger(query, knowledge=0.5, tolerance=1e-3)
    upper = [ledger.release(monthly, name=f"month {k + 1}").upper for k in range(6)]
    alone = dl.audit(monthly, knowledge=0.5).upper
    axes = plots.figure_of(6.4, 3.6).subplots()
    axes.plot(range(1, 7), upper, "o-", color=plots.DARK, label="all releases together, at most (audited)")
    axes.plot(range(1, 7), alone * np.arange(1, 7), "s:", color="0.4", label="one release, times their number")
    axes.set(xlabel="monthly releases", ylabel="leakage about a record (nats)", ylim=(0, None))
    axes.legend(frameon=False, fontsize=9, loc="upper left")
    plots.tidy(axes)
    return plots.image(axes.figure, "png")


def knowledge() -> bytes:
    """Leakage against knowledge for counts of 10 to a million: a crowd hides nobody whose adversary knows the crowd."""
    known = np.array([0.001, 0.003, 0.01, 0.03, 0.06, 0.1, 0.2, 0.3, 0.45, 0.7, 1, 1.5, 2, 3])
    axes = plots.figure_of(6.4, 4.0).subplots()
    axes.plot(known, np.minimum(known, np.log(2)), color="0.6", linewidth=4, label="knowledge itself, up to one bit")
    for n, marker, line in ((10, "o", ":"), (100, "s", "-."), (10**4, "^", "--"), (10**6, "", "-")):
        mechanism = dl.mechanisms.geometric(dl.queries.count(n=n), epsilon=1)
        seconds = (20 if n <= 100 else 60) * known.size
        curve = dl.curve(mechanism, knowledges=known, tolerance=2e-3, relative=0.02, time_limit=seconds)
        name = f"$10^{round(np.log10(n))}$" if n > 100 else str(n)
        axes.fill_between(known, curve.lower, curve.upper, color="0.85", linewidth=0)
        style = {"marker": marker, "linestyle": line, "markersize": 3.5, "linewidth": 1}
        axes.plot(known, curve.lower, color="black", label=f"n = {name}", **style)
    axes.set(xscale="log", xlabel="what the adversary knows about all records together (nats)")
    axes.set(yscale="log", ylabel="leakage about one record (nats)")
    axes.set_title("geometric(epsilon=1) of count(n)", fontsize=10)
    axes.legend(fontsize=8, frameon=False, loc="lower right")
    plots.tidy(axes)
    return plots.image(axes.figure, "png")


def growth() -> bytes:
    """Processor seconds and memory of audit and verification, against the number of records."""
    found = json.loads((BENCH / "growth_found.json").read_text())
    written_out = 2895  # the largest count whose channel is a matrix
    n = np.array([line["n"] for line in found], dtype=float)
    axes = plots.figure_of(9.0, 3.9).subplots(1, 2)
    for ax, unit, names in zip(axes, ("s", "MiB"), (("audit", "verify"), ("audit", "both")), strict=True):
        for name, marker, line in zip(names, "os", ("-", "--"), strict=True):
            values = np.maximum([answer[f"{name} {unit}"] for answer in found], 0.01)
            label = {"verify": "verification", "both": "audit and verification"}.get(name, name)
            ax.plot(n, values, line, marker=marker, color="black", markersize=4, linewidth=1, label=label)
        ax.axvline(written_out, color="0.6", linewidth=1, linestyle=":", label=f"no channel beyond {written_out}")
        ax.set(xscale="log", yscale="log", xlabel="records n")
        plots.tidy(ax)
        ax.legend(fontsize=8, frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.18), ncols=3)
    axes[0].set_ylabel("processor seconds")
    axes[1].set(ylabel="memory of the process (MiB)", ylim=(50, 2048))
    axes[0].figure.suptitle("geometric(epsilon=1) of count(n), knowledge 0.5 nats, to a gap of 1 %", fontsize=10)
    return plots.image(axes[0].figure, "png")


def releases() -> bytes:
    """Gaps of releases as people make them: version 0.1, now, and what is to be reached."""
    sys.path.insert(0, str(BENCH))
    from releases import picture

    found, before = (json.loads((BENCH / f"releases_{name}.json").read_text()) for name in ("found", "before"))
    return picture(found, {line["id"]: line for line in before})


def redaction() -> bytes:
    """Leakage about one of 40 patients under five rules of publishing a count, by how common the condition is."""
    count = dl.queries.count(n=40)
    exact, shares = dl.mechanisms.exact(count), [0.01, 0.03, 0.05, 0.1, 0.2, 0.35, 0.5]

    def rounded(y: Any) -> Any:
        return y if y == "suppressed" else 5 * ((y + 2) // 5)

    rules = {
        "exact": exact,
        "rounded to 5": exact.then(rounded),
        "up to 5 redacted, rounded": exact.suppress(below=6).then(rounded),
        "middle of six": exact.then(lambda y: 0 if y == 0 else 6 * ((y + 5) // 6) - 3),
        "up to 7 redacted, rounded": exact.suppress(below=8).then(rounded),
    }
    axes = plots.figure_of(7.0, 4.0).subplots()
    for (name, mechanism), style in zip(rules.items(), ("k-", "k--", "ko-", "ks:", "k^-"), strict=True):
        found = [dl.audit(mechanism, knowledge=0.1, reference=[1 - p, p], relative=0.01).upper for p in shares]
        axes.plot([100 * p for p in shares], found, style, markersize=4, linewidth=1.2, label=name)
    axes.set_xscale("log")
    axes.set_xticks([100 * p for p in shares], [f"{100 * p:g} %" for p in shares])
    axes.minorticks_off()
    axes.set(xlabel="how common the condition is", ylabel="leakage about one patient, at most (nats)", ylim=(0, 0.2))
    axes.set_title("a count of 40 patients, against a knowledge of 0.1 nats", fontsize=10)
    axes.legend(fontsize=8, frameon=False, loc="lower right")
    plots.tidy(axes)
    return plots.image(axes.figure, "png")


def _against_knowledge(
    releases: dict[str, Any], knowledges: list[float], title: str, what: str, before: float = 0
) -> bytes:
    """Leakage of releases against knowledge, as the chance of a right guess where `before` is one."""
    axes = plots.figure_of(7.0, 4.0).subplots()
    for (name, mechanism), style in zip(releases.items(), ("ko-", "ks--", "k^:"), strict=False):
        found = [dl.audit(mechanism, knowledge=known, relative=0.05) for known in knowledges]
        height = [100 * audit.guess(before=before) if before else audit.upper for audit in found]
        axes.plot(knowledges, height, style, markersize=4, linewidth=1.2, label=name)
    unit = "chance of a right guess, at most (%)" if before else f"leakage about {what}, at most (nats)"
    axes.set(xlabel="what the adversary knows before the release (nats)", ylabel=unit, ylim=(0, None))
    axes.set_title(title, fontsize=10)
    axes.legend(fontsize=8, frameon=False, loc="upper left")
    plots.tidy(axes)
    return plots.image(axes.figure, "png")


def vote() -> bytes:
    """Three announcements of a vote of 20 members for three candidates."""
    votes = dl.queries.histogram(n=20, k=3)
    announced = {
        "all three counts": dl.mechanisms.exact(votes),
        "the winner": dl.mechanisms.exact(votes).then(lambda counts: counts.index(max(counts))),
        "the noisy winner, epsilon 1": dl.mechanisms.noisy_max(votes, epsilon=1),
    }
    return _against_knowledge(
        announced, [0.01, 0.05, 0.1, 0.2, 0.3, 0.5], "a vote of 20 for three candidates", "one vote"
    )


def survey() -> bytes:
    """Three ways to run a survey of 200 people at epsilon 1."""
    people = dl.queries.count(n=200)
    releases = {
        "every noisy answer": dl.mechanisms.randomized_response(people, epsilon=1),
        "how many noisy answers were yes": dl.mechanisms.shuffled_response(people, epsilon=1),
        "the total with noise": dl.mechanisms.geometric(people, epsilon=1),
    }
    return _against_knowledge(releases, [0.01, 0.05, 0.1, 0.2, 0.3, 0.5], "200 answers, epsilon 1", "one answer")


def census() -> bytes:
    """A table of 20 residents with noise in every cell: how often a resident's cell is guessed right at most."""
    table = dl.queries.table(n=20, shape=(2, 3))
    releases = {f"epsilon {e}": dl.mechanisms.geometric(table, epsilon=e) for e in (1, 0.3)}
    known, title = [0.01, 0.02, 0.05, 0.1], "a 2 x 3 table of 20 residents; 17 % are right before it"
    return _against_knowledge(releases, known, title, "one cell", before=1 / 6)


def classifier() -> bytes:
    """Accuracy of naive Bayes from noisy counts against its leakage, for three numbers of people."""
    from dalenius.sklearn import NoisyCategoricalNB

    axes, budgets = plots.figure_of(7.0, 4.0).subplots(), [0.0003, 0.001, 0.003, 0.01, 0.03, 0.1]
    for people, style in ((100, "k^:"), (500, "ks--"), (2000, "ko-")):
        rng = np.random.default_rng(0)
        smokes = rng.choice(["no", "yes"], p=[0.7, 0.3], size=people)
        ill = np.where(rng.random(people) < np.where(smokes == "yes", 0.7, 0.1), "ill", "well")
        rows = np.stack([smokes, rng.choice(["north", "south", "west"], size=people)], axis=1)
        right = [
            np.mean([NoisyCategoricalNB(leakage=b, random_state=i).fit(rows, ill).score(rows, ill) for i in range(20)])
            for b in budgets
        ]
        axes.plot(budgets, right, style, markersize=4, linewidth=1.2, label=f"{people} people")
    axes.set_xscale("log")
    axes.set(xlabel="leakage allowed about one's own row (nats)", ylabel="accuracy, mean of 20 models", ylim=(0.5, 0.9))
    axes.legend(fontsize=8, frameon=False, loc="lower right")
    plots.tidy(axes)
    return plots.image(axes.figure, "png")


def paper_entropy() -> bytes:
    """Figure 3 of the paper: leakage against b, in closed form, certified, and by the paper's method."""
    return _paper("entropy")


def paper_table() -> bytes:
    """Table 3 of the paper: printed, by its method as printed and repaired, and certified."""
    return _paper("table")


def paper_primal() -> bytes:
    """Figure 6 of the paper: least leakage at a distortion, certified and by Algorithm 6."""
    return _paper("primal")


def paper_dual() -> bytes:
    """Figure 7 of the paper: least distortion at a leakage, certified and by Algorithm 9."""
    return _paper("dual")


def _paper(name: str) -> bytes:
    """A picture of the reproduction, from the rows on record."""
    with (DOCS / "reproduced" / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        rows = [{key: _value(cell) for key, cell in row.items()} for row in csv.DictReader(file)]
    with tempfile.TemporaryDirectory() as folder:
        figures.draw(name, rows, Path(folder))
        return (Path(folder) / f"{name}.png").read_bytes()


def _value(cell: str) -> Any:
    try:
        return ast.literal_eval(cell) if cell else None
    except (ValueError, SyntaxError):
        return cell


# Every picture: what draws it, and the functions or modules that its looks depend on.
DRAWN: dict[str, tuple[Callable[[], bytes], tuple[Any, ...]]] = {
    "adversary": (adversary, ()),
    "audit": (audit, (plots.plot_audit, plots._draw_bars, plots._draw_bracket)),  # noqa: SLF001 - their code counts
    "curve": (curve, (plots.draw, drawn.curve_chart)),
    "design": (design, (plots.draw, drawn.design_chart, plots.draw_channel)),
    "decoy": (decoy, ()),
    "frontier": (frontier, (plots.draw, drawn.frontier_chart)),
    "profile": (profile, (plots.draw, plots.plot_profile, drawn.profile_chart)),
    "ledger": (ledger, ()),
    "knowledge": (knowledge, ()),
    "growth": (growth, ()),
    "releases": (releases, ()),
    "redaction": (redaction, ()),
    "vote": (vote, (_against_knowledge,)),
    "survey": (survey, (_against_knowledge,)),
    "census": (census, (_against_knowledge,)),
    "classifier": (classifier, ()),
    "paper-entropy": (paper_entropy, PAPER_FIGURES),
    "paper-table": (paper_table, PAPER_FIGURES),
    "paper-primal": (paper_primal, PAPER_FIGURES),
    "paper-dual": (paper_dual, PAPER_FIGURES),
}


def digest(name: str) -> str:
    """Return a digest of the code behind a picture; comments, docstrings and line breaks do not count."""
    draw, modules = DRAWN[name]
    code = "".join(_bare(inspect.getsource(part)) for part in (draw, *modules))
    return hashlib.sha256(code.encode()).hexdigest()[:16]


def _bare(source: str) -> str:
    """Code without docstrings, comments and white space, the same for every version of Python."""
    lines = source.splitlines()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            lines[node.lineno - 1 : node.end_lineno] = [""] * (node.end_lineno - node.lineno + 1)
    return re.sub(r"\s", "", "\n".join(re.sub(r"(^|  )#.*$", "", line) for line in lines))


def stale() -> list[str]:
    """Return the pictures that are missing, or older than the code that draws them."""
    made = json.loads(MADE.read_text()) if MADE.exists() else {}
    there = {path.stem for path in PICTURES.glob("*.png")}
    return [name for name in DRAWN if name not in there or made.get(name) != digest(name)]


def main(names: list[str]) -> int:
    """Draw these pictures, or all of them, and note by which code."""
    unknown = set(names) - set(DRAWN)
    if unknown:
        sys.stderr.write(f"there is no picture {min(unknown)!r}; there are {', '.join(DRAWN)}\n")
        return 2
    made = json.loads(MADE.read_text()) if MADE.exists() else {}
    for name in names or DRAWN:
        (PICTURES / f"{name}.png").write_bytes(DRAWN[name][0]())
        made[name] = digest(name)
        MADE.write_text(json.dumps(dict(sorted(made.items())), indent=1) + "\n")
        sys.stdout.write(f"docs/pictures/{name}.png\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
