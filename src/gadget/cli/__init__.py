"""The command line: one file a group of commands; here everything is put together."""
