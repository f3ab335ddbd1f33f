"""A report as sections of text, tables and figures, and the forms it is written in: HTML, Markdown and LaTeX."""

import io
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import jinja2
import matplotlib as mpl
from markupsafe import Markup, escape
from matplotlib.figure import Figure

from ramify.experiments.figures import STYLE, save
from ramify.experiments.tables import as_markdown
from ramify.files import whole_file

BEST = re.compile(r"\*\*(.+?)\*\*")
NUMBER = re.compile(r"^(\**[-+]?[\d.]+\**( ± [\d.]+)?\**|-|)$")
LONG = 40  # characters: longer cells may be broken


@dataclass(frozen=True)
class Block:
    """A table or a figure, with what is said below it."""

    caption: str
    header: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    """Of a table; the best of a column stands between two pairs of stars."""
    figure: Figure | None = None
    file: str = ""
    """Of a figure: its name, without an ending."""
    folded: bool = False
    """Whether a page shows it only on demand."""

    @property
    def kinds(self) -> list[str]:
        """What each column holds: numbers, short words, or a text that may take several lines.

        >>> table("", (["learner", "P@1", "why"], [["leml", "**0.5** ± 0.1", "a" * 50], ["refine", "", ""]])).kinds
        ['words', 'numbers', 'text']
        """
        columns = list(zip(*self.rows, strict=True)) or [()] * len(self.header)
        return [
            "text"
            if any(len(cell) > LONG for cell in column)
            else "numbers"
            if all(NUMBER.match(cell) for cell in column)
            else "words"
            for column in columns
        ]


@dataclass
class Section:
    """A heading, what is said, and what is shown."""

    title: str
    paragraphs: list[str] = field(default_factory=list)
    blocks: list[Block] = field(default_factory=list)

    @property
    def anchor(self) -> str:
        """Where links lead.

        >>> Section("Table 3: asking").anchor
        'table-3-asking'
        """
        return re.sub(r"[^a-z0-9]+", "-", self.title.casefold()).strip("-")


def table(caption: str, content: tuple[Sequence[str], Sequence[Sequence[str]]], *, folded: bool = False) -> Block:
    """A table of a header and rows."""
    header, rows = content
    return Block(caption, tuple(header), tuple(tuple(row) for row in rows), folded=folded)


def write(title: str, sections: Sequence[Section], folder: Path) -> list[Path]:
    """Write report.html (one file with everything in it), report.md and figures beside it, and tables.tex."""
    files = {
        "report.html": as_html(title, sections),
        "report.md": as_text(title, sections),
        "tables.tex": as_latex(sections),
    }
    written = []
    for name, text in files.items():
        with whole_file(folder / name) as draft:
            draft.write_text(text, encoding="utf-8")
        written.append(folder / name)
    (folder / "figures").mkdir(exist_ok=True)
    for block in (block for section in sections for block in section.blocks):
        if block.figure is not None:
            save(block.figure, folder / "figures" / block.file)
    return written


def as_html(title: str, sections: Sequence[Section]) -> str:
    """One page without anything outside of it: figures are inside as SVG, tables are sorted by a click on a heading."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("ramify.experiments", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters |= {"marked": _marked, "svg": _svg}
    return environment.get_template("report.html").render(title=title, sections=sections)


def as_text(title: str, sections: Sequence[Section]) -> str:
    """Markdown, with links to the figures."""
    parts = [f"# {title}"]
    for section in sections:
        parts += [f"## {section.title}", *section.paragraphs]
        for block in section.blocks:
            if block.figure is not None:
                parts.append(f"![{block.caption}](figures/{block.file}.png)")
            else:
                parts += [f"**{block.caption}**", as_markdown(block.header, block.rows)]
    return "\n\n".join(parts) + "\n"


def as_latex(sections: Sequence[Section]) -> str:
    """The tables alone, for \\usepackage{booktabs}."""
    blocks = [block for section in sections for block in section.blocks if block.figure is None]
    return "\n\n".join(_latex_table(block) for block in blocks) + "\n"


def _latex_table(block: Block) -> str:
    lines = [" & ".join(map(_latex, block.header)) + r" \\", r"\midrule"]
    lines += [" & ".join(map(_latex, row)) + r" \\" for row in block.rows]
    columns = "l" + "r" * (len(block.header) - 1)
    begin = [r"\begin{table}", r"\small\centering", rf"\caption{{{_latex(block.caption)}}}"]
    body = [rf"\begin{{tabular}}{{{columns}}}", r"\toprule", *lines, r"\bottomrule", r"\end{tabular}"]
    return "\n".join([*begin, *body, r"\end{table}"])


def _latex(text: str) -> str:
    """Text that LaTeX prints as it is.

    >>> print(_latex("**0.5 ± 0.1** of 10 % (p_c)"))
    \\textbf{0.5 $\\pm$ 0.1} of 10 \\% (p\\_c)
    """
    for sign in "&%$#_{}":
        text = text.replace(sign, f"\\{sign}")
    return BEST.sub(r"\\textbf{\1}", text.replace("±", r"$\pm$").replace("×", r"$\times$"))


def _marked(text: str) -> Markup:
    """Text for the page: the best in bold, code between backquotes.

    >>> str(_marked("**0.5** of `a<b`"))
    '<strong>0.5</strong> of <code>a&lt;b</code>'
    """
    bold = BEST.sub(r"<strong>\1</strong>", str(escape(text)))
    return Markup(re.sub(r"`(.+?)`", r"<code>\1</code>", bold))


def _svg(figure: Figure) -> Markup:
    """The figure as part of a page, its words as text."""
    with mpl.rc_context({**STYLE, "svg.fonttype": "none"}):
        file = io.StringIO()
        figure.savefig(file, format="svg")
    drawn = file.getvalue()
    return Markup(drawn[drawn.index("<svg") :])
