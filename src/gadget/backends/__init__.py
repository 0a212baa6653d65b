"""Where rings really run: processes, sockets and networks, behind one protocol."""
