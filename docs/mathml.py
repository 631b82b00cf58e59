"""Formulas as MathML, made when the pages are built: browsers draw them without a network and without a script."""

import re

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.writers.html5 import HTML5Translator

# Names of functions stand apart from their argument, and bars around a set close to it.
FUNCTION = re.compile(r"<mi>(log|exp|ln|sin|cos|sec|sinh|cosh|tanh)</mi>(?P<bracket><mo[^>]*>\()?")
BARS = {r"\lvert": r"\operatorname{LVERT}", r"\rvert": r"\operatorname{RVERT}"}

LOG = logging.getLogger(__name__)


def _mathml(node: nodes.Element, display: str) -> str:
    """Return a formula as MathML; one that cannot be converted is a warning, which fails `make docs`."""
    formula = node.astext().strip()
    for bar, name in BARS.items():
        formula = formula.replace(bar, name)
    try:
        return _spaced(convert(formula, display=display))
    except Exception as error:  # noqa: BLE001 - the converter raises many kinds
        LOG.warning("this formula cannot be drawn (%r): %s", error, formula, location=node)
        return ""


def _spaced(text: str) -> str:
    """Return MathML with the spaces that TeX would set."""
    text = re.sub("<mo>[LR]VERT</mo>", '<mo stretchy="false" lspace="0" rspace="0">|</mo>', text)
    return FUNCTION.sub(_function, text)


def _function(found: re.Match[str]) -> str:
    after = "0" if found["bracket"] else "0.17em"
    return f'<mo lspace="0.17em" rspace="{after}">{found[1]}</mo>{found["bracket"] or ""}'


def visit_inline(translator: HTML5Translator, node: nodes.math) -> None:
    """Write a formula inside a line."""
    translator.body.append(_mathml(node, "inline"))
    raise nodes.SkipNode


def visit_block(translator: HTML5Translator, node: nodes.math_block) -> None:
    """Write a formula on a line of its own."""
    translator.body.append(f'<div class="math">{_mathml(node, "block")}</div>\n')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the renderer."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
