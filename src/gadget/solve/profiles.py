"""From fitted constants to a profile, with what no measurement can tell settled by convention."""

from dataclasses import dataclass

from gadget.errors import BadOption
from gadget.model.profile import Profile
from gadget.model.timing import GIGABITS_PER_MB, Timing
from gadget.solve.fitting import Constants, Law

# So fast that it takes no time to speak of: all of an all-reduce is then put down to bandwidth.
ENDLESS_GBPS = 1e6
# Written with so many digits; measurements tell fewer.
_DIGITS = 7


@dataclass(frozen=True, slots=True)
class Conventions:
    """Step times tell d(2/b + 1/G) and t_b + γ, not what is in them; these choose among all that fit."""

    gradient_mb: float = 100
    """d."""
    reduce_gbps: float = ENDLESS_GBPS
    """G."""
    batch: float = 1
    """M: measurements hold many; a profile is for one."""


def build_profile(name: str, law: Law, constants: Constants, conventions: Conventions) -> Profile:
    """The profile that predicts what the constants do at the given batch. γ is 0: all of t_b + γ is t_b."""
    timing = Timing(
        gradient_mb=conventions.gradient_mb,
        reduce_gbps=conventions.reduce_gbps,
        forward_ms_per_sample=_round(1000 * constants.sample_seconds),
        batch=conventions.batch,
        backward_ms=_round(1000 * constants.fixed_seconds),
        local_gbps=_find_gbps(name, constants.local_seconds, conventions) if law is Law.EXTENDED else None,
        hop_ms=_round(1000 * constants.hop_seconds),
        overlap=_round(constants.overlap),
    )
    return Profile(name, _find_gbps(name, constants.cross_seconds, conventions), timing)


def _find_gbps(name: str, seconds: float, conventions: Conventions) -> float:
    """b, where d(2/b + 1/G) takes so long."""
    gigabits = conventions.gradient_mb * GIGABITS_PER_MB
    reduced = gigabits / conventions.reduce_gbps
    if reduced >= seconds and conventions.reduce_gbps < ENDLESS_GBPS:
        raise BadOption(
            f"--reduce-gbps {conventions.reduce_gbps:g}: to reduce {conventions.gradient_mb:g} MB alone "
            f"would take {1000 * reduced:.3g} ms; a whole all-reduce of {name} was fitted to "
            f"{1000 * seconds:.3g} ms. Raise it, or lower --gradient-mb."
        )
    return _round(2 * gigabits / max(seconds - reduced, 2 * gigabits / ENDLESS_GBPS))


def _round(number: float) -> float:
    rounded = float(f"{number:.{_DIGITS}g}")
    return rounded if rounded >= 1e-12 else 0.0
