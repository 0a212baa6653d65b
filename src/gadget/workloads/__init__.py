"""Scenario generators, arrivals, and the workloads of other systems."""
