"""The driver of the Python client. ../README.md says what each command means."""

import asyncio
import json
import os
import re
import sys
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3] / "src/clients/python"))
import coinop  # noqa: E402


def write(**line):
    os.write(1, (json.dumps(line) + "\n").encode())


def tell(event, of=None):
    return lambda *values: write(event=event, of=of, value=list(values) if len(values) > 1 else values[0])


def snake(name):
    return re.sub("([A-Z])", lambda found: "_" + found[1].lower(), name)


class VirtualClock(coinop.Clock):
    def __init__(self, now, wall):
        self.time, self.offset, self.timers = now, wall - now, {}

    def now(self):
        return self.time

    def wall(self):
        return self.offset + self.time

    def later(self, ms, run):
        key = object()
        self.timers[key] = (self.time + max(0, ms), run)
        return coinop._time.Timer(lambda: self.timers.pop(key, None) and None)

    def advance(self, to):
        self.time = to
        for key, (due, run) in list(self.timers.items()):
            if due <= to and self.timers.pop(key, None):
                run()

    def due(self):
        return min((due for due, _ in self.timers.values()), default=None)


class Store:
    def __init__(self, contents, storage):
        self.contents, self.storage = contents, storage

    def use(self, *refused_by):
        if self.storage in refused_by:
            raise OSError(self.storage)

    def get(self, key):
        self.use("forbidden")
        return self.contents.get(key)

    def set(self, key, value):
        self.use("forbidden", "full")
        self.contents[key] = value
        write(stored=[key, value])

    def remove(self, key):
        self.use("forbidden")
        self.contents.pop(key, None)
        write(stored=[key, None])

    def keys(self):
        self.use("forbidden")
        return list(self.contents)


class Counted(coinop.Transport):
    def __init__(self):
        self.counts = dict.fromkeys(["requests", "ended", "sockets", "socketsEnded", "socketsOpen", "framesToClient", "framesFromClient"], 0)

    async def request(self, *given):
        self.counts["requests"] += 1
        try:
            return await super().request(*given)
        finally:
            self.counts["ended"] += 1

    async def connect(self, url):
        self.counts["sockets"] += 1
        try:
            socket = await super().connect(url)
        except BaseException:
            self.counts["socketsEnded"] += 1
            raise
        return Socket(self.counts, socket)


class Socket:
    def __init__(self, counts, socket):
        self.counts, self.socket, self.is_live, self.own = counts, socket, True, {"framesToClient": 0, "framesFromClient": 0, "socketsOpen": 0}
        self.count("socketsOpen")

    def count(self, name):
        self.own[name] += self.is_live
        self.counts[name] += self.is_live

    def end(self):
        if self.is_live:
            self.is_live = False
            self.counts["socketsEnded"] += 1
            for name, frames in self.own.items():
                self.counts[name] -= frames

    @property
    def code(self):
        return self.socket.code

    def send(self, text):
        self.count("framesFromClient")
        self.socket.send(text)

    async def receive(self):
        text = await self.socket.receive()
        if text is None:
            self.end()
        else:
            self.count("framesToClient")
        return text

    def close(self):
        self.end()
        self.socket.close()


class Driver:
    def start(self, url, store, now, wallMs, storage, options):
        self.clock, self.store, self.transport = VirtualClock(now, wallMs), Store(store, storage), Counted()
        self.named, self.signals = {}, {}
        more = {snake(name): value for name, value in options.items() if name != "merged"}
        if "merged" in options:

            def merge(*sides):
                tell("conflict")(*sides)
                return options["merged"]

            more["on_conflict"] = merge
        self.client = coinop.Client(
            url,
            **{"store": self.store, "clock": self.clock, "transport": self.transport, "device": "Test", **more},
            **{f"on_{event}": tell(event) for event in ("operation", "purchase", "saved")},
            on_warning=lambda message: tell("warning")(None),
        )

    async def settle(self):
        for _ in range(60):
            await asyncio.sleep(0)
        return {**self.transport.counts, "due": self.clock.due()}

    def advance(self, to):
        self.clock.advance(to)

    def clock_(self, ms):
        self.clock.offset += ms

    def storage(self, storage):
        self.store.storage = storage

    def contents(self, store):
        self.store.contents = store

    async def call(self, call, input, as_, timeoutMs=None):
        signal = self.signals[as_] = coinop.Signal()
        given = {snake(name): value for name, value in input.items()}
        if call == "rooms.match":
            result = await self.client.quick_match(**input, timeout_ms=timeoutMs, signal=signal)
            if not result["ok"]:
                return result
            self.follow(as_, result["room"])
            return {"ok": True, "created": result["created"], "code": result["room"].code}
        feature, name = call.split(".")
        more = {} if call == "saves.save" else {"signal": signal}
        if timeoutMs is not None:
            more["timeout_ms"] = timeoutMs
        return await getattr(getattr(self.client, snake(feature)), snake(name))(**given, **more)

    def abort(self, of):
        self.signals[of].abort()

    def wake(self):
        self.client.wake()
        self.client.saves.wake()

    def discardHeld(self):
        self.client.discard_held()

    def close(self):
        self.client.close()

    end = close

    def who(self):
        return self.client.who()

    def watch(self, what, of, as_):
        news, more = tell("news", as_), {"on_state": tell("state", as_)}
        if what == "room":
            more.update(on_you=tell("you", as_), on_error=tell("error", as_))
        given = {"pairing": of} if what == "pairing" else of
        named = {"on_room" if what == "room" else "on_status" if what == "pairing" else "on_account" if what == "account" else "on_top" if what == "board" else "on_rooms": news}
        self.named[as_] = getattr(self.client, f"watch_{what}")(**given, **named, **more)

    def play(self, code, as_):
        self.follow(as_, self.client.play_room(code))

    def follow(self, name, room):
        self.named[name] = room
        for event in ("message", "missed", "refused", "error", "connection"):
            room.on(event, tell(event, name))

    def act(self, act, in_, args):
        fields = {}
        if act in ("setState", "mergeState", "deal", "act") and len(args) > 1:
            args, fields = args[:1], {snake(name) if act != "act" else name: value for name, value in args[1].items()}
        return getattr(self.named[in_], snake(act))(*args, **fields)

    def leave(self, of):
        self.named[of].close()

    def shown(self, of):
        room = self.named[of]
        return {"state": room.state, "players": room.players, "me": room.me, "unanswered": room.unanswered}


async def main():
    driver = Driver()
    reader = asyncio.StreamReader(limit=2**24)
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)

    async def answer(id, value):
        try:
            write(id=id, value=await value if asyncio.iscoroutine(value) or asyncio.isfuture(value) else value)
        except Exception:
            traceback.print_exc()
            os._exit(1)

    tasks = set()
    while line := await reader.readline():
        command = json.loads(line)
        id, do = command.pop("id"), command.pop("do")
        given = {f"{name}_" if name in ("as", "in") else name: value for name, value in command.items()}
        # Begun at once, so that commands are done in their order.
        try:
            value = getattr(driver, "clock_" if do == "clock" else do)(**given)
        except Exception:
            traceback.print_exc()
            os._exit(1)
        task = asyncio.ensure_future(answer(id, value))
        tasks.add(task)
        task.add_done_callback(tasks.discard)


asyncio.run(main())
