"""Releases as people make them: which of them are known to within their gap, in a minute each.

python bench/releases.py                      runs bench/releases.json and renews docs/performance.md and its picture
python bench/releases.py --only votes         renews the lines whose id has these letters; the others stay
python bench/releases.py --list more          runs bench/more_releases.json, a second list; prints its table, no more
python bench/releases.py --processor          seconds of limits are processor seconds, for a machine that is busy
python bench/releases.py --write FILE         writes lines to FILE (JSON) and no page: brackets of another version
python bench/releases.py --page FILE          renews the page with the lines of FILE, and runs nothing

Each release is audited in a process of its own, at default tolerance and with `relative=` its gap, and its certificate
is checked afterwards. `build` and texts of `audit` that begin with "=" are expressions over dl, np and the helpers.
"""

import argparse
import inspect
import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from measure import alone, memory, renew

if TYPE_CHECKING:
    import dalenius as dl

HERE = Path(__file__).parent
PAGE, PICTURE = HERE.parent / "docs/performance.md", HERE.parent / "docs/pictures/releases.png"
LISTS = {"releases": HERE / "releases.json", "more": HERE / "more_releases.json"}
FOUND, BEFORE = HERE / "releases_found.json", HERE / "releases_before.json"
OUT = Path("out/bench")
MARK = "releases: bench/releases.py"
HEAD = ("release", "within", "bracket (nats)", "gap", "bound", "audit s", "check s", "MiB", "verified", "closed")


def random_channel(
    rows: int, outputs: int, records: list[int], seed: int, concentration: float = 1.0
) -> "dl.Mechanism":
    """Rows drawn from a Dirichlet law."""
    import dalenius as dl

    rng = np.random.default_rng(seed)
    return dl.Mechanism.from_matrix(rng.dirichlet(np.full(outputs, concentration), size=rows), records)


def votes(n: int, k: int, scale: float) -> "dl.Mechanism":
    """One of k candidates, drawn with weights e^(votes / scale)."""
    import dalenius as dl

    query = dl.queries.histogram(n=n, k=k)
    weights = np.exp((np.asarray(query.answers, dtype=float) - n) / scale)
    return dl.Mechanism.from_rows(query, weights / weights.sum(axis=1, keepdims=True))


def weighted(n: int, epsilon: float, seed: int) -> "dl.Mechanism":
    """Geometric noise on a sum of bits with distinct weights, out of 1..2n."""
    import dalenius as dl

    weights = (np.random.default_rng(seed).permutation(2 * n)[:n] + 1).tolist()
    query = dl.queries.function([2] * n, lambda x: sum(w * bit for w, bit in zip(weights, x, strict=True)))
    return dl.mechanisms.geometric(query, epsilon=epsilon)


def audited(
    release: dict[str, Any], limit: float, *, processor: bool, **more: object
) -> tuple[dict[str, Any], "dl.Audit | None"]:
    """Audit one release; its line, and the audit, where there is one. more: arguments of dl.audit."""
    if processor:
        # Before dalenius is imported: its deadlines take the clock that they find here.
        time.monotonic = time.process_time
    import dalenius as dl

    names = {"dl": dl, "np": np, "random_channel": random_channel, "votes": votes, "weighted": weighted}

    def value(given: object) -> Any:
        return eval(given[1:], names) if isinstance(given, str) and given[:1] == "=" else given  # noqa: S307 - our own list

    options = {name: value(given) for name, given in release["audit"].items()} | more
    if "relative" in inspect.signature(dl.audit).parameters:  # version 0.1 has none
        options["relative"] = release["within"]
    line: dict[str, Any] = {"id": release["id"], "within": release["within"], "limit": limit}
    try:
        mechanism = value("=" + release["build"])
        begin, clock = time.process_time(), time.perf_counter()
        audit = dl.audit(mechanism, **options, time_limit=limit, verify=False)
        line |= {"seconds": time.process_time() - begin, "clock": time.perf_counter() - clock}
    except dl.InputError as error:
        return line | {"failed": str(error)}, None
    return line | {
        "lower": audit.lower,
        "upper": audit.upper,
        "bound": audit.upper_by,
        "stopped": audit.stopped,
        "memory": memory(),
    }, audit


def run(release: dict[str, Any], limit: float, *, processor: bool) -> dict[str, Any]:
    """Audit one release and check its certificate."""
    line, audit = audited(release, limit, processor=processor)
    if audit is None:
        return line
    import dalenius as dl

    begin = time.process_time()
    verdict = dl.verify(audit.certificate, time_limit=max(600.0, limit))
    check = time.process_time() - begin
    return line | {"check": check, "verified": verdict.verified, "refused": verdict.reason, "memory": memory()}


def gap(line: dict[str, Any]) -> float:
    """The gap as a share of upper."""
    return (line["upper"] - line["lower"]) / line["upper"] if line.get("upper", 0) > 0 else float("failed" in line)


def closed(line: dict[str, Any]) -> bool:
    """Whether a release is known to within its gap, and checked."""
    return "failed" not in line and line["verified"] and gap(line) <= line["within"]


def row(line: dict[str, Any]) -> list[str]:
    """One row of the table."""
    if "failed" in line:
        return [line["id"], f"{line['within']:.1%}", "", "", "", "", "", "", "", line["failed"][:120]]
    why = "yes" if closed(line) else "no: " + {"time_limit": "time"}.get(line["stopped"], line["stopped"])
    return [
        line["id"],
        f"{line['within']:.1%}",
        f"{line['lower']:.6f} to {line['upper']:.6f}",
        f"{gap(line):.2%}",
        line["bound"],
        f"{line['seconds']:.1f}",
        f"{line['check']:.1f}",
        str(line["memory"]),
        "yes" if line["verified"] else line["refused"],
        why,
    ]


def table(lines: list[dict[str, Any]]) -> str:
    """Markdown, and how many are closed."""
    text = "\n".join("| " + " | ".join(cells) + " |" for cells in (HEAD, ["---"] * len(HEAD), *map(row, lines)))
    return f"{text}\n\n{sum(map(closed, lines))} of {len(lines)} are within their gap.\n"


def measured(releases: list[dict[str, Any]], limit: float, jobs: int, *, processor: bool) -> Iterator[dict[str, Any]]:
    """Run each in a process of its own, and print its row when it is there."""
    print("| " + " | ".join(HEAD) + " |\n|" + "---|" * len(HEAD), flush=True)
    with ThreadPoolExecutor(jobs) as pool:
        for release, line in zip(
            releases,
            pool.map(lambda release: alone(run, release=release, limit=limit, processor=processor), releases),
            strict=True,
        ):
            whole = {"id": release["id"], "within": release["within"], "limit": limit} | line
            print("| " + " | ".join(row(whole)) + " |", flush=True)
            yield whole


def picture(lines: list[dict[str, Any]], before: dict[str, Any]) -> bytes:
    """Draw the gaps of version 0.1 and now."""
    from dalenius.report.plots import DARK, figure_of, image, tidy

    least = 1e-5
    ax = figure_of(7.2, 0.2 * len(lines) + 1.0).subplots()
    for place, line in enumerate(reversed(lines)):
        old = before.get(line["id"])
        then, now = (None if old is None else max(gap(old), least)), max(gap(line), least)
        if then is not None:
            ax.plot([then, now], [place, place], color="0.8", linewidth=2, zorder=1)
        for name, x, style in (
            ("version 0.1", then, {"marker": "o", "facecolor": "white", "edgecolor": "0.3"}),
            ("now", now, {"marker": "o", "color": DARK}),
            ("to reach", line["within"], {"marker": "|", "color": "black", "s": 60}),
        ):
            if x is not None:
                ax.scatter(x, place, zorder=2, label=name if place == 0 else None, **style)
    ax.set_yticks(range(len(lines)), [line["id"] for line in reversed(lines)], fontsize=7)
    ax.set(xscale="log", xlabel=f"gap as a share of upper (at least {least:g} shown)", xlim=(least / 1.5, 1.5))
    ax.legend(fontsize=8, frameon=False, loc="upper center", bbox_to_anchor=(0.4, 1.05), ncols=3)
    tidy(ax)
    return image(ax.figure, "png")


def renewed(lines: list[dict[str, Any]], releases: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The lines that are kept, in the order of the list, with new ones in their place."""
    kept = {line["id"]: line for line in (json.loads(FOUND.read_text()) if FOUND.exists() else []) + lines}
    return [kept[release["id"]] for release in releases if release["id"] in kept]


def write(path: Path, lines: list[dict[str, Any]]) -> None:
    """Write lines as JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(lines, indent=1) + "\n")


def show(lines: list[dict[str, Any]]) -> None:
    """Keep the lines, draw them, and renew the page."""
    write(FOUND, lines)
    before = {line["id"]: line for line in json.loads(BEFORE.read_text())}
    PICTURE.write_bytes(picture(lines, before))
    listed = [release["id"] for release in json.loads(LISTS["releases"].read_text())["releases"]]
    left_out = [name for name in listed if name not in {line["id"] for line in lines}]
    renew(PAGE, MARK, table(lines) + (f"\nNot run yet: {'; '.join(left_out)}.\n" if left_out else ""))


def main(given: list[str] | None = None) -> None:
    """Run a list, or a part of it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--list", choices=LISTS, default="releases", help="which list")
    parser.add_argument("--only", default="", metavar="SUBSTRING", help="only releases whose id has these letters")
    parser.add_argument("--limit", type=float, help="seconds for each audit; as the list says unless given")
    parser.add_argument("--jobs", type=int, default=1, help="releases that run at the same time")
    parser.add_argument("--processor", action="store_true", help="limits count processor seconds")
    parser.add_argument("--write", type=Path, metavar="FILE", help="write lines here, and renew no page")
    parser.add_argument("--page", type=Path, metavar="FILE", help="renew the page with lines of an earlier run")
    asked = parser.parse_args(given)
    wanted = json.loads(LISTS[asked.list].read_text())
    releases = [release for release in wanted["releases"] if asked.only in release["id"]]
    if asked.page is not None:
        show(renewed(json.loads(asked.page.read_text()), wanted["releases"]))
        return
    lines: list[dict[str, Any]] = []
    kept = asked.write or OUT / f"{asked.list}.json"
    for line in measured(releases, asked.limit or wanted["limit"], asked.jobs, processor=asked.processor):
        # At once: an hour of work is not lost where the last release is ended.
        lines.append(line)
        write(kept, lines)
    if asked.write is None and asked.list == "releases":
        lines = renewed(lines, wanted["releases"])
        show(lines)
    write(kept, lines)
    (OUT / f"{asked.list}.md").parent.mkdir(parents=True, exist_ok=True)
    (OUT / f"{asked.list}.md").write_text(table(lines))
    print(table(lines).splitlines()[-1])


if __name__ == "__main__":
    main()
