"""Numbers and pictures that people look at."""
