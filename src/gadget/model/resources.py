"""Amounts of resources by name: what a server offers, a worker takes, a budget allows."""

from collections.abc import ItemsView, Iterator, Mapping, ValuesView
from typing import Self

from gadget.model.names import check_name
from gadget.model.quantity import check_at_least_zero


class Resources(Mapping[str, float]):
    """An immutable, hashable mapping from resource name to an amount ≥ 0.

    >>> Resources({"gpu": 8, "memory_gib": 512})["gpu"]
    8
    """

    __slots__ = ("_amounts",)

    _amounts: dict[str, float]

    def __new__(cls, amounts: Mapping[str, float]) -> Self:
        """Check and copy the amounts."""
        for name, amount in amounts.items():
            check_name("a resource name", name)
            check_at_least_zero(name, amount)
        made = super().__new__(cls)
        object.__setattr__(made, "_amounts", dict(amounts))
        return made

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"Resources cannot be changed (tried to set {name})")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"Resources cannot be changed (tried to delete {name})")

    def __getitem__(self, name: str) -> float:
        return self._amounts[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._amounts)

    def __len__(self) -> int:
        return len(self._amounts)

    def items(self) -> ItemsView[str, float]:
        """Pairs of name and amount, in the order given."""
        return self._amounts.items()

    def values(self) -> ValuesView[float]:
        """The amounts, in the order given."""
        return self._amounts.values()

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Resources):
            return self._amounts == other._amounts
        return self._amounts == other

    def __hash__(self) -> int:
        return hash(frozenset(self._amounts.items()))

    def __repr__(self) -> str:
        return f"Resources({self._amounts!r})"

    def __reduce__(self) -> tuple[type[Self], tuple[dict[str, float]]]:
        return type(self), (self._amounts,)
