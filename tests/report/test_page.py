from html.parser import HTMLParser
from pathlib import Path

from refusals import refuses
from samples import parity

from dalenius.report.page import Picture, Section, write_report
from dalenius.report.plots import image


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.words: list[str] = []

    def handle_starttag(self, _tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.addresses += [value or "" for name, value in attrs if name in {"src", "href", "srcset"}]

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def test_the_page_carries_everything_itself(tmp_path: Path) -> None:
    figure = parity().plot()
    pictures = (Picture(image(figure, "svg"), "one <figure>"), Picture(image(figure, "png"), "two"))
    section = Section("Heading & more", ("words",), parity().summary(), pictures)
    write_report(tmp_path / "report.html", "a < b", [section, Section("Empty")])
    text = (tmp_path / "report.html").read_text()
    reader = _Reader()
    reader.feed(text)
    kinds = [address.split(",")[0] for address in reader.addresses]
    assert kinds == ["data:image/svg+xml;base64", "data:image/png;base64"]
    assert "url(" not in text
    assert "@import" not in text
    assert {"a < b", "Heading & more", "one <figure>", parity().summary()} <= set(reader.words)


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    refuses("cannot write", write_report, tmp_path / "none" / "report.html", "title", [])
