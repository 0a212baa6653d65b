"""How the page looks: its style sheet, and how many colours that has."""

from importlib.resources import files

SERIES = 8
"""Lines that have a colour of their own; further ones begin again."""
SIZE_SHADES = 8
LOAD_SHADES = 10


def read_style() -> str:
    """The style sheet of the page."""
    return (files("gadget.report.simulation") / "page.css").read_text("utf-8")
