"""How fast an application is: a timing, and the bandwidth that its rings were measured to reach."""

from collections.abc import Mapping
from dataclasses import dataclass

from gadget.errors import InvalidValue
from gadget.model.quantity import check_positive
from gadget.model.timing import Timing


@dataclass(frozen=True, slots=True)
class Profile:
    """`timing` and `bandwidth_gbps` of a job, as they stand in its file."""

    timing: Timing
    bandwidth_gbps: float

    def __post_init__(self) -> None:
        check_positive("bandwidth_gbps", self.bandwidth_gbps)


@dataclass(frozen=True, slots=True)
class Profiles:
    """A profile for each application, by its name."""

    by_name: Mapping[str, Profile]

    def __post_init__(self) -> None:
        if not self.by_name:
            raise InvalidValue("profiles", "is empty", "Name at least one application")
