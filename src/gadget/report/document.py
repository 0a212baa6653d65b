"""A page that needs nothing beside itself: no script, no other file, light or dark as the reader has it."""

from collections.abc import Iterable
from html import escape

from gadget.report.simulation.style import read_style


def build_document(title: str, parts: Iterable[str]) -> str:
    """The whole page as HTML around the given parts of its body."""
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{read_style()}</style></head>\n<body>\n"
        + "\n".join(part for part in parts if part)
        + "\n</body></html>\n"
    )
