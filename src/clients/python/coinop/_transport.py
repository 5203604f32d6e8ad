"""HTTP/1.1 and WebSocket (RFC 6455) on the streams of asyncio: the standard library has neither for asyncio.

Each request has a connection of its own: a request on a connection that the other side has just closed would be lost, and nobody could say
whether it was carried out. Redirects are not followed: another server would get the installId.
"""

from __future__ import annotations

import asyncio
import base64
import functools
import hashlib
import os
import ssl
import struct
from contextlib import suppress
from typing import Dict, Optional, Tuple
from urllib.parse import urlsplit

MOST_BODY_BYTES = 16 * 2**20
"""The longest answer that is read. The service's own are far shorter."""
MOST_MESSAGE_BYTES = 2**20
MOST_LINE_BYTES = 64 * 2**10
MOST_HEADERS = 200

Answer = Tuple[int, Dict[str, str], str]
Streams = Tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Socket:
    """An open WebSocket."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._is_closed = False
        self.code = 1006
        """The close code, once `receive` has given None. 1006: the connection broke."""

    def send(self, text: str) -> None:
        if not self._is_closed:
            self._write(1, text.encode())

    def close(self) -> None:
        if self._is_closed:
            return
        self._write(8, struct.pack(">H", 1000))
        self._end()

    async def receive(self) -> Optional[str]:
        """The next message, or None at the end."""
        message = bytearray()
        is_text = False
        with suppress(OSError, EOFError, UnicodeDecodeError, ssl.SSLError):
            while not self._is_closed:
                first, second = await self._reader.readexactly(2)
                opcode, is_last, size = first & 15, first & 128, second & 127
                if first & 112 or second & 128:
                    raise ConnectionError("not a frame of a server")
                if size > 125:
                    size = int.from_bytes(await self._reader.readexactly(2 if size == 126 else 8), "big")
                if size + len(message) > MOST_MESSAGE_BYTES or (opcode > 7 and size > 125):
                    raise ConnectionError("a message that is too long")
                part = await self._reader.readexactly(size)
                if opcode == 9:
                    self._write(10, part)
                elif opcode == 8:
                    self.code = struct.unpack(">H", part[:2])[0] if size >= 2 else 1005
                    self._write(8, part[:2])
                    break
                elif opcode == 1 or (opcode == 0 and is_text):
                    is_text = True
                    message += part
                    if is_last:
                        return message.decode()
                elif opcode != 10:
                    raise ConnectionError("not a frame of text")
        self._end()
        return None

    def _write(self, opcode: int, content: bytes) -> None:
        size = len(content)
        length = bytes([128 | size]) if size < 126 else b"\xfe" + struct.pack(">H", size) if size < 65536 else b"\xff" + struct.pack(">Q", size)
        mask = os.urandom(4)
        masked = bytes(byte ^ mask[index & 3] for index, byte in enumerate(content))
        try:
            self._writer.write(bytes([128 | opcode]) + length + mask + masked)
        except (OSError, RuntimeError):
            self._end()

    def _end(self) -> None:
        self._is_closed = True
        self._writer.close()


class Transport:
    """How requests are sent and sockets are opened. A test gives its own."""

    async def request(self, method: str, url: str, headers: Dict[str, str], body: Optional[str]) -> Answer:
        """Sends one request. Raises whatever goes wrong on the way. Cancelling the task closes the connection."""
        content = None if body is None else body.encode()
        sized = headers if content is None else {**headers, "content-length": str(len(content))}
        reader, writer = await self._sent(method, url, {**sized, "connection": "close"}, content)
        try:
            status, answered = await _head(reader)
            return status, answered, (await _body(reader, answered)).decode("utf-8", "replace")
        finally:
            writer.close()

    async def connect(self, url: str) -> Socket:
        """Opens a WebSocket. Raises if it cannot be opened."""
        key = base64.b64encode(os.urandom(16)).decode()
        upgrade = {"connection": "Upgrade", "upgrade": "websocket", "sec-websocket-version": "13", "sec-websocket-key": key}
        reader, writer = await self._sent("GET", url, upgrade, None)
        try:
            status, headers = await _head(reader)
            accept = base64.b64encode(hashlib.sha1((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()).decode()
            if status != 101 or headers.get("sec-websocket-accept") != accept:
                raise ConnectionError(f"no WebSocket: status {status}")
        except BaseException:
            writer.close()
            raise
        return Socket(reader, writer)

    async def _sent(self, method: str, url: str, headers: Dict[str, str], content: Optional[bytes]) -> Streams:
        to = urlsplit(url)
        secure = _certificates() if to.scheme in ("https", "wss") else None
        port = to.port or (443 if secure else 80)
        reader, writer = await asyncio.open_connection(to.hostname, port, ssl=secure, limit=MOST_LINE_BYTES)
        path = (to.path or "/") + (f"?{to.query}" if to.query else "")
        lines = [f"{method} {path} HTTP/1.1", f"host: {to.netloc}", *(f"{name}: {value}" for name, value in headers.items())]
        writer.write("\r\n".join([*lines, "", ""]).encode("latin-1") + (content or b""))
        return reader, writer


@functools.lru_cache(maxsize=None)
def _certificates() -> ssl.SSLContext:
    return ssl.create_default_context()


async def _head(reader: asyncio.StreamReader) -> Tuple[int, Dict[str, str]]:
    while True:
        status = (await _line(reader)).split(" ", 2)
        if len(status) < 2 or not status[0].startswith("HTTP/1.") or not status[1].isdigit():
            raise ConnectionError("not an answer of HTTP")
        headers: Dict[str, str] = {}
        while line := await _line(reader):
            if len(headers) == MOST_HEADERS:
                raise ConnectionError("too many headers")
            name, _, value = line.partition(":")
            headers[name.strip().lower()] = value.strip()
        # 100 to 103 come before the answer.
        if status[1] == "101" or not status[1].startswith("1"):
            return int(status[1]), headers


async def _line(reader: asyncio.StreamReader) -> str:
    line = await reader.readline()
    if not line.endswith(b"\n"):
        raise ConnectionError("the answer broke off")
    return line.decode("latin-1").rstrip("\r\n")


async def _body(reader: asyncio.StreamReader, headers: Dict[str, str]) -> bytes:
    body = b""
    if headers.get("transfer-encoding", "").lower() == "chunked":
        while size := _bounded(int((await _line(reader)).split(";")[0], 16), body):
            body += await reader.readexactly(size)
            await _line(reader)
    elif "content-length" in headers:
        return await reader.readexactly(_bounded(int(headers["content-length"]), body))
    else:
        while part := await reader.read(MOST_LINE_BYTES):
            _bounded(len(part), body)
            body += part
    return body


def _bounded(size: int, body: bytes) -> int:
    """The size of the next part of a body, if it may have that."""
    if size < 0 or size + len(body) > MOST_BODY_BYTES:
        raise ConnectionError("the answer is too long")
    return size
