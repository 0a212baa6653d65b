"""gadget fit: how fast rings really are, from measured step times."""

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.text import Text

from gadget.cli.console import Shown, ShownOption, remarks, table
from gadget.cli.console import output as standard_output
from gadget.errors import BadOption
from gadget.model.codec import write as write_document
from gadget.model.names import nearest_hint
from gadget.model.profile import Profiles
from gadget.model.quantity import LARGEST, SMALLEST
from gadget.model.wording import say_count
from gadget.report.fit_table import (
    CONSTANT_COLUMNS,
    ERROR_COLUMNS,
    FittedApplication,
    build_fit_document,
    constant_rows,
    error_rows,
)
from gadget.solve.fitting import Law
from gadget.solve.held_out import deal_placements, fit_held_out, name_part
from gadget.solve.profiles import ENDLESS_GBPS, Conventions, build_profile
from gadget.workloads.measurements import Reading, read_measurements


class Model(StrEnum):
    """Which laws are fitted."""

    PUBLISHED = "published"
    EXTENDED = "extended"
    BOTH = "both"


ByName = dict[str | None, float]
_BY_NAME = "NUMBER, or NAME=NUMBER for one application; give it several times."


def fit(
    measurements: Annotated[
        list[Path],
        typer.Argument(
            help="CSV files of measured steps, or folders of them; their folder names the application."
        ),
    ],
    *,
    model: Annotated[Model, typer.Option(help="Eq. (1) as published, its extension, or both.")] = Model.BOTH,
    folds: Annotated[
        int, typer.Option(min=2, max=10_000, help="Parts of the placements; each is held out once.")
    ] = 10,
    held_out: Annotated[
        list[str] | None,
        typer.Option(help="Hold out this placement instead, as in 1124 or 16x64; give it several times."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Deals the placements into parts.")] = 0,
    gradient_mb: Annotated[
        list[str] | None, typer.Option(help=f"d, by convention 100 where not told. {_BY_NAME}")
    ] = None,
    reduce_gbps: Annotated[
        float, typer.Option(help="G. By default so fast that all communication is put down to bandwidth.")
    ] = ENDLESS_GBPS,
    batch: Annotated[
        list[str] | None, typer.Option(help=f"M of the profile; default: the median measured. {_BY_NAME}")
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Refuse files with a row that cannot be used.")
    ] = False,
    shown: ShownOption = Shown.TABLE,
    write: Annotated[
        Path | None, typer.Option(help="Write the profiles to this file (.json, else YAML).")
    ] = None,
    picture: Annotated[
        Path | None, typer.Option(help="Draw predicted against measured times (.svg, .png or .pdf).")
    ] = None,
) -> None:
    """Fit Eq. (1) and its extension to measured step times; report the error on placements held out.

    Example:  gadget fit traces/pollux --gradient-mb bert=440 --write profiles.yaml --picture fit.svg
    """
    reading = read_measurements(measurements, strict=strict)
    names = [one.name for one in reading.applications]
    gradients = _read_by_name("--gradient-mb", gradient_mb, names)
    batches = _read_by_name("--batch", batch, names)
    _check_amount("--reduce-gbps", reduce_gbps)
    laws = tuple(Law) if model is Model.BOTH else (Law(model),)
    fitted = []
    for one in reading.applications:
        part_of = name_part(one, held_out) if held_out else deal_placements(one, folds, seed)
        fits = tuple(fit_held_out(one, law, part_of) for law in laws)
        told = Conventions(
            _pick(gradients, one.name, 100.0),
            reduce_gbps,
            _pick(batches, one.name, float(np.median(one.batch))),
        )
        fitted.append(
            FittedApplication(
                one, fits, tuple(build_profile(one.name, fit.law, fit.constants, told) for fit in fits)
            )
        )
    if picture is not None:
        from gadget.report.fit_picture import draw_fits  # noqa: PLC0415 - what draws takes a second to load

        draw_fits(fitted, picture)
    if write is not None:
        write_document(write, Profiles(tuple(one.best_profile for one in fitted)))
    _remark(reading)
    _show(fitted, sum(bad.count for bad in reading.left_out), shown)
    for file in (write, picture):
        if file is not None:
            remarks().print(Text(f"written: {file}"))


def add_to(app: typer.Typer) -> None:
    """Add this command."""
    app.command()(fit)


def _show(fitted: list[FittedApplication], left_out: int, shown: Shown) -> None:
    if shown is Shown.JSON:
        typer.echo(json.dumps(build_fit_document(fitted, left_out), indent=2, ensure_ascii=False))
        return
    console = standard_output()
    errors = table("Relative error of the step time, on placements held out of the fit", *ERROR_COLUMNS)
    for row in error_rows(fitted):
        errors.add_row(*map(Text, row))
    console.print(errors)
    console.print()
    constants = table(
        "What step times tell (in brackets: least … most when a part is left out)", *CONSTANT_COLUMNS
    )
    for row in constant_rows(fitted):
        constants.add_row(*map(Text, row))
    console.print(constants)
    console.print()
    console.print(
        "cross and local are d(2/b + 1/G), fixed is t_b + γ: step times tell no more. Profiles take d from\n"
        "--gradient-mb, G from --reduce-gbps and M from --batch, and γ = 0; b and t_b follow."
    )


def _remark(reading: Reading) -> None:
    for bad in reading.left_out:
        text = f"{bad.path}: {bad.count} of {bad.rows} rows cannot be used and are left out; {bad.first}."
        remarks().print(Text(text), soft_wrap=True)
    if reading.other_files:
        first = reading.other_files[0]
        count = say_count(len(reading.other_files), "CSV file")
        text = f"passed over: {count} with something else inside, {first} first."
        remarks().print(Text(text), soft_wrap=True)


def _read_by_name(option: str, given: list[str] | None, names: list[str]) -> ByName:
    found: ByName = {}
    for text in given or []:
        name, equals, number = text.rpartition("=")
        if equals and name not in names:
            raise BadOption(
                f"{option} {text}: no application is called {name!r}{nearest_hint(name, names)}. "
                f"Found: {', '.join(names)}."
            )
        try:
            amount = float(number)
        except ValueError:
            raise BadOption(
                f"{option} {text}: {number!r} is not a number. Write 440 or bert=440, say."
            ) from None
        _check_amount(f"{option} {text}", amount)
        found[name if equals else None] = amount
    return found


def _check_amount(option: str, amount: float) -> None:
    if not SMALLEST <= amount <= LARGEST:
        raise BadOption(f"{option}: is {amount:g}. Give a number from {SMALLEST:g} to {LARGEST:g}.")


def _pick(found: ByName, name: str, default: float) -> float:
    return found.get(name, found.get(None, default))
