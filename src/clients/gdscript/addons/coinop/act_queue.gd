## The acts of one player in one room. The service does them in the order of the calls, each once.
##
## The service does an act if its order is above the last order of its tab, and takes any other for a repetition. So mostly only one act is
## under way, and is sent again under its order until it is answered. Two kinds are sent without waiting: changes of the player's own data,
## and messages. A change of own data then also holds the unanswered changes before it, so the last one has all, whichever of them the
## service does. If the service refuses a message for now and has done a later act meanwhile, the message gets a new order before it is sent
## again.
extends RefCounted

## Something changed that the room shows.
signal changed
## The service is silent, and a new connection may help.
signal stuck
signal refused(error: Dictionary, act: Act)

const Clock = preload("clock.gd")
const Json = preload("json.gd")
const Later = preload("later.gd")
const Patch = preload("patch.gd")
const Request = preload("request.gd")
const Store = preload("store.gd")

const MOST_ACTS := 256
const MOST_SENT := 16
## Milliseconds without an answer after which a new connection may help. The service answers each act within 3 s.
const SILENCE_MS := 4500.0
## Of an act without a number.
const LAST_ORDER := 9_007_199_254_740_992

var tab := Store.random_text(16)
var _clock: Clock = null
# Below the limits of a seat: 30 acts a second and 60 at once, of which 20 and 40 may be messages.
var _acts := Bucket.new(25, 30)
var _messages := Bucket.new(16, 20)
var _waiting: Array[Act] = []
var _sent: Array[Act] = []
## Acts that were refused for now while later ones were under way.
var _again: Array[Act] = []
## Acts that the service has done, but whose effect is not yet in the room.
var _shown: Array[Act] = []
var _next_order := 1
var _last_done := 0
var _last_data := 0
var _room_seq := 0
var _line := Callable()
var _is_http := false
var _seat := ""
var _refusal := {}
var _tries := 0
var _paused_until := 0.0
var _pausing: Clock.Alarm = Clock.Alarm.new()
var _listening: Clock.Alarm = Clock.Alarm.new()


class Act:
	var action := ""
	var fields := {}
	## Its number in the tab. 0 before it is sent.
	var order := 0
	var seat := ""
	## The `seq` of the room after the act.
	var seq := 0
	var is_unclear := false
	var done: Array[Later] = []


## Allows a rate and a burst by the generic cell rate algorithm, as the service does.
class Bucket:
	var _interval := 0.0
	var _at_once := 0
	var _paid_until := 0.0

	func _init(per_second: float, at_once: int) -> void:
		_interval = 1000.0 / per_second
		_at_once = at_once

	func wait_ms(now: float) -> float:
		return _paid_until - now - _interval * (_at_once - 1)

	func take(now: float) -> void:
		_paid_until = maxf(_paid_until, now) + _interval


func _init(clock: Clock) -> void:
	_clock = clock


func _settle(act: Act, result: Dictionary) -> void:
	if not result["ok"]:
		refused.emit(result["error"], act)
	for done: Later in act.done:
		done.settle(result)


## The fields with which an act can be sent while others have no answer. Null: it has to wait.
func _following(act: Act) -> Variant:
	if _is_http or act.action not in ["data", "message"]:
		return null
	var before: Act = null
	for each: Act in _sent:
		if each.action not in ["data", "message"]:
			return null
		if each.action == "data":
			before = each
	return Patch.combined(before.fields, act.fields, "data") if before and act.action == "data" else act.fields


func _listen() -> void:
	_listening.cancel()
	if _sent and not _is_http:
		_listening = _clock.later(SILENCE_MS, stuck.emit)


func _wait_ms(action: String) -> float:
	var now := _clock.now()
	if _paused_until > now:
		return _paused_until - now
	var wait := _acts.wait_ms(now)
	if action == "message":
		wait = maxf(wait, _messages.wait_ms(now))
	if wait <= 0:
		_acts.take(now)
		if action == "message":
			_messages.take(now)
	return wait


func _pump() -> void:
	_pausing.cancel()
	while _line.is_valid() and _waiting and not _again and _sent.size() < MOST_SENT:
		var act: Act = _waiting[0]
		var fields: Variant = _following(act) if _sent else act.fields
		if fields == null:
			return
		var wait := _wait_ms(act.action)
		if wait > 0:
			_pausing = _clock.later(wait, _pump)
			return
		_waiting.pop_front()
		act.fields = fields
		if not act.order:
			act.order = _next_order
			_next_order += 1
		_sent.append(act)
		_listen()
		_line.call(act)


func unanswered() -> Array[Act]:
	return _in_order(_sent + _again + _waiting)


static func _in_order(acts: Array[Act]) -> Array[Act]:
	# Godot's own sort does not keep the order of equals.
	var ordered: Array[Act] = []
	for act: Act in acts:
		var place := ordered.size()
		while place > 0 and _order_of(ordered[place - 1]) > _order_of(act):
			place -= 1
		ordered.insert(place, act)
	return ordered


static func _order_of(act: Act) -> int:
	return act.order if act.order else LAST_ORDER


## The acts whose effect is shown although the room from the service does not have it yet, in their order.
func echo() -> Array[Act]:
	return _shown + unanswered()


## Puts refused acts back. If a later one was done in the meantime, they get new orders.
func _requeue() -> void:
	var is_late := _again.any(func(act: Act) -> bool: return act.order < _last_done)
	var staying: Array[Act] = []
	var again := _again
	_again = []
	for act: Act in again:
		# The service may have sent this message already, and must not send it twice.
		if is_late and act.is_unclear and act.action == "message":
			_settle(act, Request.failure("store_unavailable"))
		else:
			act.order = 0 if is_late else act.order
			staying.append(act)
	_waiting = _in_order(staying + _waiting)


func _postpone(act: Act, error: Dictionary) -> void:
	_paused_until = _clock.now() + Request.backoff(_tries, error)
	_tries += 1
	act.is_unclear = act.is_unclear or error.get("outcome") == "unknown"
	if act.action == "data":
		for each: Act in unanswered():
			if each.action == "data" and _order_of(each) > act.order:
				# It holds the changes of the refused act, which need not be sent again.
				each.done.append_array(act.done)
				return
		if _last_data > act.order:
			return _settle(act, {"ok": true, "seq": _room_seq})
	_again.append(act)


## Notes that there is no connection. Acts without an answer are sent again by the next one.
func lost() -> void:
	_line = Callable()
	_waiting = _sent + _waiting
	_sent = []
	_requeue()
	_listen()


## Adds an act, or merges it into one of the same kind that waits.
func add(action: String, given: Dictionary) -> Later:
	var done := Later.new()
	# A copy, because the game may change its object before the act is sent.
	var copy: Variant = Json.parse(Json.compact(given))
	if copy == null:
		done.settle(Request.failure("invalid_request", "The act is no JSON"))
		return done
	var fields: Dictionary = copy
	if _refusal:
		done.settle({"ok": false, "error": _refusal})
		return done
	var last: Act = _waiting.back() if _waiting else null
	var both: Variant = null
	if last and last.action == action and action in ["data", "state"] and not last.order:
		if not last.fields.has("ifStateSeq") and not fields.has("ifStateSeq"):
			both = Patch.combined(last.fields, fields, action)
	if both != null:
		last.fields = both
		last.done.append(done)
	elif unanswered().size() >= MOST_ACTS:
		done.settle(Request.failure("queue_full", "%d acts wait already." % MOST_ACTS))
		return done
	else:
		var act := Act.new()
		act.action = action
		act.fields = fields
		act.seat = _seat
		act.done.append(done)
		_waiting.append(act)
	changed.emit()
	_pump()
	return done


func answered(answer: Dictionary) -> void:
	var act: Act = null
	for each: Act in _sent:
		if each.order == answer["order"]:
			act = each
	if act == null:
		return
	var error: Dictionary = answer.get("error", {})
	_sent.erase(act)
	_listen()
	if not error or _has_left(act, error):
		_tries = 0
		_last_done = maxi(_last_done, act.order)
		if act.action == "data":
			_last_data = maxi(_last_data, act.order)
		act.seq = answer.get("seq", _room_seq)
		if act.seq > _room_seq:
			_shown.append(act)
		_settle(act, {"ok": true, "seq": act.seq}.merged(Request.picked(answer, ["replayed", "away"])))
	elif Request.is_temporary(error) and error["code"] != "internal":
		_postpone(act, error)
	else:
		_settle(act, {"ok": false, "error": error})
	if not _sent:
		_requeue()
	changed.emit()
	_pump()


## Notes that the client has the room of this `seq`.
func seen(seq: int) -> void:
	if seq < _room_seq:
		# The service has lost changes, and so the effects of acts that it had done.
		_shown = []
	_room_seq = seq
	_shown = _shown.filter(func(act: Act) -> bool: return act.seq > seq)


## Takes an open connection for a seat.
func open(line: Callable, is_http: bool, of: String) -> void:
	if _line.is_valid():
		lost()
	_refusal = {}
	_line = line
	_is_http = is_http
	_seat = of if of else _seat
	var foreign: Array[Act] = []
	for act: Act in _waiting.duplicate():
		if act.seat and _seat and act.seat != _seat:
			_waiting.erase(act)
			foreign.append(act)
		else:
			act.seat = _seat
	for act: Act in foreign:
		_settle(act, Request.failure("not_in_room", "It was made for another seat."))
	if foreign:
		changed.emit()
	_pump()


## Notes that the service refuses all acts of this caller. Empty: it accepts them again.
func refuse(error: Dictionary) -> void:
	_refusal = error
	if not error:
		return
	lost()
	var waiting := _waiting
	_waiting = []
	for act: Act in waiting:
		_settle(act, {"ok": true, "seq": _room_seq} if _has_left(act, error) else {"ok": false, "error": error})
	_pausing.cancel()
	changed.emit()


## A repeated `leave` is refused with `not_in_room` if the first one was done and its answer was lost.
static func _has_left(act: Act, error: Dictionary) -> bool:
	return act.action == "leave" and error["code"] == "not_in_room"
