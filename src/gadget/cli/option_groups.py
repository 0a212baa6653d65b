"""Options that several commands share, as one parameter: a dataclass whose fields are the options."""

import inspect
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, get_type_hints

Command = Callable[..., None]


def spread_groups(command: Command) -> Command:
    """The command as typer is to see it: every parameter that is a dataclass stands for the fields of it."""
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {name: kind for name, kind in hints.items() if is_dataclass(kind)}
    parameters: list[inspect.Parameter] = []
    for parameter in inspect.signature(command).parameters.values():
        if parameter.name in groups:
            parameters += _list_fields(groups[parameter.name])
        else:
            parameters.append(
                parameter.replace(annotation=hints[parameter.name], kind=inspect.Parameter.KEYWORD_ONLY)
            )

    def spread(**given: Any) -> None:
        for name, group in groups.items():
            given[name] = group(**{field.name: given.pop(field.name) for field in fields(group)})
        command(**given)

    spread.__name__, spread.__doc__ = command.__name__, command.__doc__
    spread.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # what inspect reads
    spread.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return spread


def _list_fields(group: Any) -> list[inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)
    return [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if field.default is MISSING else field.default,
            annotation=hints[field.name],
        )
        for field in fields(group)
    ]
