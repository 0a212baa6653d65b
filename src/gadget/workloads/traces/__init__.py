"""Workloads of other systems: one reader a file, told apart by content, one neutral value out."""
