## Tells once that something has to stop. Give one as [code]abort[/code] to a call: its [method abort] ends the call at once.
class_name CoinopAbort
extends RefCounted

signal aborted

const Clock = preload("clock.gd")
const Later = preload("later.gd")

var is_aborted := false
var _alarm: RefCounted = null
var _given: Array = []


func abort() -> void:
	if not is_aborted:
		is_aborted = true
		aborted.emit()


## Calls back at the abort, and at once if that has been.
func listen(listener: Callable) -> void:
	if is_aborted:
		listener.call()
	else:
		aborted.connect(listener)


## One that aborts after so many milliseconds, or when one of the given aborts. It has to be released at the end.
static func within(clock: Clock, ms: float, given: Array) -> CoinopAbort:
	var whole: CoinopAbort = new()
	whole._alarm = clock.later(ms, whole.abort)
	for each: CoinopAbort in given:
		if each:
			whole._given.append(each)
			each.listen(whole.abort)
	return whole


func release() -> void:
	_alarm.call("cancel")
	for each: CoinopAbort in _given:
		if each.aborted.is_connected(abort):
			each.aborted.disconnect(abort)
	_given.clear()


static func is_any(given: Array) -> bool:
	return given.any(func(each: CoinopAbort) -> bool: return each != null and each.is_aborted)


## Waits for so many milliseconds, or until one of the given aborts.
static func sleep(clock: Clock, ms: float, given: Array) -> void:
	var whole := within(clock, ms, given)
	if not whole.is_aborted:
		await whole.aborted
	whole.release()


## The result that comes later, or null if this aborts before.
func result_of(later: Later) -> Variant:
	var first := Later.new()
	if later.is_done:
		return later.value
	later.came.connect(first.settle)
	listen(first.settle.bind(null))
	var result: Variant = await first.result()
	if later.came.is_connected(first.settle):
		later.came.disconnect(first.settle)
	return result
