"""What changes a room: JSON patches of the service (RFC 6902), and merge patches of the game (RFC 7396). No argument is changed."""

from __future__ import annotations

from typing import Any, Dict, List, Optional


def patched(room: Any, sequence_from: Any, operations: List[Dict[str, Any]]) -> Any:
    """The room after a patch. Raises ValueError if the patch does not start from this room."""
    if not isinstance(room, dict) or sequence_from != room.get("seq"):
        raise ValueError("the patch of another room")
    for each in operations:
        room = _changed(room, each["path"].split("/")[1:], each["op"], each.get("value"))
    return room


def _changed(value: Any, path: List[str], op: str, given: Any) -> Any:
    name = path[0].replace("~1", "/").replace("~0", "~")
    rest = path[1:]
    is_new = op == "add" and not rest
    if isinstance(value, list):
        index = int(name)
        if not 0 <= index < len(value) + is_new:
            raise ValueError("no such place in the list")
        put = [] if op == "remove" and not rest else [_changed(value[index], rest, op, given) if rest else given]
        return [*value[:index], *put, *value[index + (not is_new) :]]
    if not isinstance(value, dict) or (not is_new and name not in value):
        raise ValueError("no such member")
    if op == "remove" and not rest:
        return {key: member for key, member in value.items() if key != name}
    return {**value, name: _changed(value[name], rest, op, given) if rest else given}


def merged(target: Any, patch: Any) -> Any:
    """The value after a merge patch, deeply, as the service does it."""
    if not isinstance(patch, dict):
        return patch
    members = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            members.pop(name, None)
        else:
            members[name] = merged(members.get(name), value)
    return members


class CannotCompose(Exception):
    """No single patch has the effect of two: `{a: null}` and then `{a: {b: 1}}` replace `a` whole."""


def composed(earlier: Any, later: Any) -> Any:
    if not isinstance(later, dict):
        return later
    if not isinstance(earlier, dict):
        raise CannotCompose
    members = dict(earlier)
    for name, value in later.items():
        members[name] = composed(members[name], value) if name in members else value
    return members


def combined(earlier: Dict[str, Any], later: Dict[str, Any], whole: str) -> Optional[Dict[str, Any]]:
    """The fields of one act that has the effect of two. `data` or `state` (`whole`) replaces the value, `merge` merges into it."""
    if whole in later:
        return later
    if whole in earlier:
        return {whole: merged(earlier[whole], later.get("merge"))}
    try:
        return {"merge": composed(earlier.get("merge"), later.get("merge"))}
    except CannotCompose:
        return None


def applied(value: Any, fields: Dict[str, Any], whole: str) -> Any:
    """The value after an act with these fields."""
    return fields[whole] if whole in fields else merged(value, fields.get("merge"))
