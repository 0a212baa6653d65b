"""Numbers of things in words."""

from gadget.model.wording import say_count


def test_one_is_one_and_all_else_is_many() -> None:
    assert [say_count(number, "job") for number in (0, 1, 2, 1200)] == [
        "0 jobs",
        "1 job",
        "2 jobs",
        "1,200 jobs",
    ]
    assert [say_count(number, "switch") for number in (1, 2)] == ["1 switch", "2 switches"]
