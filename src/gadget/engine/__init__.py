"""What happens: a pure state machine. Events in, a new state out, and the effects that lead there."""
