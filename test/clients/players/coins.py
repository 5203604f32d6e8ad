"""A player who earns a coin so many times, and goes on where the process before was killed: URL FOLDER TIMES."""

import asyncio
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3] / "src/clients/python"))
from coinop import Client, FileStore  # noqa: E402


async def main(url: str, folder: str, times: int) -> None:
    left = 0

    def told(operation: object, result: object) -> None:
        nonlocal left
        left -= 1

    begun = Path(folder) / "begun"
    begun.parent.mkdir(parents=True, exist_ok=True)
    async with Client(url, store=FileStore(Path(folder) / "store"), timeout_ms=600_000) as client:
        for number in range(int(begun.read_text()) if begun.exists() else 0, times):
            call = asyncio.ensure_future(client.coins.credit(coins=1, key=f"earned-{number}"))
            # The client has stored the operation by now: whatever happens, it will be done, and nobody calls it again.
            await asyncio.sleep(0)
            new = begun.with_suffix(".new")
            new.write_text(str(number + 1))
            new.replace(begun)
            await call
        # What the processes before have left.
        while client._outbox._queue:
            await asyncio.sleep(0.05)
        print(client.who()["installId"], flush=True)


asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
