"""Seeds as the command line names them."""

from gadget.errors import BadOption

MOST_SEEDS = 10_000


def read_seeds(span: str | None, single: list[int] | None) -> list[int]:
    """The seeds of `--seeds` (0:3 or 1,5,9) or of every `--seed`; 0 where neither is given."""
    if span is None:
        return single or [0]
    if single:
        raise BadOption("--seeds and --seed are both given. Give one of them.")
    try:
        if ":" in span:
            first, last = (int(number) for number in span.split(":"))
            numbers = list(range(first, min(last, first + MOST_SEEDS + 1)))
        else:
            numbers = [int(number) for number in span.split(",")]
    except ValueError:
        raise BadOption(f"--seeds {span}: is not understood. Write 0:3 or 1,5,9, say.") from None
    if not numbers or min(numbers) < 0 or len(numbers) > MOST_SEEDS:
        raise BadOption(
            f"--seeds {span}: stands for {len(numbers)} seeds. Name 1 to {MOST_SEEDS:,}, none below 0."
        )
    return numbers
