"""One HTML page with every picture and table inside: nothing is loaded from anywhere."""

from __future__ import annotations

import base64
import html
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from edgeworth.paper.pictures import Picture
    from edgeworth.paper.tables import Table

__all__ = ["page", "picture_section", "table_section"]

_STYLE = """
:root { color-scheme: light; }
body { font: 17px/1.55 Georgia, "Times New Roman", serif; color: #1c1c1c; background: #fff; max-width: 60rem;
       margin: 3rem auto; padding: 0 1.2rem; }
h1 { font-size: 1.8rem; line-height: 1.2; margin: 0 0 .4rem; }
h2 { font-size: 1.15rem; margin: 3.2rem 0 .6rem; }
p.lead { color: #444; }
figure { margin: 0; }
figure img { display: block; max-width: 100%; height: auto; margin: 0 auto; }
figcaption, .caption { font-size: .9rem; color: #333; margin: .6rem 0; }
nav ol { columns: 2; font-size: .9rem; padding-left: 1.4rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font: 13.5px/1.4 ui-monospace, "DejaVu Sans Mono", Menlo, monospace;
        margin: .4rem auto; }
th, td { padding: .25rem .7rem; text-align: right; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; font-family: Georgia, serif; font-size: 14.5px; }
thead tr { border-top: 1.5px solid #222; border-bottom: 1px solid #222; }
tbody tr:last-child { border-bottom: 1.5px solid #222; }
a { color: #0b4f8a; }
code { font-size: .9em; }
"""


def page(title: str, lead: str, sections: list[tuple[str, str, str]]) -> str:
    """The page: (anchor, title, body) for each section."""
    contents = "".join(f'<li><a href="#{anchor}">{html.escape(name)}</a></li>' for anchor, name, _ in sections)
    bodies = "".join(
        f'<section id="{anchor}"><h2>{html.escape(name)}</h2>{body}</section>' for anchor, name, body in sections
    )
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{html.escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style></head><body>'
        f'<h1>{html.escape(title)}</h1><p class="lead">{html.escape(lead)}</p><nav><ol>{contents}</ol></nav>{bodies}'
        "</body></html>\n"
    )


def picture_section(picture: Picture, png: bytes) -> tuple[str, str, str]:
    """A picture, embedded, with its caption and the name of its numbers."""
    data = base64.b64encode(png).decode("ascii")
    body = (
        f'<figure><img alt="{html.escape(picture.title)}" src="data:image/png;base64,{data}">'
        f"<figcaption>{html.escape(picture.caption)} {_numbers(f'figure_{picture.name}.csv')}</figcaption></figure>"
    )
    return f"figure_{picture.name}", picture.title, body


def table_section(table: Table) -> tuple[str, str, str]:
    """A table with its caption; numbers to three digits, all of them in the file."""
    head = "".join(f"<th>{html.escape(cell)}</th>" for cell in table.header)
    rows = "".join("<tr>" + "".join(f"<td>{_cell(cell)}</td>" for cell in row) + "</tr>" for row in table.rows)
    body = (
        f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'
        f'<p class="caption">{html.escape(table.caption)} {_numbers(f"table_{table.name}.csv")}</p>'
    )
    return f"table_{table.name}", table.title, body


def _numbers(name: str) -> str:
    return f'Numbers: <a href="{name}">{name}</a>.'


def _cell(cell: str | float) -> str:
    return html.escape(cell) if isinstance(cell, str) else f"{cell:.3g}"
