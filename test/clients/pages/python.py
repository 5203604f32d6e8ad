"""Runs the samples of the page of the Python client, each as a reader would: `python.py URL SAMPLES.json`.

The names of the reader's own game are functions that note their calls. A sample has to end without an exception, and every function of the
game that it mentions has to be called.
"""

import ast
import asyncio
import inspect
import json
import logging
import os
import re
import sys
import tempfile
import time
from pathlib import Path

import coinop
from coinop import plain

GAME = "draw show_balance show_problem undo show_list show_connection show_coins show_ads show_seat show_code".split()
UNLESS_REFUSED = {"show_problem", "undo"}
PATIENCE_SECONDS = 20

raised = []


class Raised(logging.Handler):
    def emit(self, record):
        raised.append(record)


logging.getLogger("coinop").addHandler(Raised())


async def run(text, url):
    called = set()
    host = coinop.Client(url)
    created = await host.rooms.create(name="Host", public=True, game="duel", tags={"mode": "ranked"})
    opened = await host.pairing.open()
    client = coinop.Client(url)
    await client.coins.credit(coins=20)
    await client.rooms.join(code=created["room"]["code"], name="Ada")
    await client.highscores.submit(game="pebble-drop", score=5, name="Ada")
    with tempfile.TemporaryDirectory() as folder:
        # A sample that keeps a player does so in the folder in which it runs.
        os.chdir(folder)
        names = {name: (lambda name: lambda *_: called.add(name))(name) for name in GAME}
        names.update(
            Client=plain.Client if "coinop.plain" in text else coinop.Client,
            FileStore=coinop.FileStore,
            ask_player=lambda question: True,
            client=client,
            code=created["room"]["code"],
            token=opened["token"],
        )
        code = compile(text, "sample", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        lines = eval(code, names)
        if inspect.isawaitable(lines):
            await lines
        expected = {name for name in GAME if re.search(rf"\b{name}\b", text)} - UNLESS_REFUSED
        # A purchase of no store is refused.
        if "token-from-the-store" in text:
            expected.discard("show_balance")
        until = time.monotonic() + PATIENCE_SECONDS
        while expected - called and time.monotonic() < until:
            await asyncio.sleep(0.02)
        if "step" in names:
            names["step"]()
            while names["room"].unanswered:
                await asyncio.sleep(0.02)
        client.close()
        host.close()
        if expected - called:
            raise AssertionError(f"never called: {expected - called}")
        if raised:
            raise AssertionError(raised[0].exc_info or raised[0].getMessage())


async def main(url, path):
    for sample in json.loads(Path(path).read_text("utf-8")):
        del raised[:]
        try:
            await run(sample["text"], url)
        except BaseException as error:
            print(f"{sample['place']}: {type(error).__name__}: {error}")


asyncio.run(main(*sys.argv[1:3]))
