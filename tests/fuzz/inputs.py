"""Call strings, files and command lines: a valid answer, or one clear error, never a traceback."""

import io
import json
import os
import random
import tempfile
import time
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from click.testing import CliRunner

import dalenius as dl
from dalenius.cli import main
from dalenius.model.gallery.parse import MECHANISMS, QUERIES, parse_mechanism, parse_query
from dalenius.model.reference import Reference
from fuzz.differential import law, rows

LONGEST = 30_000  # characters of a message: it may quote what was given
NOISE = "()[]{},=.-+*'\"\\ \t\n0189eEnx_#:;%\x00é\u202e\ud800"
SIZES = ["0", "1", "2", "3", "4", "7", "-1", "2.0", "1e3", "2500", "10**3", "999999999999", "9" * 400, "True"]
VALUES = [
    *SIZES, "0.3", "0.5", "-0.0", "1e308", "1e-308", "5e-324", "1e400", "nan", "inf", "'x'", "'real'", "'integer'",
    "[0, 1]", "[0, 1, 5]", "[]", "[[0]]", "[1, 1]", "['a']", "[1e9]", "(0, 3)", "None", "{}", "1j", "0x10", "1_0",
    "n", "...", "'\\d'", "1if 1else 2", "f(1)", "*[1]", "9" * 5000, "-" * 50 + "1", "[" * 100 + "]" * 100, "lambda: 0",
]  # fmt: skip
ARGUMENTS = ["n", "modulus", "values", "k", "flip", "epsilon", "sigma", "sensitivity", "output", "N", "self", "query"]
GOOD_QUERIES = ["count(n=2)", "modular_sum(n=2, modulus=2)", "histogram(n=2, k=2)", "identity(k=3)", "pairs(n=3)"]
GOOD_MECHANISMS = ["symmetric(flip=0.2)", "geometric(epsilon=1)", "exponential(epsilon=1)", "constant()"]
CELLS = [
    "",
    " ",
    "nan",
    "inf",
    "-1",
    "1e-320",
    "1e400",
    "0,5",
    "x",
    '"',
    "0.5;0.5",
    "1_0",
    "\x00",
    "½",
    "1" * 5000,
    "1" * 400,
    "0x1",
]
RECORDS = [[2, 2], [4], [2], [], [0], [1], [-1], [2.0], [2, True], ["2"], [10**9, 10**9], [2] * 100, None, 4, "2,2"]


def disturbed(rng: random.Random, text: str) -> str:
    """Delete, insert or repeat a few characters."""
    for _ in range(rng.choice([0, 0, 1, 2, 5])):
        i = rng.randint(0, len(text))
        text = rng.choice(
            [text[:i] + text[i + 1 :], text[:i] + rng.choice(NOISE) + text[i:], text[:i] + text[i // 2 :]]
        )
    return text[:12_000]


def call(rng: random.Random, known: dict[str, Callable[..., object]], good: list[str]) -> str:
    if rng.random() < 0.5:
        return disturbed(rng, rng.choice(good))
    name = rng.choice([*known, *known, "function", "counts", "eval", ""])
    pairs = [(rng.choice(ARGUMENTS), rng.choice(VALUES)) for _ in range(rng.choice([0, 1, 1, 2, 2, 3]))]
    if name in known and rng.random() < 0.6:  # its own arguments
        names = [p for p in known[name].__code__.co_varnames[: known[name].__code__.co_argcount] if p != "query"]
        pairs = [(p, rng.choice(VALUES)) for p in names[: rng.randint(1, 2)]]
    return disturbed(rng, f"{name}({', '.join(rng.choice([f'{k}={v}', f'{k}={v}', v]) for k, v in pairs)})")


def clear(error: Exception, *named: str) -> str:
    """Assert that a message says something, and names the file."""
    text = str(error)
    assert 0 < len(text) <= LONGEST, f"a message of {len(text)} characters"
    assert "Traceback" not in text
    assert all(name in text for name in named), f"{text!r} does not name {named}"
    return "refused"


def strings(rng: random.Random) -> str:
    query, mechanism = call(rng, QUERIES, GOOD_QUERIES), call(rng, MECHANISMS, GOOD_MECHANISMS)
    try:
        parse_mechanism(mechanism, parse_query(query))
    except dl.InputError as error:
        return clear(error)
    except Exception as error:
        message = f"parse_mechanism({mechanism!r}, parse_query({query!r})): {type(error).__name__}: {error}"
        raise AssertionError(message) from error
    return "parsed"


@cache
def folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="fuzz")


def table_bytes(rng: random.Random, suffix: str, numbers: list[list[float]]) -> bytes:
    """A table of numbers as a file, disturbed."""
    if suffix == ".npy":
        kinds = [float, float, float, np.float32, int, bool, complex, "U5", "M8[s]", np.float16, [("a", float)]]
        buffer = io.BytesIO()
        array = np.array(numbers)
        with np.errstate(all="ignore"):
            array = array.astype(rng.choice(kinds[:5])) if rng.random() < 0.7 else np.zeros((2, 2), rng.choice(kinds))
        np.save(buffer, rng.choice([array, array, array.T, array.ravel(), array[0, 0], array[:0], array[None]]))
        content = bytearray(buffer.getvalue())
        for _ in range(rng.choice([0, 0, 1, 3])):
            content[rng.randrange(len(content))] = rng.randrange(256)
        if rng.random() < 0.1:
            content = content.replace(b"(4, ", b"(4" + b"0" * 11 + b", ").replace(b" " * 11, b"", 1)
        return bytes(content[: rng.choice([len(content), len(content), rng.randint(0, len(content))])])
    cells = [[repr(x) for x in row] for row in numbers]
    for _ in range(rng.choice([0, 0, 1, 2])):
        cells[rng.randrange(len(cells))][rng.randrange(len(cells[0]))] = rng.choice(CELLS)
    if suffix == ".json":
        text = "[" + ",".join("[" + ",".join(row) + "]" for row in cells) + "]"
    else:
        text = "\n".join([*rng.choice([[], [], [], ["a,b,c"], ["a,a,a"], ["1,b,c"]]), *map(",".join, cells)])
    if rng.random() < 0.4:
        return text.encode()
    encoding = rng.choice(["utf-8", "utf-8", "utf-8", "utf-8-sig", "utf-16"])
    return disturbed(rng, text).encode(encoding, "replace") + rng.choice([b"", b"", b"\xff"])


def files(rng: random.Random) -> str:
    suffix = rng.choice([".csv", ".csv", ".json", ".npy", ".txt", ""])
    path = Path(folder().name) / f"table{suffix}"
    reference = rng.random() < 0.3
    numbers = [law(rng, 2), law(rng, 2)] if reference else rows(rng, 4, 3)
    path.write_bytes(table_bytes(rng, suffix, numbers))
    records = rng.choice(RECORDS) if rng.random() < 0.2 and not reference else [2, 2]
    try:
        if reference:
            Reference.from_file(path, (2, 2))
        else:
            dl.Mechanism.from_matrix(path, records=records)
    except dl.InputError as error:
        return clear(error, *([] if records != [2, 2] else [path.name]))
    except Exception as error:
        kept = path.read_bytes()[:300]
        message = f"{suffix} {kept!r} records={records}: {type(error).__name__}: {error}"
        raise AssertionError(message) from error
    return "read"


def saved(rng: random.Random) -> str:
    """A saved mechanism, changed."""
    from fuzz.certificates import CHANGES

    built = parse_mechanism(rng.choice(GOOD_MECHANISMS), parse_query(rng.choice(GOOD_QUERIES)))
    path = Path(folder().name) / "mechanism.json"
    built.save(path)
    content = json.loads(path.read_text())
    for _ in range(rng.choice([1, 1, 2])):
        rng.choice([c for c in CHANGES if c.__name__ != "replace"])(rng, content)
    path.write_text(json.dumps(content)[:200_000])
    try:
        dl.Mechanism.load(path)
    except dl.InputError as error:
        return clear(error, path.name)
    except Exception as error:
        message = f"Mechanism.load of {path.read_text()[:300]}: {type(error).__name__}: {error}"
        raise AssertionError(message) from error
    return "read"


def command(rng: random.Random) -> str:
    """A command line: exit code 0, or 2 with one line on standard error; 1 only from verify."""
    name = rng.choice(["audit", "audit", "audit", "design", "calibrate", "profile", "verify", "audits"])
    place = Path(folder().name)
    table = place / "channel.csv"
    table.write_bytes(table_bytes(rng, ".csv", rows(rng, 4, 3)))
    values = {  # the first is a good one
        "--query": [rng.choice(GOOD_QUERIES), call(rng, QUERIES, GOOD_QUERIES)],
        "--mechanism": [rng.choice(GOOD_MECHANISMS), call(rng, MECHANISMS, GOOD_MECHANISMS)],
        "--channel": [str(table)],
        "--records": ["2,2", "4", "2,", "", "a", "2,2,2", "-1,2", "1e3", "9" * 5000],
        "--load": [str(table), str(place), str(place / "none.json"), ""],
        "--entropy": ["0", "0.5", "1", "99", "-1", "nan", "inf", "x", "1e-300"],
        "--knowledge": ["0", "0.5", "99", "-1", "nan", "inf", "", "5e-324"],
        "--secret": ["0", "0,1", "1,0", "0,0", "9", "-1", "x", ""],
        "--reference": [str(table)],
        "--unit": ["nats", "bits", "bit"],
        "--seed": ["0", "-1", "99999999999999999999", "x"],
        "--distortion": ["0.1", "0", "-1", "nan", "1e400"],
        "--leakage": ["0.1", "0", "-1", "nan", "1e400"],
        "--family": ["geometric", "symmetric", "geo", ""],
        "--measure": ["absolute", "zero-one", "x", str(table)],
        "--outputs": ["0,1", "0,0", "x", "", "1e400", "0;1"],
        "--epsilon": ["1", "-1", "nan", "1e400"],
        "--plot": [str(place / "a.gif"), str(place), str(place / "no" / "a.png")],
        "--certificate": [str(place / "c.json"), str(place), str(table), ""],
    }

    def pick(listed: list[str]) -> str:
        return listed[0] if rng.random() < 0.7 else rng.choice(listed)

    usual = {
        "audit": rng.choice([["--query", "--mechanism", "--entropy"], ["--channel", "--records", "--knowledge"]]),
        "design": ["--query", rng.choice(["--distortion", "--leakage"]), "--entropy"],
        "calibrate": ["--family", "--query", "--leakage", "--entropy"],
        "profile": ["--query", "--mechanism"],
    }.get(name, [])
    chosen = [*usual, *rng.sample(sorted(values), rng.choice([0, 0, 1, 1, 2]))]
    arguments = [name, *(part for option in chosen for part in (option, pick(values[option])))]
    arguments += [str(table)] if name == "verify" else ["--time-limit", "0.3", "--tolerance", "1e-2"]
    result = CliRunner().invoke(main, arguments)
    said = f"{arguments}: exit code {result.exit_code}, {result.exception!r}, {result.stderr[-300:]!r}"
    assert result.exception is None or isinstance(result.exception, SystemExit), said
    assert result.exit_code in ((0, 1, 2) if name == "verify" else (0, 2)), said
    if result.exit_code == 2:
        assert result.stderr.startswith("dalenius: "), said
        assert len(result.stderr) > len("dalenius: x\n"), said
        assert "Traceback" not in result.stderr, said
        return "exit code 2"
    return "exit code 0 or 1"


@cache
def whole_files() -> dict[str, bytes]:
    """A sound file of every other kind that is read, by its ending."""
    from model import test_damaged_files as sound

    place = Path(folder().name) / "sound"
    place.mkdir()
    (place / "a.toml").write_text(sound.STUDY)
    gate = '[[check]]\nname = "a"\nquery = "count(n=2)"\nmechanism = "constant()"\nknowledge = 1\nbudget = 1\n'
    density = '{"edges": [0.0, 0.5, 1.0], "masses": [0.5, 0.5]}'
    found = {".toml": sound.STUDY.encode(), ".check.toml": gate.encode(), ".density.json": density.encode()}
    found[".db"] = sound.made_store(place).read_bytes()
    if find_spec("openpyxl") is not None:
        found[".xlsx"] = sound.workbook(sound.GOOD)
    return found


def damaged(rng: random.Random) -> str:
    """A store, a workbook, a TOML file or a density, with bytes changed, cut, repeated or nested."""
    from model import test_damaged_files as sound

    ending = rng.choice(sorted(whole_files()))
    content = bytearray(whole_files()[ending])
    for _ in range(rng.choice([1, 1, 3, 20])):
        i, j = rng.randrange(len(content) + 1), rng.randrange(len(content) + 1)
        how = rng.randrange(5)
        if how == 0 and i < len(content):
            content[i] = rng.randrange(256)
        elif how == 1:
            content[i:i] = rng.choice([b"[" * 3000, b"9" * 5000, b"0x" + b"f" * 6000, b"{a=" * 500, b"a." * 500, b"\0"])
        elif how == 2:
            content[i:j] = content[j:i]
        elif how == 3:
            content[i:i] = content[i : i + 200]
        elif rng.random() < 0.2:
            del content[i:]
    path = Path(folder().name) / f"damaged{ending}"
    path.write_bytes(content)
    began = time.monotonic()
    try:
        readers = {**sound.READERS, ".db": sound.whole, ".xlsx": sound.read_book}
        readers[ending](path)
    except dl.InputError as error:
        outcome = clear(error, path.name)
    except Exception as error:
        message = f"{ending} {bytes(content[:300])!r}: {type(error).__name__}: {error}"
        raise AssertionError(message) from error
    else:
        outcome = "read"
    assert time.monotonic() - began < 4 * sound.SECONDS, f"{ending} took {time.monotonic() - began:.1f} s"
    return outcome


def arguments(rng: random.Random) -> str:
    """Any public function with junk in place of one argument."""
    import test_wrong_arguments as hostile

    name = rng.choice(sorted(hostile.CALLS))
    argument = rng.choice(hostile.parameters(*hostile.CALLS[name]))
    junk = list(hostile.tried(name, argument, len(hostile.JUNK)))
    here = Path.cwd()
    os.chdir(folder().name)  # what is written goes there
    try:
        return hostile.attempt(name, argument, rng.choice(junk))
    finally:
        os.chdir(here)


def case(rng: random.Random) -> str:
    kind = rng.choices([strings, files, saved, command, damaged, arguments], [5, 3, 2, 1, 3, 2])[0]
    return f"{kind.__name__} {kind(rng)}"
