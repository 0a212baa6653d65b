"""Wall time: the clock, the controller and its recovery."""
