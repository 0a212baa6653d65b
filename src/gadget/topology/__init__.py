"""Cluster descriptions of other systems: readers, one file each, and writers where the format allows."""
