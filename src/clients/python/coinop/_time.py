"""Time, signals and waits. A test gives its own clock, so that a wait of a day takes no time."""

from __future__ import annotations

import asyncio
import time
from typing import Any, Awaitable, Callable, List, Optional, Sequence, TypeVar

T = TypeVar("T")


class Timer:
    """What `later` returns."""

    def __init__(self, cancel: Callable[[], None]) -> None:
        self.cancel = cancel


NEVER = Timer(lambda: None)
"""A timer that is not set."""


class Clock:
    """The clocks of the machine, in milliseconds."""

    def now(self) -> float:
        """A time that only rises, and that no change of the wall clock moves."""
        return time.monotonic() * 1000

    def wall(self) -> float:
        """Milliseconds since 1970, as the device believes."""
        return time.time() * 1000

    def later(self, ms: float, run: Callable[[], None]) -> Timer:
        return Timer(asyncio.get_running_loop().call_later(max(0.0, ms) / 1000, run).cancel)


class Signal:
    """Tells once that something has to stop, as an AbortSignal does."""

    def __init__(self) -> None:
        self.aborted = False
        self._listeners: List[Callable[[], object]] = []

    def abort(self) -> None:
        if self.aborted:
            return
        self.aborted = True
        for listener in self._listeners[:]:
            listener()

    def listen(self, listener: Callable[[], object]) -> None:
        """Calls back at the abort, and at once if that has been."""
        if self.aborted:
            listener()
        else:
            self._listeners.append(listener)

    def forget(self, listener: Callable[[], object]) -> None:
        if listener in self._listeners:
            self._listeners.remove(listener)


def is_aborted(signals: Sequence[Optional[Signal]]) -> bool:
    return any(signal is not None and signal.aborted for signal in signals)


async def within(clock: Clock, ms: float, signals: Sequence[Optional[Signal]], work: Callable[[Signal], Awaitable[T]]) -> T:
    """Runs work with a signal that aborts after `ms`, or when one of the given signals aborts."""
    whole = Signal()
    timer = clock.later(ms, whole.abort)
    given = [signal for signal in signals if signal is not None]
    for signal in given:
        signal.listen(whole.abort)
    try:
        return await work(whole)
    finally:
        timer.cancel()
        for signal in given:
            signal.forget(whole.abort)


class Stopped(Exception):
    """The time is up, or a signal aborted."""


async def limited(clock: Clock, ms: float, signals: Sequence[Optional[Signal]], start: Callable[[], Awaitable[T]]) -> T:
    """Runs work that is cancelled after `ms`, or when one of the given signals aborts. It then raises `Stopped`."""

    async def work(whole: Signal) -> T:
        if whole.aborted:
            raise Stopped
        task = asyncio.ensure_future(start())
        whole.listen(task.cancel)
        try:
            return await task
        except (Exception, asyncio.CancelledError):
            task.cancel()
            if whole.aborted:
                raise Stopped from None
            raise

    return await within(clock, ms, signals, work)


async def sleep(clock: Clock, ms: float, *signals: Optional[Signal]) -> None:
    """Waits for `ms`, or until a signal aborts."""

    async def stopped(whole: Signal) -> None:
        done: "asyncio.Future[None]" = asyncio.get_running_loop().create_future()
        whole.listen(lambda: settle(done, None))
        await done

    await within(clock, ms, signals, stopped)


def settle(done: "asyncio.Future[T]", result: T) -> None:
    """Gives a future its result, if it has none yet."""
    if not done.done():
        done.set_result(result)


_running: "set[asyncio.Task[Any]]" = set()


def spawn(work: Awaitable[Any]) -> "asyncio.Task[Any]":
    """Starts work that nobody awaits. asyncio itself would let the garbage collector end it."""
    task = asyncio.ensure_future(work)
    _running.add(task)
    task.add_done_callback(_running.discard)
    return task
