"""Where a client keeps the install, the session and what is not finished."""

from __future__ import annotations

import json
import os
import re
import secrets
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Protocol, Set, Union


class Store(Protocol):
    """Texts by key. Any method may raise: the client then keeps the rest in memory."""

    def get(self, key: str) -> Optional[str]: ...

    def set(self, key: str, value: str) -> None: ...

    def remove(self, key: str) -> None: ...

    def keys(self) -> List[str]: ...


class FileStore:
    """A folder with a file for each key. A write is whole or not at all, and on the disk before it returns: also if the machine stops."""

    def __init__(self, folder: Union[str, "os.PathLike[str]"]) -> None:
        self._folder = Path(folder)

    def _path(self, key: str) -> Path:
        return self._folder / ("".join(c if c.isascii() and c.isalnum() or c in "-_" else f"%{ord(c):x}%" for c in key) + ".json")

    def get(self, key: str) -> Optional[str]:
        try:
            kept = json.loads(self._path(key).read_text("utf-8"))
        except (FileNotFoundError, ValueError):
            return None
        return str(kept[1]) if isinstance(kept, list) and len(kept) == 2 and kept[0] == key else None

    def set(self, key: str, value: str) -> None:
        # The folder holds secrets of the player.
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = self._path(key)
        new = path.with_suffix(".new")
        with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            json.dump([key, value], file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(new, path)
        self._sync()

    def remove(self, key: str) -> None:
        self._path(key).unlink(missing_ok=True)
        self._sync()

    def keys(self) -> List[str]:
        return [re.sub("%(10[0-9a-f]{4}|[0-9a-f]{1,5})%", lambda found: chr(int(found[1], 16)), path.stem) for path in self._folder.glob("*.json")]

    def _sync(self) -> None:
        if os.name != "posix" or not self._folder.exists():
            return
        folder = os.open(self._folder, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


class SafeStore:
    """A store that cannot fail: what the given store does not accept is kept in memory."""

    def __init__(self, store: Optional[Store], warn: Callable[[str], None]) -> None:
        self._store = store
        self._warn = warn
        self._has_warned = store is None
        self._memory: Dict[str, Optional[str]] = {}
        """What the store has not accepted. None: it has not removed the key yet."""
        self.unread: Set[str] = set()
        """Keys that could not be read. They are not written either: that could destroy what the store has."""

    def _failed(self, error: Exception) -> None:
        if not self._has_warned:
            self._warn(f"coinop keeps data in memory: {error or type(error).__name__}")
        self._has_warned = True

    def get(self, key: str) -> Optional[str]:
        if key in self._memory:
            return self._memory[key]
        try:
            return self._store.get(key) if self._store else None
        except Exception as error:
            self.unread.add(key)
            self._failed(error)
            return None

    def put(self, key: str, value: Optional[str] = None) -> None:
        """Stores a value. Without a value the key is removed."""
        self._memory[key] = value
        if key in self.unread or (self._store is None and value is not None):
            return
        try:
            if self._store and value is None:
                self._store.remove(key)
            elif self._store and value is not None:
                self._store.set(key, value)
            del self._memory[key]
        except Exception as error:
            self._failed(error)

    def keys(self, prefix: str) -> List[str]:
        try:
            kept = self._store.keys() if self._store else []
        except Exception as error:
            self._failed(error)
            kept = []
        return [key for key in dict.fromkeys([*self._memory, *kept]) if key.startswith(prefix)]

    def load(self, key: str) -> Any:
        """The JSON under the key, or None if there is none."""
        try:
            return json.loads(self.get(key) or "null")
        except (ValueError, RecursionError):
            return None


def random_text(size: int = 24) -> str:
    """A random text, by default of 124 bits."""
    return "".join(secrets.choice("0123456789abcdefghijklmnopqrstuvwxyz") for _ in range(size))
