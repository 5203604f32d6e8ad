## Plays in a room in which the player has a seat: watches it, and sends acts.
##
## Put one into a scene, connect its signals, and call [method play]; or get one from [method CoinopClient.play_room]. Acts are done in the
## order of the calls, each once, also over a lost connection. Each gives its result, [code]{"ok": true, "seq": …}[/code] or
## [code]{"ok": false, "error": …}[/code], if it is awaited, and is under way without that.
class_name CoinopRoom
extends Node

## The room changed, or the effect of an own act. Once a frame at most.
signal changed
## Somebody sent a message: its `from` and `data`.
signal message(message: Dictionary)
## Messages were lost on the way.
signal missed(message: Dictionary)
## The service refused an act.
signal refused(error: Dictionary, act: Dictionary)
## The player has no seat any more, or the room is gone.
signal failed(error: Dictionary)
signal connection_changed(state: Dictionary)
## The room's watch is over.
signal ended(code: String)

const ActQueue = preload("act_queue.gd")
const Patch = preload("patch.gd")
const Request = preload("request.gd")
const Watch = preload("watch.gd")
const Watched = preload("watched.gd")

## The error codes after which a sign-in may give the caller the seat back, so the acts are kept.
const HELD: Array[String] = ["session_required", "sign_in_required"]
const NO_SEAT := "You have no seat in this room any more: the host removed you, you were away for too long, or you left elsewhere."

var code := ""
## The room with the effect of own acts. Empty before the first news. Do not change it: later rooms share its parts.
var room: Dictionary:
	get = _get_room
## The room's state. Null before the first news.
var state: Variant:
	get:
		return room.get("state")
var players: Array:
	get:
		return room.get("players", [])
## The own player, with what only this player sees as `private`. Empty without a seat.
var me: Dictionary:
	get:
		var mine := _mine(room)
		return mine.merged({"private": _own}, true) if mine and _has_own else mine
## As `state` of a [CoinopWatch].
var connection: Dictionary:
	get:
		return _watch.state if _watch else {"status": "ended", "code": "closed"}
## The number of acts without an answer.
var unanswered: int:
	get:
		return _queue.unanswered().size() if _queue else 0
var _client: Node = null
var _channel: Channel = null
var _queue: ActQueue = null
var _watch: Watch = null
var _warned := {}
var _confirmed := {}
var _shown := {}
var _player_id := ""
var _own: Variant = null
var _has_own := false
var _is_telling := false
var _is_closed := true
var _has_left := false
var _offset_ms := NAN
var _round_trip_ms := INF


## Plays in the room of this code. `client`: the autoload Coinop, if none is given.
func play(room_code: String, client: Node = null) -> void:
	close()
	code = room_code
	_client = client if client else get_node("/root/Coinop")
	_warned = {}
	_confirmed = {}
	_shown = {}
	_player_id = ""
	_has_own = false
	_is_closed = false
	_has_left = false
	_offset_ms = NAN
	_round_trip_ms = INF
	_queue = ActQueue.new(_client.get("_clock"))
	_channel = Channel.new(_client, self)
	_queue.changed.connect(_change)
	_queue.stuck.connect(_channel.drop)
	_queue.refused.connect(_refuse_act)
	_watch = _client._follow(_channel)
	_watch.news.connect(_take_room)
	_watch.state_changed.connect(_take_state)
	_watch.ended.connect(ended.emit)


## Stops everything here, but keeps the seat. `act("leave")` gives it up.
func close() -> void:
	if _watch:
		_watch.close()


func _exit_tree() -> void:
	close()


## The time by the clock of the service, in milliseconds since 1970.
func now() -> float:
	return _client._clock.wall() if is_nan(_offset_ms) else _client._clock.now() + _offset_ms


## Writes the player's own public data.
func set_data(data: Variant) -> Dictionary:
	return await act("data", {"data": data})


## Merges a patch (RFC 7396) into the player's own public data.
func merge_data(patch: Variant) -> Dictionary:
	return await act("data", {"merge": patch})


## Writes the room's state. With [param if_state_seq] only if nobody was faster.
func set_state(next: Variant, if_state_seq := -1) -> Dictionary:
	return await act("state", _with_seq({"state": next}, if_state_seq))


## Merges a patch (RFC 7396) into the room's state.
func merge_state(patch: Variant, if_state_seq := -1) -> Dictionary:
	return await act("state", _with_seq({"merge": patch}, if_state_seq))


## Writes what only these players see, and with `state` or `merge` the room's state in the same step. Only the host may.
func deal(seats: Dictionary, more := {}) -> Dictionary:
	return await act("private", {"seats": seats}.merged(more))


## Sends a message to everybody, or to some player ids or `server`. `away` of the result names those who miss it.
func send(data: Variant, to: Variant = null) -> Dictionary:
	return await act("message", {"data": data} if to == null else {"data": data, "to": to})


## Does an action of the lobby: `leave`, `ready`, `unready`, `start`, `end`, `kick`, `transfer`, `lock`, `settings`, `rematch` …
func act(action: String, fields := {}) -> Dictionary:
	if _queue == null:
		return Request.failure("not_in_room", "Call play(code) first")
	return await _queue.add(action, fields).result()


static func _with_seq(fields: Dictionary, if_state_seq: int) -> Dictionary:
	return fields if if_state_seq < 0 else fields.merged({"ifStateSeq": if_state_seq})


func _get_room() -> Dictionary:
	if _shown or not _confirmed:
		return _shown
	var shown_state: Variant = _confirmed.get("state")
	var shown_players: Array = (_confirmed["players"] as Array).duplicate()
	for each: ActQueue.Act in _queue.echo():
		var fields := each.fields
		if each.action == "data":
			for index: int in shown_players.size():
				var player: Dictionary = shown_players[index]
				if player["id"] == _player_id:
					shown_players[index] = player.merged({"data": Patch.applied(player.get("data"), fields, "data")}, true)
		elif each.action == "state" or fields.has("state") or fields.has("merge"):
			shown_state = Patch.applied(shown_state, fields, "state")
	_shown = _confirmed.merged({"state": shown_state, "players": shown_players}, true)
	return _shown


func _change() -> void:
	_shown = {}
	if not _is_telling:
		_is_telling = true
		_tell.call_deferred()


func _tell() -> void:
	_is_telling = false
	if room and not _is_closed:
		changed.emit()


func _refuse_act(error: Dictionary, act_of: ActQueue.Act) -> void:
	if _is_closed:
		return
	var warning := "The act %s was refused: %s (%s)" % [act_of.action, error.get("message"), error["code"]]
	if not refused.has_connections() and not _warned.has(warning):
		_client._warn(warning)
	_warned[warning] = true
	refused.emit(error, {"action": act_of.action})


func _mine(of: Dictionary) -> Dictionary:
	for player: Dictionary in of.get("players", []):
		if player["id"] == _player_id:
			return player
	return {}


func _seat() -> String:
	return "%s %s" % [_confirmed.get("createdAt"), _player_id] if _confirmed and _player_id else ""


func _sit(you: Dictionary) -> void:
	_player_id = you["playerId"]
	_has_own = you.has("private")
	_own = you.get("private")
	_change()


func _take_room(next: Dictionary) -> void:
	var was_seated := not _mine(_confirmed).is_empty()
	_confirmed = next
	_queue.seen(next["seq"])
	if was_seated and not _mine(next):
		_has_left = _has_left or _queue.unanswered().any(func(each: ActQueue.Act) -> bool: return each.action == "leave")
		_refuse({"code": "not_in_room", "message": NO_SEAT})
	_change()


func _refuse(error: Dictionary) -> void:
	if error["code"] in HELD:
		_queue.lost()
	else:
		_queue.refuse(error)
	if not _has_left:
		failed.emit(error)


func _note_time(service_now: float, sent_at: float) -> void:
	var ms: float = _client._clock.now() - sent_at
	# A faster exchange is more exact.
	if ms <= _round_trip_ms:
		_round_trip_ms = ms
		_offset_ms = service_now - sent_at - ms / 2


## Sends an act by HTTP: for a room that has ended, and on networks that block WebSockets.
func _post(of: ActQueue.Act) -> void:
	var queue := _queue
	var given := of.fields.merged({"code": code, "order": of.order, "tab": queue.tab}, true)
	var by: Dictionary = _client._identity.credential()
	var reply: Dictionary = await _client._once("POST /v1/rooms/{code}/" + of.action, given, by, null)
	if queue != _queue:
		return
	if not reply["ok"]:
		return _queue.answered({"order": of.order, "error": reply["error"]})
	_sit(reply["you"])
	if connection["status"] == "ended":
		_take_room(reply["room"])
	_queue.answered({"order": of.order, "seq": reply["room"]["seq"]}.merged(Request.picked(reply, ["replayed", "away"])))


func _take_other(other: Dictionary) -> void:
	match other.get("type"):
		"pong":
			_note_time(other["now"], other["t"])
		"welcome":
			_has_left = false
			_round_trip_ms = INF
			if other.get("now"):
				_note_time(other["now"], _channel.greeted_at)
			_sit(other["you"])
			_queue.open(_channel.send_act, false, _seat())
		"you":
			_sit(other)
		"acted":
			_queue.answered(other)
		"message":
			message.emit(other)
		"missed":
			missed.emit(other)
		_:
			if other.get("error") and not Request.is_temporary(other["error"]):
				_refuse(other["error"])


func _take_state(next: Dictionary) -> void:
	var end: String = next.get("code", "")
	_is_closed = end == "closed"
	if end == "finished" or next.get("by") == "poll":
		_queue.open(_post, true, _seat())
	elif _is_closed:
		_queue.refuse(Request.failure("aborted", "The game has closed the room.")["error"])
	elif next["status"] == "ended":
		var error: Dictionary = Request.failure("room_not_found", "This room does not exist.")["error"]
		_queue.refuse(error)
		if not _has_left and end in ["gone", "room_not_found"]:
			failed.emit(error)
	elif next["status"] != "live":
		_queue.lost()
	connection_changed.emit(next)


## The channel of a played room.
class Channel:
	extends Watched.Room
	var greeted_at := 0.0
	var _of: CoinopRoom = null
	var _greeting := {}

	func _init(client: Node, of: CoinopRoom) -> void:
		super(client, of.code)
		_of = of

	func other(message: Dictionary) -> void:
		_of._take_other(message)

	func opened() -> void:
		_greeting = {}

	func drop() -> void:
		if watch and watch.get("_link"):
			watch.get("_link").call("stop")

	func hello() -> Dictionary:
		var greeting := caller().merged({"tab": _of._queue.tab})
		if _greeting and _greeting != greeting:
			# A connection belongs to one caller. The acts under way on it must not be sent as acts of another.
			drop()
			return {}
		_of._queue.refuse({})
		greeted_at = _client._clock.now()
		_greeting = greeting
		return greeting

	func send_act(act: ActQueue.Act) -> void:
		watch.get("_link").call("send", {"type": "act", "order": act.order, "action": act.action, "tab": _of._queue.tab}.merged(act.fields, true))
