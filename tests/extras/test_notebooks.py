"""Notebooks: the examples run, and results show themselves in a fresh kernel without any set-up."""

import re
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.extras, pytest.mark.filterwarnings("ignore")]

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.ipynb"))
QUICK = "query = dl.queries.count(n=2); mechanism = dl.mechanisms.geometric(query, epsilon=1)"
CELLS = [
    f"import dalenius as dl\n{QUICK}",
    "audit = dl.audit(mechanism, knowledge=0.5, progress=True)",
    "audit.plot()",
    "audit",
    "dl.curve(mechanism, knowledges=[0.1, 0.5])",
    "dl.calibrate('geometric', query, leakage=0.1, knowledge=0.5, progress=True)",
    "dl.verify(audit.certificate)",
    "import matplotlib.pyplot as plt\naudit.plot()",
]


def executed(cells: list[str], folder: Path) -> list[Any]:
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code) for code in cells])
    nbclient.NotebookClient(book, timeout=300, resources={"metadata": {"path": str(folder)}}).execute()
    return list(book.cells)


def kinds(cell: Any) -> list[set[str]]:
    return [set(output.get("data", {})) for output in cell.outputs]


def test_a_fresh_kernel_shows_pictures_tables_and_one_bar(tmp_path: Path) -> None:
    _, search, picture, audit, curve, calibration, verdict, again = executed(CELLS, tmp_path)
    assert kinds(picture) == kinds(again) == [{"image/png", "text/plain"}]
    for cell in (audit, curve, verdict):
        assert kinds(cell) == [{"text/html", "text/plain"}]
    for cell in (search, calibration):
        assert not [output for output in cell.outputs if output.output_type == "stream"]
        bars = [output for output in cell.outputs if output.output_type == "display_data"]
        assert len(bars) == 1
        assert "<progress" in bars[0].data["text/html"]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs_and_its_file_is_small_and_plain(path: Path, tmp_path: Path) -> None:
    nbformat = pytest.importorskip("nbformat")
    book = nbformat.read(path, as_version=4)
    nbformat.validate(book)
    code = [cell.source for cell in book.cells if cell.cell_type == "code"]
    if any("statsmodels" in source for source in code):
        pytest.importorskip("statsmodels")
    assert path.stat().st_size < 200_000
    assert not re.search(r"/(home|tmp|root|work|Users)/", path.read_text())
    if path.stem == "machine-learning":
        return  # tests/extras/test_sklearn.py runs it, and looks at its numbers
    cells = executed(code, tmp_path)
    assert not [output for cell in cells for output in cell.outputs if output.output_type == "error"]
    assert [output for cell in cells for output in cell.outputs if "image/png" in output.get("data", {})]
