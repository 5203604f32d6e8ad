"""The client without asyncio: each call waits for its result. It runs the client of asyncio in a thread of its own."""

from __future__ import annotations

import asyncio
import queue
import threading
from typing import Any, Callable, Coroutine, Optional, TypeVar

from . import client as _asyncio
from ._request import Fields
from ._room import Acts, PlayedRoom
from ._watch import Watch
from .calls import PlainCalls, PlainSavesCalls

T = TypeVar("T")


class Client(PlainCalls):
    """A client with the options of `coinop.Client`. Its callbacks run in the thread of the client: they must not wait for a call of it."""

    def __init__(self, url: str, **options: Any) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="coinop", daemon=True)
        self._thread.start()
        super().__init__(self._wait_for)
        try:
            self._client = self._do(lambda: _asyncio.Client(url, **options))
        except BaseException:
            self._stop()
            raise
        self.saves = Saves(self)

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _run(self, work: "Coroutine[Any, Any, T]") -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def _do(self, work: Callable[[], T]) -> T:
        """Calls a function in the thread of the client."""

        async def call() -> T:
            return work()

        return self._run(call())

    def _wait_for(self, *given: Any) -> Fields:
        return self._run(self._client._call(*given))

    def _stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def who(self) -> Fields:
        return self._do(self._client.who)

    def wake(self) -> None:
        self._do(self._client.wake)

    def discard_held(self) -> None:
        self._do(self._client.discard_held)

    def close(self) -> None:
        """Ends everything. Unfinished operations stay in the store."""
        if self._loop.is_closed():
            return
        self._do(self._client.close)

        async def settle() -> None:
            others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
            for task in others:
                task.cancel()
            await asyncio.gather(*others, return_exceptions=True)

        self._run(settle())
        self._stop()

    def watch(self, what: str, *given: Any, **options: Any) -> Watch:
        """Watches a `room`, `pairing`, `account`, `board` or `lobby` as `watch_room` and so on of `coinop.Client` do."""
        return self._do(lambda: getattr(self._client, f"watch_{what}")(*given, **options))  # type: ignore[no-any-return]

    def play_room(self, code: str) -> "Room":
        return Room(self, self._do(lambda: self._client.play_room(code)))

    def quick_match(self, **wanted: Any) -> Fields:
        result = self._run(self._client.quick_match(**wanted))
        return {**result, "room": Room(self, result["room"])} if result["ok"] else result


class Saves(PlainSavesCalls):
    def __init__(self, client: Client) -> None:
        super().__init__(client._wait_for)
        self._client = client

    def save(self, *, game: str, name: str, data: Any) -> Fields:
        return self._client._run(self._client._client.saves.save(game=game, name=name, data=data))

    def load(self, *, game: str, name: str, timeout_ms: Optional[float] = None) -> Fields:
        return self._client._run(self._client._client.saves.load(game=game, name=name, timeout_ms=timeout_ms))


class Room(Acts[Fields]):
    """A room in which the player acts, as `coinop.PlayedRoom`. Each act waits for its result."""

    def __init__(self, client: Client, room: PlayedRoom) -> None:
        self._client = client
        self._room = room
        self._news: "queue.Queue[Fields]" = queue.Queue()
        self.code = room.code
        client._do(lambda: [room.on(event, self._noter(event)) for event in ("change", "message", "missed", "error", "connection")])

    def _noter(self, event: str) -> Callable[[Any], None]:
        return lambda value: self._news.put({"event": event, "value": None if event == "change" else value})

    def next(self, timeout: Optional[float] = None) -> Optional[Fields]:
        """The next `{"event": …, "value": …}` of the room, or None after so many seconds."""
        try:
            return self._news.get(timeout=timeout)
        except queue.Empty:
            return None

    @property
    def room(self) -> Optional[Fields]:
        return self._client._do(lambda: self._room.room)

    @property
    def me(self) -> Optional[Fields]:
        return self._client._do(lambda: self._room.me)

    def _add(self, action: str, fields: Fields) -> Fields:
        async def add() -> Fields:
            return await self._room._add(action, fields)

        return self._client._run(add())

    def close(self) -> None:
        self._client._do(self._room.close)
