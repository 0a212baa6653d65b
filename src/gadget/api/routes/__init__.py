"""The routes, one file a group."""
