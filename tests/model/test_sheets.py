"""One matrix in every flavour that people keep it in, and what is said of files that no flavour fits."""

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from refusals import refuses

import dalenius as dl
from dalenius.model.sheets import Reading, read_sheet

MATRIX = np.array([[0.9, 0.1], [0.4, 0.6], [1 / 3, 2 / 3], [0.0625, 0.9375]])
LINES = [[repr(float(x)) for x in row] for row in MATRIX]


def flavour(delimiter: str, decimal: str, header: list[str] | None, index: list[str] | None, name: str = "") -> str:
    lines = [[cell.replace(".", decimal) for cell in line] for line in LINES]
    if index is not None:
        lines = [[own, *line] for own, line in zip(index, lines, strict=True)]
    if header is not None:
        lines.insert(0, [name, *header] if index is not None else header)
    return "".join(delimiter.join(line) + "\n" for line in lines)


def read(tmp_path: Path, text: str, name: str = "channel.csv", **options: Any) -> dl.Mechanism:
    path = tmp_path / name
    path.write_bytes(text.encode())
    return dl.Mechanism.from_matrix(path, [2, 2], **options)


COMBINED = [
    (delimiter, decimal, header, index)
    for delimiter, decimal, header, index in itertools.product(
        ",;\t |", ".,", [None, ["no", "yes"], ["0", "1"]], [None, ["0", "1", "2", "3"], ["a", "b", "c", "d"]]
    )
    # A comma cannot be both; numbers before the rows need an empty cell above; blanks cannot show one.
    if delimiter != decimal and not (index and index[0] == "0" and (header is None or delimiter == " "))
]


@pytest.mark.parametrize(("delimiter", "decimal", "header", "index"), COMBINED)
def test_every_flavour_is_the_same_matrix(
    tmp_path: Path, delimiter: str, decimal: str, header: list[str] | None, index: list[str] | None
) -> None:
    name = "x" if delimiter == " " else ""
    for mark, ending, last in (("", "\n", "\n"), ("\ufeff", "\r\n", "")):
        text = (mark + flavour(delimiter, decimal, header, index, name)).replace("\n", ending).removesuffix(
            ending
        ) + last
        for suffix in (".csv", ".tsv", ".txt"):
            found = read(tmp_path, text, f"channel{suffix}")
            assert (found.matrix() == dl.Mechanism.from_matrix(MATRIX, [2, 2]).matrix()).all()
            expected = (0, 1) if header in (None, ["0", "1"]) else ("no", "yes")
            assert found.labels == expected


@pytest.mark.parametrize(
    "text",
    [
        '"","no","yes"\n"1",0.9,0.1\n"2",0.4,0.6\n"3",0.3,0.7\n"4",0.05,0.95\n',  # write.csv of R
        '"no" "yes"\n"1" 0.9 0.1\n"2" 0.4 0.6\n"3" 0.3 0.7\n"4" 0.05 0.95\n',  # write.table of R
        "sep=;\nno;yes\n0,9;0,1\n0,4;0,6\n0,3;0,7\n0,05;0,95\n",  # Excel
        'no,yes\n"0.9","0.1"\n.4,.6\n+3e-1,7E-1\n 0.05 , 0.95 \n\n',
        '"a, b",no,yes\n"x, 1",0.9,0.1\n"x, 2",0.4,0.6\n"y, 1",0.3,0.7\n"y, 2",0.05,0.95\n',
        '"votes\n(both)";no;"yes\n"\n0 0;0.9;0.1\n0 1;0.4;0.6\n1 0;0.3;0.7\n1 1;0.05;0.95\n',  # cells of two lines
    ],
)
def test_what_programs_write(tmp_path: Path, text: str) -> None:
    found = read(tmp_path, text, "channel.txt")
    assert found.matrix() == pytest.approx(np.array([[0.9, 0.1], [0.4, 0.6], [0.3, 0.7], [0.05, 0.95]]))
    assert found.labels == ("no", "yes")


def test_utf_16(tmp_path: Path) -> None:
    path = tmp_path / "channel.txt"
    path.write_bytes(flavour("\t", ",", ["nein", "ja"], None).encode("utf-16"))
    assert dl.Mechanism.from_matrix(path, [2, 2]).labels == ("nein", "ja")


def test_options_decide_what_a_file_leaves_open(tmp_path: Path) -> None:
    text = flavour(",", ".", ["no", "yes"], ["00", "01", "10", "11"], "dataset")
    refuses(r"first column looks like an index: index=True \(--index\)", read, tmp_path, text)
    assert read(tmp_path, text, index=True).labels == ("no", "yes")
    # Five rows for four datasets: the first is a header, unless it is said that there is none.
    with pytest.raises(dl.InputError, match="it has 5 rows where the records have 4 datasets"):
        read(tmp_path, flavour(",", ".", ["0", "1"], None), header=False)
    refuses("it has 3 rows below a header where", read, tmp_path, flavour(",", ".", None, None), header=True)
    refuses(r"'0\.9;0\.1' is not a number", read, tmp_path, flavour(";", ".", None, None), delimiter=",")


def test_two_readings_are_told_apart_by_options(tmp_path: Path) -> None:
    text = "a;1,0\nb;1,0\nc;1,0\nd;1,0\n"
    refuses(r"can be read as \(4, 1\) numbers with delimiter=',', .* or as \(4, 1\)", read, tmp_path, text)
    assert read(tmp_path, text, delimiter=";").matrix().tolist() == [[1.0]] * 4


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "holds no numbers"),
        ('""\n', "holds no numbers"),
        (
            "0.9,0.1\n0.4,0.6\n0.3,0.7\n",
            r"^[^:]*: it has 3 rows where the records have 4 datasets; check records= \(--records\)\. A channel",
        ),
        # The first of one row too many is no header: it is nearly a law, or one after a name, or repeats itself.
        ("0.666,0.333\n0.4,0.6\n0.3,0.7\n0.1,0.9\n0.5,0.5\n", "it has 5 rows where"),
        ("a,0.9,0.1\nb,0.4,0.6\nc,0.3,0.7\nd,0.1,0.9\ne,0.5,0.5\n", "it has 5 rows where"),
        ("1,0.9,0.1\n2,0.4,0.6\n3,0.3,0.7\n4,0.1,0.9\n5,0.5,0.5\n", "it has 5 rows where"),
        ("5,5\n9,1\n4,6\n3,7\n1,9\n", "it has 5 rows where"),
        ("no,yes\n0.9,0.1\n0.4,0.6\n0.3,0.7\n", "it has 3 rows below a header where the records have 4 datasets"),
        (
            ";0;1\na;0.9;0.1\nb;0.3;0.7\n",
            r"it has 2 rows below a header where the records have 4 datasets \(1 record of 2 values would have 2\)",
        ),
        (
            "0.9;0.1\n0.4;zero\n0.3;0.7\n0.1;0.9\n",
            r"line 2 column 2: 'zero' is not a number; this looks like semicolons",
        ),
        ("0.9,0.1\n0.4,0.6\n0.3,0.7,1\n0.1,0.9\n", "line 3 has 3 columns where others have 2"),
        ('"a\nb",c\n0.9,0.1\n0.4,0.6\n0.3,x\n0.1,0.9\n', "channel.csv, line 5 column 2: 'x' is not a number"),
        ("a,b,c\n0.9,0.1\n0.4,0.6\n0.3,0.7\n0.1,0.9\n", "line 1 has 3 names for 2 columns"),
        ("0.9;0.1\n0.4;0.6\n0.3;0,7\n0.1;0.9\n", "is not a number; this looks like semicolons"),
        ("0,9,0,1\n0,4,0,6\n0,3,0,7\n0,1,0,9\n", "decimal commas between commas"),
        ("90,10\n40,60\n30,70\n5,95\n", r"These look like counts, which counts=True \(--counts\) takes"),
        ("0.9,0.101\n0.4,0.6\n0.3,0.7\n0.1,0.9\n", r"normalize=True \(--normalize\)"),
        ("0.9,0.1\n0.4,nan\n0.3,0.7\n0.1,0.9\n", r"holds nan in column 1"),
        ("0.9\0,0.1\n", "holds null bytes"),
    ],
)
def test_what_no_flavour_fits_is_said(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(dl.InputError, match=words) as refusal:
        read(tmp_path, text)
    assert "channel.csv" in str(refusal.value)


def test_counts_and_rows_that_nearly_sum_to_one(tmp_path: Path) -> None:
    assert read(tmp_path, "90,10\n40,60\n3,7\n1,0\n", counts=True).matrix()[2].tolist() == [0.3, 0.7]
    assert read(tmp_path, "0.333,0.666\n0.4,0.6\n0.3,0.7\n1,0\n", normalize=True).matrix()[0].sum() == 1.0
    for text, options, words in (
        ("90,10\n0,0\n3,7\n1,0\n", {"counts": True}, r"row 1 .* sums to 0; counts are whole numbers"),
        ("90,10\n0.5,1\n3,7\n1,0\n", {"counts": True}, "counts are whole numbers"),
        (
            "0.3,0.6\n0.4,0.6\n0.3,0.7\n1,0\n",
            {"normalize": True},
            r"row 0 .* sums to 0.9; normalize takes rows within 1%",
        ),
    ):
        refuses(words, read, tmp_path, text, **options)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"delimiter": "x"}, "delimiter = 'x' is unknown; use ','"),
        ({"decimal": ";"}, "decimal = ';' is unknown"),
        ({"delimiter": ",", "decimal": ","}, "cannot both hold"),
        ({"header": "yes"}, "header = 'yes' must be True or False"),
        ({"counts": 1}, "counts = 1 must be True or False"),
    ],
)
def test_options_are_checked(tmp_path: Path, options: dict[str, Any], words: str) -> None:
    refuses(words, read, tmp_path, flavour(",", ".", None, None), **options)


@pytest.mark.parametrize("kind", [scipy.sparse.csr_matrix, scipy.sparse.coo_array])
def test_sparse_matrices(kind: Any) -> None:
    found = dl.Mechanism.from_matrix(kind(np.eye(4)), [2, 2])
    assert (found.matrix() == np.eye(4)).all()


def test_every_digit_arrives(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    numbers = rng.standard_normal((60_000, 3)) * 10.0 ** rng.integers(-300, 300, (60_000, 3))
    path = tmp_path / "long.csv"
    lines = [",".join(map(repr, row)) for row in numbers.tolist()]
    path.write_text("\n".join(lines))
    assert (read_sheet(path, 60_000, Reading())[0] == numbers).all()
    # One quoted line far down.
    lines[50_000] = '"' + lines[50_000].replace(",", '","') + '"'
    path.write_text("\n".join(lines))
    assert (read_sheet(path, 60_000, Reading())[0] == numbers).all()
    lines[50_001] = "1,2"
    path.write_text("\n".join(lines))
    refuses("line 50002 has 2 columns where others have 3", read_sheet, path, 60_000, Reading())
