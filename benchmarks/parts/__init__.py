"""What the benchmarks share. Programs stand beside this folder; nothing in it is a benchmark."""
