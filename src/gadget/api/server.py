"""The HTTP interface on a socket, in a thread of its own."""

import asyncio
import contextlib
import socket
import threading

import uvicorn
from fastapi import FastAPI

from gadget.api.event_stream import Streams
from gadget.errors import BadOption

LOOPBACK = "127.0.0.1"


class Server:
    """Listens from `start` to `stop`. Takes no signals: whoever owns it ends it."""

    def __init__(self, app: FastAPI, *, host: str = LOOPBACK, port: int = 0) -> None:
        self._streams: Streams = app.state.streams
        self._host = host
        self._port = port
        self._socket: socket.socket | None = None
        self._server = uvicorn.Server(
            uvicorn.Config(
                app,
                log_config=None,
                access_log=False,
                lifespan="off",
                server_header=False,
                timeout_keep_alive=30,
                timeout_graceful_shutdown=2,
            )
        )
        self._thread = threading.Thread(target=self._run, name="http", daemon=True)

    @property
    def address(self) -> str:
        """Where it listens, as a URL; known once it is started."""
        assert self._socket is not None, "not started"
        return self._address

    def start(self) -> None:
        """Bind and listen; BadOption if that cannot be."""
        self._socket = self._bind()
        host, port = self._socket.getsockname()[:2]
        self._address = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
        self._thread.start()

    def stop(self, seconds: float = 5.0) -> None:
        """Answer what is asked for already, end streams and close; True to its time, come what may."""
        self._streams.close()
        self._server.should_exit = True
        if self._thread.is_alive():
            self._thread.join(seconds)
        if self._thread.is_alive():
            self._server.force_exit = True
            self._thread.join(1.0)
        if self._socket is not None:
            self._socket.close()

    def _bind(self) -> socket.socket:
        try:
            family, kind, protocol, _, where = socket.getaddrinfo(
                self._host, self._port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
            )[0]
            # With its protocol named, asyncio turns delays off; without, a small answer takes 40 ms.
            made = socket.socket(family, kind, protocol)
            try:
                made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                made.bind(where)
                made.listen(2048)
            except OSError:
                made.close()
                raise
        except OSError as error:
            raise BadOption(
                f"{self._host}:{self._port} cannot be listened on ({error.strerror}). "
                f"Choose another host or port; port 0 is any that is free."
            ) from None
        return made

    def _run(self) -> None:
        assert self._socket is not None
        with contextlib.suppress(asyncio.CancelledError):
            self._server.run([self._socket])
