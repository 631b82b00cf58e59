"""Studies as labelled tables, with the real packages."""

from pathlib import Path

import pytest

from dalenius.errors import InputError
from dalenius.studies import running
from dalenius.studies.store import Store
from dalenius.studies.study import Study

pytestmark = pytest.mark.extras

TEXT = """
[study]
name = "s"
[fix]
query = "count(n=2)"
mechanism = "geometric(epsilon={epsilon})"
tolerance = 1e-3
[vary]
epsilon = [0.5, 1.0]
knowledge = [0.1, 0.5, 1.0]
"""


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    path = tmp_path_factory.mktemp("study") / "s.toml"
    path.write_text(TEXT)
    study = Study.load(path)
    with Store.open(study.store, study.name, study.source.text) as opened:
        opened.put([running.answer((point.key, point.work)) for point in study.points])
    return study.refreshed()


def test_a_frame_has_one_row_a_point(study: Study) -> None:
    frame = study.to_frame()
    assert list(frame.columns[:4]) == ["epsilon", "knowledge", "lower", "upper"]
    assert len(frame) == 6
    assert (frame["lower"] <= frame["upper"]).all()


def test_an_array_has_the_varied_keys_as_coordinates(study: Study) -> None:
    array = study.to_xarray()
    assert dict(array.sizes) == {"epsilon": 2, "knowledge": 3}
    row = study.rows()[4]
    assert float(array["upper"].sel(epsilon=row["epsilon"], knowledge=row["knowledge"])) == row["upper"]


@pytest.mark.parametrize("ending", ["csv", "parquet", "nc"])
def test_files_hold_the_same_numbers(study: Study, tmp_path: Path, ending: str) -> None:
    pandas, xarray = pytest.importorskip("pandas"), pytest.importorskip("xarray")
    path = tmp_path / f"t.{ending}"
    study.export(path)
    if ending == "nc":
        with xarray.open_dataset(path) as found:
            uppers = sorted(found["upper"].to_numpy().ravel().tolist())
    else:
        uppers = sorted((pandas.read_csv if ending == "csv" else pandas.read_parquet)(path)["upper"].tolist())
    assert uppers == sorted(row["upper"] for row in study.rows())


def test_another_ending_is_refused(study: Study, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"\.csv, \.parquet or \.nc"):
        study.export(tmp_path / "t.xlsx")
