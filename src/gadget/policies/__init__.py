"""Who decides: one policy a file, all behind one verb."""
