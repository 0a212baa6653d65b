"""Pictures as files: of three kinds, the same bytes for the same picture, whole or not at all."""

import warnings
from collections.abc import Callable, Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

from gadget.errors import BadOption
from gadget.files import write_whole

METADATA: Mapping[str, dict[str, None]] = {
    "svg": {"Date": None, "Creator": None},
    "png": {"Software": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}
STYLE: dict[Any, Any] = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Helvetica", "Arial"],
    "svg.fonttype": "none",
    "svg.hashsalt": "gadget",
    "text.usetex": False,
}


def check_picture_kind(path: Path) -> str:
    """The kind of picture that a path asks for; BadOption if there is none such."""
    kind = path.suffix.lower().removeprefix(".")
    if kind not in METADATA:
        raise BadOption(f"{path}: a picture cannot be of kind {path.suffix!r}. Use .svg, .png or .pdf.")
    return kind


def save_picture(path: Path, build: Callable[[], Figure]) -> None:
    """Write the figure that `build` makes to a .svg, .png or .pdf file."""
    kind = check_picture_kind(path)
    content = BytesIO()
    with mpl.rc_context(STYLE), warnings.catch_warnings():
        # Users' names may hold letters that the font lacks; a box in their place is all that happens.
        warnings.simplefilter("ignore", UserWarning)
        build().savefig(content, format=kind, dpi=200, metadata=METADATA[kind])
    write_whole(path, content.getvalue())
