"""What is kept on disk: the journal of events, and the tokens of those who may ask."""
