## Follows a room, a pairing, the account, a board or a list, over one connection at a time, until it ends. It connects again by itself.
class_name CoinopWatch
extends RefCounted

## The present state of what is watched, at once and after every change. Do not change it: later ones share its parts.
signal news(value: Variant)
## The seat of the caller in a watched room.
signal you(seat: Dictionary)
## An error of the channel. The watch goes on.
signal failed(error: Dictionary)
signal state_changed(state: Dictionary)
## The watch is over.
signal ended(code: String)

const Abort = preload("abort.gd")
const Clock = preload("clock.gd")
const Json = preload("json.gd")
const Patch = preload("patch.gd")
const Request = preload("request.gd")
const Transport = preload("platform/transport.gd")
const Watched = preload("watched.gd")

const OPEN_MS := 4000.0
## How often an idle connection is checked. One whose network has failed is silent, like one without news.
const CHECK_MS := 30_000.0
const QUIET_MS := 10_000.0
const PONG_MS := 4000.0
## Of so many checks one is a read, which also shows whether the service is behind.
const READS := 4
const BEHIND_MS := 2000.0
const POLL_SECONDS := 20
## After so many long-polls the client tries a WebSocket again. The number doubles each time.
const POLLS := 6
const STEADY_MS := 30_000.0
const FAST_TRIES := 8

## `status` is `connecting`, `live` (`by` a socket or a poll), `waiting` (for `ms`, after an `error`) or `ended` (with its `code`).
var state := {"status": "connecting"}
var _client: Node = null
var _clock: Clock = null
var _watched: Watched = null
var _closing := Abort.new()
var _waking: Abort = null
var _position := 0
var _is_final := false
var _whole := false
var _error := ""
var _link: Link = null


func _init(client: Node, watched: Watched) -> void:
	_client = client
	_clock = client.get("_clock")
	_watched = watched
	watched.watch = self


func _set_state(next: Dictionary) -> void:
	if not _closing.is_aborted:
		state = next
		state_changed.emit(next)


func live(by: String) -> void:
	if state["status"] != "live":
		_set_state({"status": "live", "by": by})


func _finish(code: String) -> void:
	_set_state({"status": "ended", "code": code})
	_closing.abort()
	# A watch and what it watches hold each other.
	_watched.watch = null
	ended.emit(code)


## Ends the watch.
func close() -> void:
	if not _closing.is_aborted:
		_finish("closed")


## Checks the connection, or connects at once.
func wake() -> void:
	if _waking:
		_waking.abort()
	if _link:
		_link.check()


## Sends `hello` again on the open connection.
func greet() -> void:
	if _link:
		_link.greet()


## Passes a state on if it is newer than the last one. Returns its position, below 0 without one.
func take(message: Dictionary) -> int:
	var found := _watched.position_of(message)
	if _closing.is_aborted:
		return -1
	if found < 0:
		_watched.other(message)
	elif found > _position:
		_position = found
		if await _watched.deliver(message):
			_is_final = true
	return found


## Reads the state from the service, and passes it on.
func poll(wait: int) -> Dictionary:
	var known := _position
	var reply: Dictionary = await _watched.poll(wait, known, _closing)
	if reply["ok"]:
		var found := _watched.position_of(reply)
		# It is older than the last one, although it was read later: the service has lost changes.
		if _position == known and found >= 0 and found < known:
			_position = 0
		await take(reply)
	return reply


## Watches until the end. The client starts this.
func run() -> void:
	var polls := POLLS
	var tries := -1
	var was_refused := false
	while not _closing.is_aborted:
		tries += 1
		_set_state({"status": "connecting"})
		var opened: Array = await _over_socket() if _client.get("_sockets") else [0, -1.0]
		if _closing.is_aborted:
			break
		var code: int = opened[0]
		if code > 4501 and code < 5000:
			if await _watched.goes_on():
				continue
			return _finish(_error if _error else "finished")
		if _is_final or code in [4500, 4501]:
			return _finish("gone" if code == 4500 else "finished")
		if opened[1] > STEADY_MS:
			tries = 0
		var problem := {}
		if opened[1] >= 0:
			was_refused = false
		else:
			# A WebSocket does not tell why it could not open. A read tells it, or shows that the network blocks only WebSockets. The
			# service may have come back between the two, so a second try tells.
			var is_first: bool = _client.get("_sockets") and not was_refused
			problem = await _over_polls(1 if is_first else polls)
			was_refused = is_first and not problem
			if _closing.is_aborted:
				break
			if _is_final:
				return _finish("finished")
			if problem and problem.get("status") and not Request.is_temporary(problem["error"]):
				return _finish(problem["error"]["code"])
			if not problem:
				polls *= 1 if was_refused else 2
				continue
		var error := Request.picked(problem, ["error"])
		var wait := _wait_of(tries, error.get("error", {}))
		_waking = Abort.new()
		_set_state({"status": "waiting", "ms": wait}.merged(error))
		await Abort.sleep(_clock, wait, [_waking, _closing])
		_waking = null


## Milliseconds before the next try: back within a second after a short outage, within 3.5 s after any, and not all at once.
static func _wait_of(tries: int, error: Dictionary) -> float:
	var most := minf(1000, 250 * pow(2, tries)) if tries < FAST_TRIES else 3500.0
	return minf(error.get("retryAfterMs", 0), 60_000) + most * (1 + randf()) / 2


## Long-polls so many times. Returns the failure that stopped it, or an empty one.
func _over_polls(times: int) -> Dictionary:
	for turn: int in times:
		if _closing.is_aborted or _is_final:
			break
		# The first poll does not wait for news, so it is answered at once.
		var reply := await poll(POLL_SECONDS if turn else 0)
		if not reply["ok"]:
			return reply
		# A single read tells only why there is no WebSocket.
		if times > 1:
			live("poll")
	return {}


## Watches over one WebSocket until it closes. Returns the close code, and for how long it was open: below 0 if it never opened.
func _over_socket() -> Array:
	var url: String = "ws" + str(_client.get("_base")).trim_prefix("http") + _watched.path
	var socket: Transport.Socket = _client._transport.open_socket(url + ("?patch=1" if _watched.patches and not _whole else ""))
	var whole := Abort.within(_clock, OPEN_MS, [_closing])
	var is_open: Variant = await whole.result_of(socket.opening)
	whole.release()
	if not is_open or _closing.is_aborted:
		socket.close()
		return [0, -1.0]
	_link = Link.new(self, socket)
	_closing.listen(_link.stop)
	var result: Array = await _link.run()
	if _closing.aborted.is_connected(_link.stop):
		_closing.aborted.disconnect(_link.stop)
	_link = null
	return result


## One open connection of a watch.
class Link:
	var _watch: CoinopWatch = null
	var _clock: Clock = null
	var _socket: Transport.Socket = null
	var _opened_at := 0.0
	var _is_over := false
	## The position of the newest state that this connection brought.
	var _brought := 0
	## The last room of this connection: the next patch applies to it, even if a read has found a newer one.
	var _room: Variant = null
	var _alarm := Clock.Alarm.new()
	var _pings := false
	var _checks := 0

	func _init(watch: CoinopWatch, socket: Transport.Socket) -> void:
		_watch = watch
		_clock = watch._clock
		_socket = socket
		_opened_at = _clock.now()

	func _after(ms: float, run_it: Callable) -> void:
		_alarm.cancel()
		if not _is_over:
			_alarm = _clock.later(ms, run_it)

	## Ends the connection. Another one follows, unless the watch is over.
	func stop() -> void:
		_is_over = true
		_alarm.cancel()
		_socket.close()

	func send(message: Dictionary) -> void:
		_socket.send(Json.compact(message))

	func run() -> Array:
		_watch._watched.opened()
		_idle()
		greet()
		var code := 0
		while not _is_over:
			var text: Variant = await _socket.receive()
			if text == null:
				code = 0 if _is_over else _socket.code
				break
			var message: Variant = Json.parse(text)
			if not message is Dictionary or not await _receive(message):
				break
		var opened_ms := _clock.now() - _opened_at
		stop()
		return [code, opened_ms]

	func greet() -> void:
		var hello := _watch._watched.hello()
		if hello and not _is_over:
			send(hello)

	func _idle() -> void:
		_after(QUIET_MS if _pings else CHECK_MS * (1 + randf() / 2), _probe)

	func _probe() -> void:
		_checks += 1
		if _pings and _checks % READS:
			check()
		else:
			_read()

	func check() -> void:
		if _is_over:
			return
		if not _pings:
			_read()
			return
		send({"type": "ping", "t": _clock.now()})
		_after(PONG_MS, stop)

	func _read() -> void:
		_idle()
		var reply := await _watch.poll(0)
		if _is_over:
			return
		# The service did not answer, or refused. A new connection follows, and ends the watch if the room no longer exists.
		if not reply["ok"] and reply.get("status", 0) < 429:
			stop()
		elif _watch._position > _brought:
			_after(BEHIND_MS, stop)

	## Returns whether the message fits, and the connection goes on.
	func _receive(message: Dictionary) -> bool:
		if message.get("type") == "welcome" and message.get("now"):
			_pings = true
		# After a patch that does not fit `_whole` is still set: the next connection asks for whole rooms.
		_watch._whole = true
		if message.has("ops"):
			var patched: Variant = Patch.patched(_room, message.get("from"), message["ops"])
			if Patch.is_none(patched):
				return false
			message = {"room": patched}
		_watch._whole = false
		_room = message.get("room", _room)
		var known := _watch._position
		_idle()
		_watch.live("socket")
		# The error of an `acted` is not the channel's.
		var error: Variant = message.get("error") if message.get("type") == "error" else null
		if error is Dictionary:
			_watch._error = error.get("code", "")
			# The service could not process the hello at the moment, so it is sent again.
			if Request.is_temporary(error):
				_clock.later(Request.backoff(2, error), greet)
		var found := await _watch.take(message)
		# A new connection brought an older state than the known one: the service has lost changes, or this process of it is behind.
		if found > 0 and not _brought and found < known:
			_after(BEHIND_MS, _read)
		_brought = maxi(_brought, found)
		if _watch._is_final:
			stop()
		return true
