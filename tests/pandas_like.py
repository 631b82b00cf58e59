"""Columns and frames that behave as those of pandas do where the package looks, for pandas is no dependency."""

from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray


class Column:
    """As pandas.Series([...])."""

    __module__ = "pandas.core.series"

    def __init__(self, values: list[Any]) -> None:
        self.values = values

    def to_list(self) -> list[Any]:
        return list(self.values)

    def to_numpy(self, dtype: type | None = None, na_value: float = np.nan) -> NDArray[Any]:
        return np.array([na_value if v is None else v for v in self.values], dtype=dtype)

    def __array__(self, dtype: type | None = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.values, dtype=dtype)


class Categories(Column):
    """As pandas.Series([...]).astype("category")."""

    __module__ = "pandas.core.series"

    @property
    def cat(self) -> SimpleNamespace:
        known = sorted({v for v in self.values if v is not None})
        return SimpleNamespace(codes=np.array([-1 if v is None else known.index(v) for v in self.values]))


class Frame:
    """As pandas.DataFrame({...})."""

    __module__ = "pandas.core.frame"

    def __init__(self, columns: dict[str, list[Any]]) -> None:
        self.columns = list(columns)
        self._content = list(columns.values())

    @property
    def iloc(self) -> "Frame":
        return self

    def __getitem__(self, place: tuple[slice, int]) -> Column:
        return Column(self._content[place[1]])
