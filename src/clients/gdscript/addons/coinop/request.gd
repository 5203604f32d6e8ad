## What requests are made of, and what their answers and failures mean.
extends RefCounted

const Abort = preload("abort.gd")
const Json = preload("json.gd")

## The most milliseconds of one try. The service answers within 2 s; after a longer silence a new connection may help.
const TRY_MS := 5000.0
## The error codes after which the service may have carried out the request.
const UNCLEAR: Array[String] = ["network", "timeout", "internal"]
## The error codes after which the same request may succeed later.
const TEMPORARY: Array[String] = [
	"network", "timeout", "internal", "rate_limited", "overloaded", "store_unavailable", "app_store_unavailable",
]


static func is_temporary(error: Dictionary) -> bool:
	return error.get("code") in TEMPORARY


static func failure(code: String, message := "", more := {}) -> Dictionary:
	var error := {"code": code, "message": message if message else code}
	return {"ok": false, "error": error.merged(more)}


## The fields of these names that there are.
static func picked(reply: Dictionary, names: Array) -> Dictionary:
	var found := {}
	for name: String in names:
		if reply.has(name):
			found[name] = reply[name]
	return found


## The failure of a call that was stopped: `aborted` by one of these, or else `timeout`.
static func stopped_by(given: Array) -> Dictionary:
	return failure("aborted" if Abort.is_any(given) else "timeout")


## Milliseconds before the next try: exponential backoff with full jitter, after the time for which the service asked, a minute at most.
static func backoff(tries: int, error: Dictionary, most_ms := 5000.0, first_ms := 300.0) -> float:
	var asked := float(error.get("retryAfterMs", 0))
	return minf(asked, 60_000) + randf() * minf(most_ms, first_ms * pow(2.0, minf(tries, 30)))


## The result of an answer. Only the form of the service's answers counts: a proxy or another server may have answered.
static func answer_of(status: int, headers: Dictionary, text: String) -> Dictionary:
	var is_passing := status >= 500 or status == 429 or status < 200
	var reply := failure("network" if is_passing else "not_coinop", "Status %d" % status)
	var found: Variant = Json.parse(text)
	if found is Dictionary:
		var body: Dictionary = found
		if body.get("ok") is bool and body["ok"] == (status == 200):
			if body["ok"]:
				return body
			if body.get("error") is Dictionary and (body["error"] as Dictionary).get("code") is String:
				body["status"] = status
				reply = body
	var asked := str(headers.get("retry-after", "")).to_float() * 1000
	var error: Dictionary = reply["error"]
	if asked > 0 and asked < 1e12 and not error.has("retryAfterMs"):
		error["retryAfterMs"] = roundi(asked)
	return reply
