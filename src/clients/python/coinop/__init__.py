"""The client of coinop for Python: coins, boards, rooms, saves and accounts of games. README.md has examples."""

from ._room import PlayedRoom
from ._saves import Saves
from ._store import FileStore, Store
from ._time import Clock, Signal
from ._transport import Transport
from ._watch import Watch
from .calls import API_VERSION
from .client import Client

__all__ = ["API_VERSION", "Client", "Clock", "FileStore", "PlayedRoom", "Saves", "Signal", "Store", "Transport", "Watch"]
