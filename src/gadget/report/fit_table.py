"""Fits as numbers: for people, and as a document for programs."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from gadget.model.measured import Measured
from gadget.model.profile import Profile
from gadget.solve.fitting import Constants, Law
from gadget.solve.held_out import Fit

VERSION = 1


@dataclass(frozen=True, slots=True)
class FittedApplication:
    """The fits of one application, and the profile that each of them gives."""

    measured: Measured
    fits: tuple[Fit, ...]
    profiles: tuple[Profile, ...]

    @property
    def best_profile(self) -> Profile:
        """That of the most general law that was fitted."""
        return self.profiles[-1]


ERROR_COLUMNS = (
    "application",
    "law",
    "#rows",
    "#placements",
    "#held out",
    "#median error",
    "#90th percentile",
)
CONSTANT_COLUMNS = (
    "application",
    "law",
    "#cross, ms",
    "#local, ms",
    "#step, ms",
    "#sample, ms",
    "#fixed, ms",
    "#overlap",
)

_IN_MS: tuple[Callable[[Constants], float], ...] = (
    lambda found: 1000 * found.cross_seconds,
    lambda found: 1000 * found.local_seconds,
    lambda found: 1000 * found.hop_seconds,
    lambda found: 1000 * found.sample_seconds,
    lambda found: 1000 * found.fixed_seconds,
    lambda found: found.overlap,
)
_EXTENSION = (1, 2, 5)


def error_rows(applications: Sequence[FittedApplication]) -> Iterator[tuple[str, ...]]:
    """How well each law tells the times of placements it was not fitted to."""
    for one in applications:
        for fit in one.fits:
            yield (
                one.measured.name,
                str(fit.law),
                f"{len(one.measured)}",
                f"{len(one.measured.distinct_placements)}",
                f"{len(fit.measured)}",
                f"{100 * fit.median_error:.1f}%",
                f"{100 * fit.tail_error:.1f}%",
            )


def constant_rows(applications: Sequence[FittedApplication]) -> Iterator[tuple[str, ...]]:
    """What step times tell; in brackets the least and the most when parts are left out."""
    for one in applications:
        for fit in one.fits:
            cells = [
                "–" if fit.law is Law.PUBLISHED and place in _EXTENSION else _with_range(fit, number)
                for place, number in enumerate(_IN_MS)
            ]
            yield (one.measured.name, str(fit.law), *cells)


def build_fit_document(applications: Sequence[FittedApplication], left_out: int) -> dict[str, Any]:
    """All of it as plain values."""
    return {
        "version": VERSION,
        "rows_left_out": left_out,
        "applications": [
            {
                "name": one.measured.name,
                "rows": len(one.measured),
                "placements": len(one.measured.distinct_placements),
                "laws": {
                    str(fit.law): {
                        "held_out_rows": len(fit.measured),
                        "median_error": fit.median_error,
                        "tail_error": fit.tail_error,
                        "constants": asdict(fit.constants),
                        "constants_of_parts": [asdict(part) for part in fit.parts],
                        "bandwidth_gbps": profile.bandwidth_gbps,
                        "timing": {
                            key: value for key, value in asdict(profile.timing).items() if value is not None
                        },
                    }
                    for fit, profile in zip(one.fits, one.profiles, strict=True)
                },
            }
            for one in applications
        ],
    }


def _with_range(fit: Fit, number: Callable[[Constants], float]) -> str:
    parts = [number(part) for part in fit.parts]
    return f"{_show(number(fit.constants))} [{_show(min(parts))} … {_show(max(parts))}]"


def _show(number: float) -> str:
    if number >= 100:
        return f"{number:.0f}"
    return f"{number:.3g}" if number >= 1e-4 else f"{number:.1g}"
