"""How fast an application is: a timing, and the bandwidth that its rings were measured to reach."""

from dataclasses import dataclass

from gadget.errors import InvalidValue
from gadget.model.names import check_name
from gadget.model.quantity import check_positive
from gadget.model.timing import Timing


@dataclass(frozen=True, slots=True)
class Profile:
    """`bandwidth_gbps` and `timing` as they stand in a job's file."""

    name: str
    bandwidth_gbps: float
    timing: Timing

    def __post_init__(self) -> None:
        check_name("name", self.name)
        check_positive("bandwidth_gbps", self.bandwidth_gbps)


@dataclass(frozen=True, slots=True)
class Profiles:
    """Profiles of several applications."""

    profiles: tuple[Profile, ...]

    def __post_init__(self) -> None:
        seen: dict[str, int] = {}
        for place, profile in enumerate(self.profiles):
            if (first := seen.setdefault(profile.name, place)) != place:
                raise InvalidValue(
                    f"profiles[{place}].name",
                    f"is {profile.name!r}, as is profiles[{first}].name",
                    "Rename one of them",
                )
