"""Numbers of things in words."""


def say_count(number: int, thing: str) -> str:
    """The number with its thing: 1 job, 1,200 jobs, 2 switches."""
    if number == 1:
        return f"1 {thing}"
    return f"{number:,} {thing}{'es' if thing.endswith(('s', 'x', 'ch', 'sh')) else 's'}"
