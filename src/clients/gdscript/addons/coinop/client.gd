## The client of one service for one player: coins, boards, rooms, saves and accounts.
##
## Calls return [code]{"ok": true, …}[/code] or [code]{"ok": false, "error": {"code": …}}[/code]; no failure of the network or the service stops
## a game. The plugin adds one as the autoload [code]Coinop[/code], which starts with the project setting [code]coinop/url[/code].
class_name CoinopClient
extends "calls.gd"

## The result of a coin operation, also of one that an earlier start began.
signal operation_done(operation: Dictionary, result: Dictionary)
## The same of a purchase.
signal purchase_done(purchase: Dictionary, result: Dictionary)
## The result of a save: `of` has its game and name.
signal saved(of: Dictionary, result: Dictionary)
## Something for the developer. Without a listener it is a warning of Godot.
signal warned(message: String)

const Abort = preload("abort.gd")
const Clock = preload("clock.gd")
const Identity = preload("identity.gd")
const Json = preload("json.gd")
const Later = preload("later.gd")
const Outbox = preload("outbox.gd")
const Request = preload("request.gd")
const Room = preload("room.gd")
const SavesOf = preload("saves.gd")
const Kept = preload("store.gd")
const Transport = preload("platform/transport.gd")
const Watch = preload("watch.gd")
const Watched = preload("watched.gd")

const CALL_MS := 15_000.0
## For so long the service gives the same caller the same seat of a match. A later repetition could take a second seat.
const SAME_SEAT_MS := 10_000.0
## The most milliseconds of a try for which the service asks a provider of sign-ins, which takes up to 10 s.
const PROVIDER_MS := 12_000.0
const ACTS := [
	"leave", "ready", "state", "kick", "unready", "lock", "unlock", "rematch", "start", "settings", "data", "private", "transfer", "end",
]
const MOST_LISTED := 50
const BY_INSTALL := ["accounts.resolve", "accounts.delete", "sessions.login"]
## A status is read by the secret of the pairing.
const BY_NOBODY := ["rooms.list", "pairing.open", "pairing.status"]
const OF_PROVIDER := ["signIns.add", "store.provision"]
## Of these the service gives the session in the answer, and not in a cookie.
const WITH_SESSION := ["sessions.login", "store.provision", "pairing.open"]
const GIVES_SESSION := ["sessions.login", "store.provision", "pairing.status"]

## `(mine, theirs, of)` → the data to keep, awaited, or null for `mine`. Both have `data`, and what the service says of a save.
var on_conflict := Callable()
var saves: SavesOf = null
var _base := ""
var _timeout_ms := CALL_MS
var _sockets := true
var _clock: Clock = null
var _transport: Transport = null
var _store: Kept = null
var _identity: Identity = null
var _outbox: Outbox = null
var _closed := Abort.new()
var _watches: Array[Watch] = []
var _tab := ""
var _order := 0
## The last act of a call, after which the next is sent.
var _acting: Later = null


func _init() -> void:
	super(_call)
	process_mode = Node.PROCESS_MODE_ALWAYS


## Starts with the address of the service. Options: `install_id`, an install of the game's own; `timeout_ms` of a call with its repetitions,
## 15,000; `device`, the name of this device in saves; `name`, of what is kept, `coinop`; `store`, `clock` and `transport` in place of the
## client's own; `sockets`, false where there are no WebSockets.
func start(url: String, options := {}) -> Error:
	close()
	_base = url.trim_suffix("/")
	var install_id: String = options.get("install_id", "")
	if not RegEx.create_from_string("^https?://[^/?#@\\s]+$").search(_base) or (install_id and not _is_plain(install_id)):
		push_error("Coinop: bad url or install_id: %s" % _base)
		_base = ""
		return ERR_INVALID_PARAMETER
	var kept: String = options.get("name", "coinop")
	_timeout_ms = options.get("timeout_ms", CALL_MS)
	_sockets = options.get("sockets", true)
	_clock = options["clock"] if options.has("clock") else Clock.new()
	_transport = options["transport"] if options.has("transport") else Transport.new()
	_closed = Abort.new()
	_acting = null
	_tab = Kept.random_text(16)
	_store = Kept.new(options["store"] if options.has("store") else Kept.of_platform(kept), _warn)
	_identity = Identity.new(self, _store, kept, install_id)
	_outbox = Outbox.new(self, _store, kept, _closed)
	saves = SavesOf.new(self, _store, kept, options.get("device", ""))
	# After this frame, so that the scenes have connected their signals.
	wake.call_deferred()
	return OK


static func _is_plain(text: String) -> bool:
	return RegEx.create_from_string("^[!-~]+$").search(text) != null


## The caller: `installId`, and of a session `sessionToken` and `accountId`. All but the last are secrets of the player.
func who() -> Dictionary:
	return Request.picked(_identity.load_me(), ["installId", "sessionToken", "accountId"])


## Tries everything again at once, because the device woke up or has a network again.
func wake() -> void:
	if not _base or _closed.is_aborted:
		return
	_outbox.wake()
	saves.wake()
	for watch: Watch in _watches.duplicate():
		watch.wake()


## Removes the operations that wait for a sign-in.
func discard_held() -> void:
	_outbox.discard_held()


## Ends all watches and calls. Unfinished operations stay in the store.
func close() -> void:
	for watch: Watch in _watches.duplicate():
		watch.close()
	_closed.abort()


## Carries everything on. Godot calls this in each frame while the client is in the tree.
func poll() -> void:
	if _base:
		_clock.fire()
		_transport.poll()


func _process(_delta: float) -> void:
	poll()


func _exit_tree() -> void:
	close()
	poll()


func _notification(what: int) -> void:
	if what in [NOTIFICATION_APPLICATION_RESUMED, NOTIFICATION_APPLICATION_FOCUS_IN]:
		wake()


func _warn(message: String) -> void:
	if warned.has_connections():
		warned.emit(message)
	else:
		push_warning(message)


## Watches a room. Its `news` has the whole room, at once and after every change. Without `greets` nobody is told who watches.
func watch_room(code: String, greets := true) -> Watch:
	var watched := Watched.Room.new(self, code)
	watched.greets = greets
	return _follow(watched)


## Plays in a room in which the player has a seat. Free the node at the end.
func play_room(code: String) -> Room:
	var room := Room.new()
	add_child(room)
	room.play(code, self)
	return room


## Takes a seat in the oldest open room of `game` with these `tags`, or in a new one. The result has `room` and `created`.
func quick_match(wanted: Dictionary, more := {}) -> Dictionary:
	var ms := minf(more.get("timeout_ms", SAME_SEAT_MS), SAME_SEAT_MS)
	var reply := await _repeat("rooms.match", wanted, ms, more.get("abort"), _identity.credential)
	return {"ok": true, "room": play_room(reply["room"]["code"]), "created": reply["created"]} if reply["ok"] else reply


## Watches a pairing of `pairing.open()`: its `news` has each status. With `claimed` the client has the session.
func watch_pairing(pairing_opened: Dictionary) -> Watch:
	return _follow(Watched.Pairing.new(self, pairing_opened))


## Watches the player's balance and entitlement, at once and after every change, whoever made it.
func watch_account() -> Watch:
	return _follow(Watched.Account.new(self))


## Watches the ten best scores of a game: its `news` has `top`, and `season` or null.
func watch_board(game: String) -> Watch:
	var path := "/v1/highscores/%s/live" % Json.component(game)
	return _follow(Watched.List.new(self, path, ["top", "season"], "highscores.top", {"game": game}))


## Watches the newest 50 open rooms, with [param filter] those of a `game` with all of these `tags`: its `news` has the list.
func watch_lobby(filter := {}) -> Watch:
	var query := _with_tags(filter)
	var parts: PackedStringArray = []
	for field: String in query:
		parts.append("%s=%s" % [field.uri_encode(), Json.component(query[field])])
	var path := "/v1/lobby/live" + ("?" + "&".join(parts) if parts else "")
	return _follow(Watched.List.new(self, path, ["rooms"], "rooms.list", query.merged({"limit": MOST_LISTED}, true), MOST_LISTED))


func _follow(watched: Watched) -> Watch:
	var watch := Watch.new(self, watched)
	_watches.append(watch)
	watch.ended.connect(func(_code: String) -> void: _watches.erase(watch), CONNECT_ONE_SHOT)
	# After this frame, so that the game has connected its signals.
	watch.run.call_deferred()
	return watch


## Sends a request once. Every failure is a result.
##
## `{name}` in the path of the route is replaced by that field; the other fields are the query or the body. `by`: the headers that name the
## caller. Null: only a sign-in can give them.
func _once(route: String, given: Dictionary, by: Variant, abort: Abort, try_ms := Request.TRY_MS) -> Dictionary:
	if by == null:
		return Request.failure("sign_in_required").merged({"status": 401})
	var method_and_path := str(ROUTES.get(route, route)).trim_prefix("!").split(" ")
	var method := method_and_path[0]
	var path := method_and_path[1]
	var body := {}
	var query: PackedStringArray = []
	for name: String in given:
		var value: Variant = given[name]
		if path.contains("{%s}" % name):
			# Else the request would go to another path.
			if value == null or str(value) == "":
				return Request.failure("invalid_request", "%s is missing" % name, {"field": name})
			path = path.replace("{%s}" % name, Json.component(value))
		elif method != "GET":
			body[name] = value
		elif value != null:
			query.append("%s=%s" % [name, Json.component(value)])
	var headers: Dictionary = (by as Dictionary).duplicate()
	var text: Variant = null
	if method != "GET":
		text = Json.compact(body)
		headers["content-type"] = "application/json"
		if not text:
			return Request.failure("invalid_request", "The input is no JSON")
	var whole := Abort.within(_clock, try_ms, [abort])
	var answer := {"problem": "aborted"}
	if not whole.is_aborted:
		answer = await _transport.request(method, _base + path + ("?" + "&".join(query) if query else ""), headers, text, whole)
	whole.release()
	if whole.is_aborted:
		return Request.stopped_by([abort])
	if answer.has("problem"):
		return Request.failure("network", answer["problem"])
	return Request.answer_of(answer["status"], answer["headers"], answer["text"])


## Repeats a request until it has an answer, the time is up, or an abort. `by` gives the headers that name the caller.
func _repeat(
	name: String, given: Dictionary, timeout_ms: float, abort: Abort, by: Callable, try_ms := Request.TRY_MS
) -> Dictionary:
	var route: String = ROUTES[name]
	var wait_ms := 1000.0 * float(given["wait"] if given.get("wait") else 0)
	var aborts := [abort, _closed]
	var whole := Abort.within(_clock, _timeout_ms + wait_ms if timeout_ms < 0 else timeout_ms, aborts)
	var last := {}
	var tries := 0
	while true:
		var result := await _once(route, given, by.call(), whole, try_ms + wait_ms)
		if not result["ok"] and whole.is_aborted:
			# When the time is up, the last failure from the service tells more than `timeout`.
			last = last if last and not Abort.is_any(aborts) else Request.stopped_by(aborts)
			break
		last = result
		if result["ok"]:
			break
		var error: Dictionary = result["error"]
		if not Request.is_temporary(error):
			break
		if route.begins_with("!") and (error.has("outcome") or error["code"] in Request.UNCLEAR):
			break
		await Abort.sleep(_clock, Request.backoff(tries, error), [whole])
		tries += 1
	whole.release()
	return last


## Makes the call of a name, such as `coins.credit`. `more`: its optional fields, and `timeout_ms` and `abort`.
func _call(name: String, needed: Dictionary, more: Dictionary) -> Dictionary:
	if not _base:
		push_error("Coinop: call start(url) first, or set coinop/url in the project's settings")
		return Request.failure("invalid_request", "The client has no url")
	var given := needed.merged(more)
	var timeout_ms: float = more.get("timeout_ms", -1)
	var abort: Abort = more.get("abort")
	given.erase("timeout_ms")
	given.erase("abort")
	var call_name := name.get_slice(".", 1)
	if Outbox.OPERATIONS.get(call_name) == name:
		return await _outbox.operate(call_name, given, abort, _timeout_ms if timeout_ms < 0 else timeout_ms)
	if name.begins_with("rooms.") and call_name in ACTS:
		return await _act(name, given, timeout_ms, abort)
	var owner := _identity.owner() if name == "store.provision" else ""
	var secret: Variant = given.get("secret") if name == "pairing.status" else null
	if name == "pairing.status":
		given.erase("secret")
	if name in WITH_SESSION:
		given["session"] = "token"
	if name == "rooms.list":
		given = _with_tags(given)
	# A lambda has its own copy of a number.
	var tries := [0]
	var by := func() -> Dictionary:
		tries[0] += 1
		if name in BY_NOBODY:
			return {"x-pair-secret": secret} if secret else {}
		return _identity.install() if name in BY_INSTALL else _identity.credential()
	var reply := await _repeat(name, given, timeout_ms, abort, by, PROVIDER_MS if name in OF_PROVIDER else Request.TRY_MS)
	await _follow_caller(name, needed.merged(more), reply, owner, tries[0] > 1)
	return reply


## Does what an answer means for the caller. `owner`: who provided the sign-in of a store.
func _follow_caller(name: String, given: Dictionary, reply: Dictionary, owner: String, is_repeated: bool) -> void:
	var is_over := false
	var code: String = "" if reply["ok"] else reply["error"]["code"]
	if name == "rooms.join":
		# The player of a new seat is shown as connected only after a hello on the channel.
		_greet()
	elif name in GIVES_SESSION and reply.get("sessionToken"):
		# If the answer was lost, the guest may already have moved. The repetition then answers with neither `moved` nor `notMoved`.
		var moved_unseen: bool = is_repeated and not reply.get("notMoved") and owner != "a%s" % reply.get("accountId")
		var is_moved: bool = name == "store.provision" and (reply.get("moved") or moved_unseen)
		await _identity.signed_in(reply, name == "sessions.login", owner if is_moved else "")
		_change()
	elif name in ["sessions.logout", "accounts.delete"]:
		# The first of the two answers to a deletion has a `confirm`, and ends nothing.
		is_over = not reply.has("confirm") if reply["ok"] else code == "account_deleted"
	elif name in ["sessions.end", "signIns.remove"]:
		# A removed sign-in ends its sessions, the caller's own among them if it began with it. If a session ends itself and the answer is
		# lost, the repetition is refused with `session_required`.
		is_over = reply.get("current", false) if reply["ok"] else is_repeated and code == "session_required"
	if is_over:
		_identity.signed_out(name == "accounts.delete" and not given.get("token"))
		_change()


## Acts are sent one after the other, each under its order: the service takes one that a later one has overtaken for a repetition.
func _act(name: String, given: Dictionary, timeout_ms: float, abort: Abort) -> Dictionary:
	_order += 1
	var numbered := given.merged({"order": _order, "tab": _tab})
	var until := _clock.now() + (_timeout_ms if timeout_ms < 0 else timeout_ms)
	var before := _acting
	var own := Later.new()
	_acting = own
	if before and not before.is_done:
		var whole := Abort.within(_clock, until - _clock.now(), [abort, _closed])
		await whole.result_of(before)
		whole.release()
		if not before.is_done:
			before.came.connect(own.settle)
			return Request.stopped_by([abort, _closed])
	var reply := await _repeat(name, numbered, until - _clock.now(), abort, _identity.credential)
	own.settle(null)
	return reply


func _greet() -> void:
	for watch: Watch in _watches.duplicate():
		watch.greet()


## Continues operations and watches as the new caller.
func _change() -> void:
	_outbox.resume()
	_greet()


## The query parameters of a list of rooms: one for each tag.
static func _with_tags(given: Dictionary) -> Dictionary:
	var query := given.duplicate()
	query.erase("tags")
	var tags: Variant = given.get("tags")
	if tags is Dictionary:
		for tag: String in tags:
			query["tag." + tag] = tags[tag]
	return query
