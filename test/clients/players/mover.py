"""A bot that makes each second move of a room: URL CODE INSTALL FOLDER MOVES PARITY."""

import asyncio
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3] / "src/clients/python"))
from coinop import Client, FileStore, PlayedRoom  # noqa: E402


async def main(url: str, code: str, install: str, folder: str, moves: int, parity: int) -> None:
    async with Client(url, store=FileStore(folder), install_id=install) as client:
        while not (await client.rooms.join(code=code, name="Bot", timeout_ms=60_000))["ok"]:
            await asyncio.sleep(1)
        room = client.play_room(code)
        done: "asyncio.Future[None]" = asyncio.get_running_loop().create_future()
        last = -1

        def move(room: PlayedRoom) -> None:
            nonlocal last
            number = room.state["move"]
            if number < last:
                print("BACK", number, last, flush=True)
            last = number
            if room.unanswered or not room.room:
                return
            if number >= moves and not done.done():
                done.set_result(None)
            elif number < moves and number % 2 == parity and room.me and len(room.players) == 2:
                room.set_state({"move": number + 1}, if_state_seq=room.room["stateSeq"])

        room.on("change", move)
        room.on("refused", lambda error, act: print("REFUSED", error["code"], flush=True))
        await done


url, code, install, folder, moves, parity = sys.argv[1:7]
asyncio.run(main(url, code, install, folder, int(moves), int(parity)))
