"""What is wrong now."""

from gadget.live.view import Fault


class Faults:
    """At most one of each topic, since it began."""

    def __init__(self) -> None:
        self._now: dict[str, Fault] = {}

    def begin(self, topic: str, text: str, wall: float) -> None:
        """Something is wrong, or still is."""
        since = self._now[topic].since if topic in self._now else wall
        self._now[topic] = Fault(topic, since, text)

    def end(self, topic: str) -> None:
        """It is not any more."""
        self._now.pop(topic, None)

    def has(self, topic: str) -> bool:
        """Whether something of this topic is wrong."""
        return topic in self._now

    def now(self) -> tuple[Fault, ...]:
        """All that is wrong."""
        return tuple(self._now.values())
