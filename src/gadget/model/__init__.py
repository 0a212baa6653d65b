"""What exists: frozen values, the files they are exchanged in, and the referee."""
