"""Tables as LaTeX (booktabs): best in bold, second underlined, the commands of runs in comments."""

from __future__ import annotations

from dovetail_bench.reporting.report import Origin
from dovetail_bench.reporting.tabular import (
    BEST,
    LONG,
    NONE,
    SECOND,
    Cell,
    Column,
    Row,
    Table,
    text_of,
)

_SIGNS = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
    "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", "Δ": r"$\Delta$", NONE: "--",
    "\N{DAGGER}": r"\dag{}", "\N{DOUBLE DAGGER}": r"\ddag{}",
}  # fmt: skip
# A table that is too wide for the page is made smaller.
_FITTED = r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%"


def table_latex(table: Table, dataset: str, origins: tuple[Origin, ...]) -> str:
    """A table environment with caption and label; the document needs booktabs and graphicx."""
    cited = {number for row in table.rows for number in row.runs}
    lines = [
        f"% run {origin.number}: {_comment(origin.path.name)}: {_comment(origin.command)}"
        for origin in origins
        if origin.number in cited
    ]
    kinds = "".join(_kind(table, place) for place in range(len(table.columns)))
    heads = [*(_escape(column.name) for column in table.columns), "run"]
    caption = f"{table.title}, {dataset}. {table.note}".strip()
    lines += [
        r"\begin{table}", r"\centering", _FITTED, rf"\begin{{tabular}}{{{kinds}l}}", r"\toprule",
        " & ".join(heads) + r" \\", r"\midrule",
    ]  # fmt: skip
    apart = False
    for number, row in enumerate(table.rows):
        if row.published and not apart and number:
            lines.append(r"\midrule")
        apart = bool(row.published)
        shown = [
            _cell(cell, table.columns[place], table.ranks.get((number, place), ""))
            for place, cell in enumerate(row.cells)
        ]
        lines.append(" & ".join([*shown, _origin(row)]) + r" \\")
    lines += [
        r"\bottomrule", r"\end{tabular}", "}", rf"\caption{{{_escape(caption)}}}",
        rf"\label{{tab:{_label(dataset)}-{table.name}}}", r"\end{table}", "",
    ]  # fmt: skip
    return "\n".join(lines)


def _cell(cell: Cell, column: Column, rank: str) -> str:
    text = _escape(text_of(cell, column))
    if rank == BEST:
        text = rf"\textbf{{{text}}}"
    elif rank == SECOND:
        text = rf"\underline{{{text}}}"
    return rf"{text}$^{{\mathrm{{{_escape(cell.mark)}}}}}$" if cell.mark else text


def _origin(row: Row) -> str:
    if row.published:
        return _escape(f"published: {row.published}")
    return ", ".join(map(str, row.runs))


def _kind(table: Table, place: int) -> str:
    """How a column is set: numbers to the right, long text in lines of its own."""
    values = [row.cells[place].value for row in table.rows]
    if any(isinstance(value, float | int) for value in values):
        return "r"
    long = any(isinstance(value, str) and len(value) > LONG for value in values)
    return r"p{0.3\linewidth}" if long else "l"


def _escape(text: str) -> str:
    return "".join(_SIGNS.get(sign, sign) for sign in text)


def _label(text: str) -> str:
    return "".join(sign if sign.isalnum() else "-" for sign in text)


def _comment(text: str) -> str:
    return " ".join(text.split())
