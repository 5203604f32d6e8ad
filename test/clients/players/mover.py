"""A bot that makes each second move of a room: URL CODE FOLDER MOVES."""

import asyncio
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3] / "src/clients/python"))
from coinop import Client, FileStore, PlayedRoom  # noqa: E402


async def main(url: str, code: str, folder: str, moves: int) -> None:
    async with Client(url, store=FileStore(folder)) as client:
        await client.rooms.join(code=code, name="Bot", timeout_ms=60_000)
        room = client.play_room(code)
        done: "asyncio.Future[None]" = asyncio.get_running_loop().create_future()
        last = -1

        def move(room: PlayedRoom) -> None:
            nonlocal last
            number = room.state["move"]
            if number < last:
                print("BACK", number, last, flush=True)
            last = number
            if number >= moves and not done.done():
                done.set_result(None)
            elif number % 2 == 1 and room.me and not room.unanswered and room.room:
                room.set_state({"move": number + 1}, if_state_seq=room.room["stateSeq"])

        room.on("change", move)
        room.on("refused", lambda error, act: print("REFUSED", error["code"], flush=True))
        await done
        print("moved", flush=True)


asyncio.run(main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])))
