"""What a simulation leaves, without the times it took."""

import csv
import json
import re
from pathlib import Path


def read_timeless(folder: Path) -> dict[str, object]:
    """Every result file of a folder, byte for byte but for the times."""
    rows = list(csv.DictReader((folder / "slots.csv").read_text().splitlines()))
    for row in rows:
        del row["seconds"]
    summary = json.loads((folder / "summary.json").read_text())
    for numbers in summary["policies"].values():
        for part in (numbers, numbers["spread"], *numbers["runs"]):
            part.pop("seconds_per_slot", None)
    page = re.sub(r"<tr><th>seconds a slot.*?</tr>", "", (folder / "report.html").read_text())
    decisions = re.sub(r'"seconds": [^,]*', "", (folder / "decisions.jsonl").read_text())
    return {
        "slots": rows,
        "summary": json.dumps(summary),
        "report": page,
        "decisions": decisions,
        "jobs": (folder / "jobs.csv").read_bytes(),
    }
