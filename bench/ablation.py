"""What every kind of upper bound is worth: releases audited with all bounds, and again without one of them.

python bench/ablation.py                      runs what is not kept yet of both lists, and writes bench/ABLATION.md
python bench/ablation.py --only votes         runs the lines whose id has these letters again
python bench/ablation.py --page               writes the page of what is kept, and runs nothing

Every line is run once with all bounds. Its certificate says which of them it rests on, and without each of those it is
run again. Limits are of the processor; one line runs at a time.
"""

import argparse
import ast
import json
import time
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from measure import alone
from releases import LISTS, audited, gap, write

if TYPE_CHECKING:
    from dalenius.settings import Settings

HERE = Path(__file__).parent
FOUND, PAGE = HERE / "ablation_found.json", HERE / "ABLATION.md"
LIMIT = 12.0
# Bounds that portfolios know by name.
NAMED = ("choices", "stationary", "monotone", "beside", "capacity", "simplices", "convex", "rows")
NAMED += ("posteriors", "grid", "window")
# Others, and what portfolios know only in part: the functions that are left out, and what they answer instead.
SUMS, COUNTS = "dalenius.auditing.unwritten_sums", "dalenius.auditing.unwritten_histograms"
LOCAL, POINTS = "dalenius.auditing.local_records", "dalenius.bounds.unwritten_rows.Points"
FORMULAS: dict[str, tuple[tuple[str, str, str], ...]] = {
    "power": ((SUMS, "power", "none"),),
    "sibson": ((SUMS, "sibson", "none"),),
    "blend": ((SUMS, "blend", "none"), (COUNTS, "blend_of_counts", "infinite")),
    "law": ((SUMS, "laws_below", "empty"),),
    "moved": ((COUNTS, "moved_counts", "none"),),
    "counted": (("dalenius.bounds.counted", "table_of", "none"),),
    "tied": ((COUNTS, "tie", "none"), (COUNTS, "tie_others", "none")),
    "product": ((LOCAL, "product", "infinite"),),
    "looks": ((LOCAL, "all_looks", "infinite"),),
    "bellman": (("dalenius.bounds.bellman", "best", "none"),),
}
# Parts of trees of posteriors.
PARTS = ("groups", "ratios")
# Three bounds have proofs of one kind.
OF_KIND = {"convex": ("stationary", "capacity", "convex")}
# What of the verifier checks each: files, or functions of one. Three kinds share a file and its contraction.
ONE_POINT = ("kernel/convex.py", "kernel/contraction.py")
CHECKED_BY = {
    "choices": ("kernel/choices.py",),
    **dict.fromkeys(OF_KIND["convex"], ONE_POINT),
    "monotone": ("kernel/chains.py", "kernel/order.py", "steps/points.py"),
    "beside": ("special/beside.py",),
    "sibson": ("forms/sums.py _sibson",),
    "simplices": ("kernel/simplices.py",),
    "rows": ("kernel/rows.py",),
    "posteriors": ("kernel/posteriors.py", "kernel/cuts.py", "kernel/doubles.py", "kernel/packed.py"),
    "grid": ("steps/grid.py",),
    "window": ("steps/window.py", "forms/sums.py in_window", "forms/sums.py _claimed_in_window"),
    "power": ("special/power.py", "forms/sums.py _power"),
    "blend": (
        "forms/sums.py _blend",
        "forms/sums.py blended",
        "forms/histograms.py _blend",
        "forms/histograms.py _moment",
    ),
    "law": ("forms/sums.py _output_law", "forms/sums.py _own", "forms/sums.py _mean"),
    "moved": ("special/moved.py",),
    "counted": ("special/counted.py",),
    "tied": ("special/tied.py",),
    "product": ("special/product.py", "forms/per_record.py _product"),
    "looks": ("special/product.py looks", "forms/per_record.py _looks"),
    "bellman": ("special/bellman.py", "forms/per_record.py _bellman"),
    "ratios": ("kernel/ratios.py",),
}
INTRODUCTION = f"""# What every bound is worth

Written by bench/ablation.py. Every release of releases.json and more_releases.json was audited for {LIMIT:g} s of the
processor with all bounds, and again without each bound that its certificate rests on (a bound that only leads to a
better start is not noticed). A gap is a share of the upper bound. A line *needs* a bound where the gap to reach is not
reached without it or, where it is not reached at all, the upper bound is more than a tenth higher. It is *slower* where
it takes more than 1.5 times and 0.2 s longer. "tied" is a prior, and bounds from below; "groups" and "ratios" are parts
of trees of posteriors. Lines are those of the verifier that check nothing else, docstrings included: files, and
functions of files that others share ("stationary", "capacity" and "convex" share all of theirs, "groups" has none).
Times are of one machine with other work beside, and of several states of the solver: `--only` runs a line again.
"""

TABLE = """
| bound | releases that rest on it | need it | slower without | lines of the verifier |
|---|---|---|---|---|
"""

# Measured by hand, with tolerances and releases that the lists do not have; processor seconds.
KEPT = """
## Kept, though hardly a line needs it

- `choices`: kept because audits without a limit rest on them (a count of 5 with epsilon 1 closes to 1e-9 in .04 s;
  without choices it is .05 nats open after 6 s), and so does L(0), which every audit states in `extremes`.
- `ratios`: kept because of time, and of small gaps: a count of 40, epsilon .1, much known, takes 1.9 s in place of .4;
  a count of 500 with Laplace noise, epsilon 1, K = .5, is 1.4 % open after 13 s where it closes to .1 % in .9.
- ranks of several parts in the step `order`: kept because of joint releases that are written out. Two counts of 20,
  epsilon .3, are 18 % open after 11 s without them, and 4 % after .4 s with them; a count and an exponential mechanism
  of 15 people 21 % after 11 s, and 4 % at once.
- one coin for the other real-valued records: kept. A mean of 30 with Laplace noise, epsilon 2, K = .3: [.330, .389],
  and [.307, .769] with a coin for each.
- the contraction of randomised response at its reference, in `product`: kept. With that of pairs of rows, which is
  `contracts` alone, 3 values of 100 people are 9.3 % open in place of 2.4, and 4 values of 20 people 5.5 in place of
  2.7; without what the secret's channel keeps of a divergence 12.5 and 11.3 %.
- tails that fall by one factor a step, and classes of hardly any mass, in witnesses of sums: kept because of time.
  Without the first the check of ages of 150 takes 8 s in place of 2, without both 37 s.
- `capacity`: kept because of secrets of many values. A record of 300 values with 20 outputs closes at K = .3 and is
  10 % open without it; a histogram of 6 people and 4 values is bounded by .83 at K = 1.5, and by log 4 without it;
  2^15 rows of 64 outputs by .468 at K = .3, and by log 2.
- `convex`: kept because of them, too, and of very many rows: records of 200 and 2 values with 10 outputs are bounded by
  1.441 at K = 1.5, and by 1.464 without it; 2^15 rows of 16 outputs by .300 at K = .3, and by .347.
- `sibson`: kept for sums that are not written out, where it takes half the time of points on a count of 10^4, and says
  what the answers between points tell. That of written rows is gone: contraction with eta = 1 is never above it.
- the share of `blend`: kept because of skewed laws: a count of 10^6 of law (.99, .01) is bounded by .522 at K = 1, and
  by .693 with a share of 1. Contraction at the reference, its other part, takes no other law of rows than the
  reference, so that blends are not `sibson` with a factor.
"""


def kinds(data: object) -> Iterator[str]:
    """Return the kinds of proofs, priors and steps in a certificate, and the parts of its trees."""
    if isinstance(data, dict):
        yield from (data[key] for key in ("kind", "step") if isinstance(data.get(key), str))
        yield from (["groups"] if "tangents" in data else []) + (["ratios"] if data.get("ratios") is True else [])
        data = list(data.values())
    for part in data if isinstance(data, list) else ():
        yield from kinds(part)


def rests_on(line: dict[str, Any]) -> list[str]:
    """The bounds that a line is to be run without."""
    names = {name for kind in line.get("kinds", ()) for name in OF_KIND.get(kind, (kind,))}
    return [name for name in dict.fromkeys((*NAMED, *FORMULAS, *PARTS)) if name in names]


def settings_without(name: str) -> "Settings":
    """Leave a bound out, by settings where it has a name there, and where it is called."""
    from dalenius.bounds.closing import Formula
    from dalenius.bounds.trees.posteriors import PosteriorSearch
    from dalenius.settings import DEFAULT, without

    instead = {"none": None, "empty": [], "infinite": Formula(name, float("inf"))}
    for module, function, answer in FORMULAS.get(name, ()):
        setattr(import_module(module), function, lambda *_, answer=instead[answer], **__: answer)
    if name == "groups":
        return DEFAULT.having(PosteriorSearch(ungrouped_outputs=10**9))
    if name == "ratios":
        return replace(DEFAULT, limits=replace(DEFAULT.limits, ratio_entries=0))
    return replace(DEFAULT, portfolio=without(name)) if name in NAMED else DEFAULT


def run(release: dict[str, Any], left_out: str) -> dict[str, Any]:
    """Audit a release, with all bounds or without one."""
    time.monotonic = time.process_time
    more = {"settings": settings_without(left_out)} if left_out else {}
    line, audit = audited(release, LIMIT, processor=True, **more)
    return line if audit is None else line | {"kinds": sorted(set(kinds(audit.certificate.data)))}


def cost(whole: dict[str, Any], less: dict[str, Any]) -> str:
    """What it costs a line to be without a bound."""
    if "failed" in less:
        return "needs: " + less["failed"][:60]
    reached, wider = gap(less) <= less["within"], less["upper"] > 1.1 * whole["upper"]
    if not reached and (gap(whole) <= whole["within"] or wider):
        return "needs"
    return "slower" if less["seconds"] > max(1.5 * whole["seconds"], whole["seconds"] + 0.2) else "nothing"


def lines_of(place: str) -> int:
    """How many lines a file of the verifier has, or a function of it."""
    path, _, function = place.partition(" ")
    text = (HERE.parent / "src" / "dalenius" / "verifier" / path).read_text()
    if not function:
        return len(text.splitlines())
    tree = ast.parse(text)
    (found,) = (node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == function)
    return (found.end_lineno or 0) - found.lineno + 1


def page(found: dict[str, dict[str, dict[str, Any]]]) -> str:
    """One row for every bound, then one for every line and bound."""
    rows: dict[str, list[list[str]]] = {}
    for name, runs in found.items():
        whole = runs[""]
        for left_out, less in runs.items():
            if left_out:
                times = [f"{whole['seconds']:.1f}", f"{less.get('seconds', 0):.1f}"]
                gaps = [f"{whole['within']:.1%}", f"{gap(whole):.2%}", f"{gap(less):.2%}"]
                rows.setdefault(left_out, []).append([name, *gaps, *times, less.get("bound", ""), cost(whole, less)])
    text = INTRODUCTION + TABLE
    for name in dict.fromkeys((*NAMED, *FORMULAS, *PARTS)):
        costs = [row[-1].split(":")[0] for row in rows.get(name, [])]
        checked = sum(map(lines_of, CHECKED_BY.get(name, ()))) or ""
        text += f"| {name} | {len(costs)} | {costs.count('needs')} | {costs.count('slower')} | {checked} |\n"
    text += KEPT
    for name, lines in rows.items():
        text += f"\n## Without {name}\n\n| release | within | gap | gap without | s | s without | bound then | cost |\n"
        text += "|---|---|---|---|---|---|---|---|\n" + "".join("| " + " | ".join(row) + " |\n" for row in lines)
    return text


def main() -> None:
    """Run the lists, or a part of them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", metavar="SUBSTRING", help="only releases whose id has these letters")
    parser.add_argument("--page", action="store_true", help="write the page of what is kept")
    asked = parser.parse_args()
    found = json.loads(FOUND.read_text()) if FOUND.exists() else {}
    releases = [release for path in LISTS.values() for release in json.loads(path.read_text())["releases"]]
    wanted = [one for one in releases if (asked.only in one["id"] if asked.only else one["id"] not in found)]
    for release in [] if asked.page else wanted:
        runs = found[release["id"]] = {"": alone(run, release=release, left_out="")}
        for left_out in rests_on(runs[""]):
            less = alone(run, release=release, left_out=left_out)
            runs[left_out] = {"within": release["within"], "seconds": 0.0} | less
            print(release["id"], "without", left_out, cost(runs[""], runs[left_out]), flush=True)
        write(FOUND, found)
    PAGE.write_text(page(found))


if __name__ == "__main__":
    main()
