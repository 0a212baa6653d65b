"""The HTTP interface: routes, schemas, tokens, the event stream, metrics, and a client of it."""
