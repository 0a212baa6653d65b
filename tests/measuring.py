"""Measurements made up by a law, on rings of many shapes."""

from dataclasses import replace
from itertools import combinations_with_replacement

import numpy as np

from gadget.model.measured import Measured, name_placement
from gadget.solve.fitting import Constants

PLACEMENTS = [
    counts for servers in (1, 2, 3) for counts in combinations_with_replacement((1, 2, 3, 4), servers)
]
BATCHES = (8, 16, 32, 64, 128)
BERT_LIKE = Constants(
    cross_seconds=1.4,
    local_seconds=0.4,
    hop_seconds=0.002,
    sample_seconds=0.005,
    fixed_seconds=0.25,
    overlap=0.5,
)


def build_shapes(placements=PLACEMENTS, batches=BATCHES, name="made-up"):
    """Every placement with every batch, all steps taking a second."""
    rows = [(counts, batch) for counts in placements for batch in batches]
    return Measured(
        name,
        np.array([name_placement(counts) for counts, _ in rows]),
        np.array([len(counts) for counts, _ in rows]),
        np.array([sum(counts) for counts, _ in rows]),
        np.array([batch for _, batch in rows], dtype=float),
        np.ones(len(rows)),
    )


def measure(constants, shapes=None, noise=0.0, seed=0):
    """The shapes with the times that the constants give them, off by a relative noise."""
    found = build_shapes() if shapes is None else shapes
    factors = np.exp(noise * np.random.default_rng(seed).standard_normal(len(found)))
    return replace(found, step_seconds=constants.predict(found) * factors)


def format_placements(measured, sync=True):
    """The measurements as a file by placement."""
    lines = ["placement,local_bsz,step_time" + (",sync_time" if sync else "")]
    for placement, batch, step in zip(
        measured.placements, measured.batch, measured.step_seconds, strict=True
    ):
        lines.append(f"{placement},{batch:g},{step!r}" + (f",{step / 10!r}" if sync else ""))
    return "\n".join(lines).replace("np.float64(", "").replace(")", "") + "\n"
