"""The page itself: a template, with controls made from their list."""

import json
from html import escape as text
from importlib.resources import files

from dalenius.explore.controls import CONTROLS, MECHANISMS, QUERIES, Choice, Control, fits
from dalenius.explore.question import DEFAULTS, TOLERANCES
from dalenius.model.files import __version__

WORDS = {"0.001": "0.001, quick", "0.0001": "0.0001", "0.000001": "0.000001, may take long"}


def style() -> bytes:
    """Return the style of reports, and what the page adds to it."""
    here = files("dalenius.explore").joinpath("explore.css").read_bytes()
    return files("dalenius.report").joinpath("page.css").read_bytes() + here


def page_html(token: str) -> bytes:
    """Return the page for this token."""
    template = files("dalenius.explore").joinpath("page.html").read_text(encoding="utf-8")
    parts = {
        "token": text(token),
        "version": text(__version__),
        "queries": "".join(_query(one) for one in QUERIES),
        "mechanisms": "".join(_option(one) for one in MECHANISMS),
        "query_controls": "".join(_control(one) for one in CONTROLS.values() if not _of_noise(one)),
        "noise_controls": "".join(_control(one) for one in CONTROLS.values() if _of_noise(one)),
        "tolerances": "".join(_tolerance(value) for value in TOLERANCES),
    }
    for name, content in parts.items():
        template = template.replace(f"{{{{{name}}}}}", content)
    return template.encode()


def _of_noise(control: Control) -> bool:
    return any(control.name in one.takes for one in MECHANISMS)


def _query(choice: Choice) -> str:
    fitting = " ".join(one.name for one in MECHANISMS if fits(choice.name, one.name))
    return _option(choice, f' data-fits="{fitting}"')


def _option(choice: Choice, more: str = "") -> str:
    defaults = {name: choice.defaults.get(name, CONTROLS[name].default) for name in choice.takes}
    chosen = " selected" if choice.name in DEFAULTS.values() else ""
    return (
        f'<option value="{choice.name}" data-defaults="{text(json.dumps(defaults))}"{more}{chosen}>'
        f"{text(choice.name)}: {text(choice.words)}</option>"
    )


def _tolerance(value: str) -> str:
    chosen = " selected" if value == DEFAULTS["tolerance"] else ""
    return f'<option value="{value}"{chosen}>{text(WORDS[value])}</option>'


def _control(control: Control) -> str:
    """A label, and a number with a slider beside it, or a line of text."""
    name, words = control.name, text(control.words)
    if control.kind in ("list", "names", "table"):
        return (
            f'<div class="control" data-for="{name}"><label for="{name}">{words}</label>'
            f'<input id="{name}" name="{name}" value="{text(control.default)}" autocomplete="off" spellcheck="false" '
            f'aria-describedby="{name}-hint"><p class="hint" id="{name}-hint">{text(control.hint)}</p></div>'
        )
    step = "1" if control.kind == "whole" else "any"
    low, high = (control.low, control.high) if not control.log else (0, 1)
    fine = "1" if control.kind == "whole" else "0.01"
    scale = f' data-low="{control.low:g}" data-high="{control.high:g}"' if control.log else ""
    return (
        f'<div class="control" data-for="{name}"><label for="{name}">{words}</label><div class="pair">'
        f'<input id="{name}" name="{name}" type="number" value="{text(control.default)}" min="0" '
        f'max="{control.most:.0f}" step="{step}" inputmode="decimal">'
        f'<input type="range" aria-label="{words}, as a slider" data-of="{name}" min="{low:g}" max="{high:g}" '
        f'step="{fine}"{scale}></div></div>'
    )
