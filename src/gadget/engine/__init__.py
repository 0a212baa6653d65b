"""What happens: a pure state machine; events in, effects out."""
