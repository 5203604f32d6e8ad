// src/clients/javascript/guarded.ts
const guarded = (callback) => (...values) => {
	try {
		callback?.(...values);
	} catch (error) {
		console.error(error);
	}
};

// src/clients/javascript/pace.ts
function bucket(perSecond, atOnce) {
	const intervalMs = 1e3 / perSecond;
	let paidUntil = 0;
	return {
		waitMs: () => paidUntil - performance.now() - intervalMs * (atOnce - 1),
		take: () => void (paidUntil = Math.max(paidUntil, performance.now()) + intervalMs)
	};
}
function paceOfServer() {
	const acts = bucket(60, 50);
	return () => {
		const waitMs = acts.waitMs();
		if (waitMs > 0) return waitMs;
		acts.take();
		return 0;
	};
}

// src/clients/javascript/patch.ts
function patched(room, { from, ops }) {
	if (from !== room["seq"]) throw new Error();
	for (const { op, path, value } of ops) room = changed(room, path.split("/").slice(1), op, value);
	return room;
}
function changed(value, [part, ...path], op, given) {
	const name = part.replace(/~1/g, "/").replace(/~0/g, "~");
	const isNew = op === "add" && !path.length;
	if (!isNew && !Object.keys(value).includes(name)) throw new Error();
	if (path.length) given = changed(value[name], path, op, given);
	if (Array.isArray(value)) {
		const list = [...value];
		list.splice(+name, isNew ? 0 : 1, ...given === void 0 ? [] : [given]);
		return list;
	}
	if (given !== void 0) return {
		...value,
		[name]: given
	};
	const { [name]: _, ...rest } = value;
	return rest;
}
function freeze(value) {
	if (!Object.isFrozen(value)) Object.values(Object.freeze(value)).forEach(freeze);
}

// src/clients/javascript/merge-patch.ts
const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
function merged(target, patch) {
	if (!isObject(patch)) return patch;
	const members = new Map(isObject(target) ? Object.entries(target) : []);
	for (const [name, value] of Object.entries(patch)) if (value === null) members.delete(name);
	else members.set(name, merged(members.get(name), value));
	return Object.fromEntries(members);
}
function composed(earlier, later) {
	if (!isObject(later)) return later;
	if (!isObject(earlier)) return void 0;
	const members = new Map(Object.entries(earlier));
	for (const [name, value] of Object.entries(later)) {
		const both = members.has(name) ? composed(members.get(name), value) : value;
		if (both === void 0) return void 0;
		members.set(name, both);
	}
	return Object.fromEntries(members);
}
function combined(earlier, later, whole) {
	if (whole in later) return later;
	if (whole in earlier) return { [whole]: merged(earlier[whole], later["merge"]) };
	const merge = composed(earlier["merge"], later["merge"]);
	return merge === void 0 ? void 0 : { merge };
}
const applied = (value, fields, whole) => whole in fields ? fields[whole] : merged(value, fields["merge"]);

// src/clients/javascript/request.ts
const TRY_MS = 5e3;
const isAborted = (signals) => signals.some((signal) => signal?.aborted);
async function within(ms, signals, work) {
	const controller = new AbortController();
	const abort = () => controller.abort();
	const timer = setTimeout(abort, Math.min(ms, 2e9));
	for (const signal of signals) signal?.addEventListener("abort", abort);
	if (isAborted(signals)) abort();
	try {
		return await work(controller.signal);
	} finally {
		clearTimeout(timer);
		for (const signal of signals) signal?.removeEventListener("abort", abort);
	}
}
const sleep = (ms, ...signals) => within(ms, signals, (signal) => new Promise((resolve) => signal.aborted ? resolve() : signal.onabort = () => resolve()));
const failure = (code, message = code) => ({
	ok: false,
	error: {
		code,
		message
	}
});
const stopped = (signals) => failure(isAborted(signals) ? "aborted" : "timeout");
const sendOnce = (fetch, base, route, input, headers, signal, tryMs = 5e3) => within(tryMs, [signal], async (stop) => {
	try {
		const [method = "", path = ""] = route.replace("!", "").split(" ");
		const isRead = method === "GET";
		const rest = { ...input };
		let field;
		let url = base + path.replace(/{(\w+)}/g, (_, name) => {
			const value = rest[name] || (field = name);
			delete rest[name];
			return encodeURIComponent(value);
		});
		if (field) return {
			ok: false,
			error: {
				code: "invalid_request",
				message: field + " is missing",
				field
			}
		};
		let mark = "?";
		if (isRead) {
			for (const name in rest) if (rest[name] !== void 0) {
				url += mark + name + "=" + encodeURIComponent(rest[name]);
				mark = "&";
			}
		}
		const response = await fetch(url, {
			method,
			headers: isRead ? headers : {
				...headers,
				"content-type": "application/json"
			},
			body: isRead ? void 0 : JSON.stringify(rest),
			signal: stop,
			credentials: "omit",
			redirect: "manual"
		});
		return answerOf(response.status, response.headers.get("retry-after") * 1e3, await response.text());
	} catch {
		return stop.aborted ? stopped([signal]) : failure("network", `No answer from ${base}`);
	}
});
function answerOf(status, retryAfterMs, text) {
	let reply = failure(status >= 500 || status === 429 ? "network" : "not_coinop", `Status ${status}`);
	try {
		const body = JSON.parse(text);
		if (body.ok === (status === 200) && (body.ok || body.error.code)) reply = body.ok ? body : {
			...body,
			status
		};
	} catch {}
	if (!reply.ok && retryAfterMs > 0) reply.error.retryAfterMs ??= retryAfterMs;
	return reply;
}
const UNCLEAR = [
	"network",
	"timeout",
	"internal"
];
const TEMPORARY = [
	...UNCLEAR,
	"rate_limited",
	"overloaded",
	"store_unavailable",
	"app_store_unavailable"
];
const isTemporary = ({ code }) => TEMPORARY.includes(code);
const backoff = (tries, { retryAfterMs = 0 } = {}, mostMs = 5e3, firstMs = 300) => Math.min(retryAfterMs, 6e4) + Math.random() * Math.min(mostMs, firstMs * 2 ** tries);
const repeat = (mayRepeat, ms, signals, send) => within(ms, signals, async (whole) => {
	let last;
	for (let tries = 0;; tries++) {
		const result = await send(whole);
		if (result.ok) return result;
		if (whole.aborted) return !isAborted(signals) && last || stopped(signals);
		const { error } = last = result;
		if (!isTemporary(error) || !mayRepeat && (error.outcome || UNCLEAR.includes(error.code))) return result;
		await sleep(backoff(tries, error), whole);
	}
});

// src/clients/javascript/storage.ts
const randomText = () => Array.from(crypto.getRandomValues(/* @__PURE__ */ new Uint8Array(24)), (byte) => (byte % 36).toString(36)).join("");

// src/clients/javascript/act-queue.ts
const MOST_ACTS = 256;
const MOST_SENT = 16;
const SILENCE_MS = 4500;
const wholeOf = {
	data: "data",
	state: "state"
};
const refusedAs = (code, message = code) => ({
	ok: false,
	error: {
		code,
		message
	}
});
function actQueue(pace, kept, changed, stuck, refused) {
	const tab = randomText().slice(0, 16);
	let waiting = kept;
	let sent = [];
	let again = [];
	let shown = [];
	let nextOrder = 1;
	let lastDone = 0;
	let lastData = 0;
	let roomSeq = 0;
	let line;
	let seat;
	let refusal;
	let tries = 0;
	let pausedUntil = 0;
	let pausing;
	let listening;
	const settle = (act, result) => {
		if (!result.ok) refused(result.error, act);
		for (const done of act.done) done(result);
	};
	const hasLeft = (act, { code }) => act.action === "leave" && code === "not_in_room";
	const isLoose = (act) => act.tab === tab && (act.action === "data" || act.action === "message");
	const isData = (act) => act.tab === tab && act.action === "data";
	const following = (act) => {
		if (line.isHttp || ![act, ...sent].every(isLoose)) return void 0;
		const before = isData(act) && sent.filter(isData).pop();
		return before ? combined(before.fields, act.fields, "data") : act.fields;
	};
	const listen = () => {
		clearTimeout(listening);
		if (sent.length && !line?.isHttp) listening = setTimeout(stuck, SILENCE_MS);
	};
	const pump = () => {
		clearTimeout(pausing);
		while (line && waiting.length && !again.length && sent.length < MOST_SENT) {
			const act = waiting[0];
			const fields = sent.length ? following(act) : act.fields;
			if (!fields) return;
			const pauseMs = pausedUntil - performance.now();
			const waitMs = pauseMs > 0 ? pauseMs : pace(act.action);
			if (waitMs > 0) {
				pausing = setTimeout(pump, waitMs);
				return;
			}
			waiting.shift();
			act.fields = fields;
			act.order ||= nextOrder++;
			sent.push(act);
			listen();
			line.send(act);
		}
	};
	const byOrder = ({ tab: of, order }) => of === tab ? order || Number.MAX_SAFE_INTEGER : 0;
	const inOrder = (...acts) => acts.sort((one, other) => byOrder(one) - byOrder(other));
	const unanswered = () => inOrder(...sent, ...again, ...waiting);
	const requeue = () => {
		const isLate = again.some((act) => act.tab === tab && act.order < lastDone);
		const staying = again.filter((act) => {
			if (isLate && act.isUnclear && act.action === "message") return void settle(act, refusedAs("store_unavailable"));
			if (isLate) act.order = 0;
			return true;
		});
		waiting = inOrder(...staying, ...waiting);
		again = [];
	};
	const postpone = (act, error) => {
		pausedUntil = performance.now() + backoff(tries++, error);
		act.isUnclear ||= error.outcome === "unknown";
		const later = [
			...sent,
			...again,
			...waiting
		].find((queued) => isData(queued) && queued.order > act.order);
		if (isData(act) && later) later.done.push(...act.done);
		else if (isData(act) && lastData > act.order) settle(act, {
			ok: true,
			seq: roomSeq
		});
		else again.push(act);
	};
	const lost = () => {
		line = void 0;
		waiting = [...sent, ...waiting];
		sent = [];
		requeue();
		listen();
	};
	return {
		tab,
		echo: () => [...shown, ...unanswered()],
		unanswered,
		async add(action, given) {
			const fields = JSON.parse(JSON.stringify(given));
			return new Promise((done) => {
				if (refusal) return done({
					ok: false,
					error: refusal
				});
				const last = waiting[waiting.length - 1];
				const whole = wholeOf[action];
				const both = last && whole && !last.order && last.action === action && !("ifStateSeq" in {
					...last.fields,
					...fields
				}) && combined(last.fields, fields, whole);
				if (both) {
					last.fields = both;
					last.done.push(done);
				} else if (unanswered().length >= 256) return done(refusedAs("queue_full", `${256} acts wait.`));
				else waiting.push({
					action,
					fields,
					tab,
					order: 0,
					seat,
					done: [done]
				});
				changed();
				pump();
			});
		},
		answered({ order, seq = roomSeq, replayed, away, error }) {
			const act = sent.find((sentAct) => sentAct.order === order);
			if (!act) return;
			sent = sent.filter((sentAct) => sentAct !== act);
			listen();
			if (!error || hasLeft(act, error)) {
				tries = 0;
				if (act.tab === tab) lastDone = Math.max(lastDone, order);
				if (isData(act)) lastData = Math.max(lastData, order);
				act.seq = seq;
				if (seq > roomSeq) shown.push(act);
				settle(act, {
					ok: true,
					seq,
					...replayed && { replayed },
					...away && { away }
				});
			} else if (isTemporary(error) && error.code !== "internal") postpone(act, error);
			else settle(act, {
				ok: false,
				error
			});
			if (!sent.length) requeue();
			changed();
			pump();
		},
		seen(next) {
			if (next < roomSeq) shown = [];
			roomSeq = next;
			shown = shown.filter((act) => act.seq > next);
		},
		open(next, of) {
			if (line) lost();
			refusal = void 0;
			line = next;
			seat = of ?? seat;
			const foreign = waiting.filter((act) => act.seat && seat && act.seat !== seat);
			waiting = waiting.filter((act) => !foreign.includes(act));
			for (const act of foreign) settle(act, refusedAs("not_in_room", "It was made for another seat."));
			for (const act of waiting) act.seat = seat;
			if (foreign.length) changed();
			pump();
		},
		lost,
		refuse(error) {
			refusal = error;
			if (!error) return;
			lost();
			for (const act of waiting.splice(0)) settle(act, hasLeft(act, error) ? {
				ok: true,
				seq: roomSeq
			} : {
				ok: false,
				error
			});
			clearTimeout(pausing);
			changed();
		},
		left() {
			for (const act of waiting) act.order ||= nextOrder++;
			return unanswered();
		},
		sitsIn: (of) => void (seat = of)
	};
}

// src/clients/javascript/played-room.ts
const NO_SEAT = "You have no seat in this room any more: you were removed, away too long, or left on another page.";
const HELD = ["session_required", "sign_in_required"];
function playedRoom(options) {
	const { code, to, credential } = options;
	const listeners = /* @__PURE__ */ new Map();
	let confirmed;
	let shown;
	let playerId = options.seat?.split(" ")[1];
	let own;
	let isTelling = false;
	let isClosed = false;
	const warned = /* @__PURE__ */ new Set();
	let hasLeft = false;
	let offsetMs;
	let roundTripMs = Infinity;
	let greetedAt = 0;
	let greeting = "";
	let sendText;
	let drop = () => {};
	const emit = (event, ...values) => {
		for (const listener of [...listeners.get(event) ?? []]) guarded(listener)(...values);
	};
	const changed = () => {
		shown = void 0;
		if (isTelling) return;
		isTelling = true;
		queueMicrotask(() => {
			isTelling = false;
			const room = drawn();
			if (room && !isClosed) emit("change", room);
		});
	};
	const queue = actQueue(options.pace, options.kept ?? [], changed, () => drop(), (error, { action }) => {
		if (isClosed) return;
		const warning = `${action} was refused: ${error.message} (${error.code})`;
		if (!listeners.get("refused")?.size && !warned.has(warning)) options.onWarning?.(warning);
		warned.add(warning);
		emit("refused", error, { action });
	});
	if (options.seat) queue.sitsIn(options.seat);
	const view = () => {
		if (shown || !confirmed) return shown;
		let { state, players } = confirmed;
		for (const { action, fields } of queue.echo()) if (action === "data") players = players.map((player) => player.id === playerId ? {
			...player,
			data: applied(player.data, fields, "data")
		} : player);
		else if (action === "state" || "state" in fields || "merge" in fields) state = applied(state, fields, "state");
		return shown = {
			...confirmed,
			state,
			players
		};
	};
	const meIn = (room) => {
		const me = room?.players.find(({ id }) => id === playerId);
		return me && {
			...me,
			...own !== void 0 && { private: own }
		};
	};
	const drawn = () => {
		const room = view();
		return room && {
			...room,
			me: meIn(room)
		};
	};
	const tell = (now, sentAt) => {
		const ms = performance.now() - sentAt;
		if (ms > roundTripMs) return;
		roundTripMs = ms;
		offsetMs = now - sentAt - ms / 2;
	};
	const sits = (you) => {
		playerId = you.playerId;
		own = you.private;
		changed();
	};
	const isSeated = () => confirmed?.players.some(({ id }) => id === playerId);
	const seatOf = () => confirmed && playerId && `${confirmed.createdAt} ${playerId}`;
	const takeRoom = (room) => {
		const wasSeated = isSeated();
		confirmed = room;
		queue.seen(room.seq);
		if (wasSeated && !isSeated()) {
			hasLeft ||= queue.unanswered().some(({ action }) => action === "leave");
			refuse(refusedAs("not_in_room", NO_SEAT).error);
		}
		changed();
	};
	const overSocket = { send: ({ order, action, tab, fields }) => sendText(JSON.stringify({
		type: "act",
		order,
		action,
		tab,
		...fields
	})) };
	const overHttp = {
		isHttp: true,
		async send({ order, action, tab, fields }) {
			const route = `POST /v1/rooms/{code}/${action}`;
			const reply = await to(route, {
				...fields,
				code,
				order,
				tab
			}, await credential(), new AbortController().signal);
			if (!reply.ok) return queue.answered({
				order,
				error: reply.error
			});
			const { room, you, ...more } = reply;
			sits(you);
			if (watch.state.status === "ended") takeRoom(room);
			queue.answered({
				order,
				seq: room.seq,
				...more
			});
		}
	};
	const refuse = (error) => {
		if (HELD.includes(error.code)) queue.lost();
		else {
			queue.refuse(error);
			options.onSeat?.();
		}
		if (!hasLeft) emit("error", error);
	};
	const unknownMessage = ({ type, ...message }) => {
		const now = message["now"];
		if (type === "pong") tell(now, message["t"]);
		else if (type === "welcome") {
			hasLeft = false;
			roundTripMs = Infinity;
			if (now) tell(now, greetedAt);
			sits(message["you"]);
			const seat = seatOf();
			if (seat) options.onSeat?.(seat);
			queue.open(overSocket, seat);
		} else if (type === "you") sits(message);
		else if (type === "acted") queue.answered(message);
		else if (type === "message" || type === "missed") emit(type, message);
		else if (message.error && !isTemporary(message.error)) refuse(message.error);
	};
	const onState = (state) => {
		if (state.status === "live") {
			if (state.by === "poll") queue.open(overHttp, seatOf());
		} else if (state.status !== "ended") queue.lost();
		else {
			isClosed = state.code === "closed";
			if (state.code === "finished") queue.open(overHttp, seatOf());
			else {
				const { error } = isClosed ? refusedAs("aborted", "The page closed the room.") : refusedAs("room_not_found", "This room does not exist.");
				queue.refuse(error);
				if (!hasLeft && /gone|room_not/.test(state.code)) emit("error", error);
			}
			if (!isClosed) options.onSeat?.();
		}
		emit("connection", state);
	};
	const watch = options.follow({
		path: `/v1/rooms/${encodeURIComponent(code)}/live`,
		patches: true,
		poll: (wait, since, signal) => to("GET /v1/rooms/{code}", wait ? {
			code,
			since,
			wait
		} : { code }, {}, signal, wait * 1e3 + 5e3),
		positionOf: ({ room }) => room?.seq,
		deliver({ room }) {
			takeRoom(room);
			return room.phase === "ended";
		},
		other: unknownMessage,
		async hello() {
			const { "x-install-id": installId, authorization } = await credential();
			const token = authorization?.slice(7);
			const by = token?.startsWith("coinop_sk_") ? { serverKey: token } : {
				sessionToken: token,
				installId
			};
			const hello = JSON.stringify({
				type: "hello",
				...by,
				tab: queue.tab
			});
			if (greeting && greeting !== hello) {
				drop();
				return "";
			}
			queue.refuse(void 0);
			greetedAt = performance.now();
			return greeting = hello;
		},
		opened(send, close) {
			sendText = send;
			drop = close;
			greeting = "";
		}
	}, onState);
	const state = (fields, options = {}) => queue.add("state", {
		...fields,
		...options
	});
	return {
		left: queue.left,
		room: {
			code,
			get room() {
				return view();
			},
			get state() {
				return view()?.state;
			},
			get players() {
				return view()?.players ?? [];
			},
			get me() {
				return meIn(view());
			},
			get connection() {
				return watch.state;
			},
			get unanswered() {
				return queue.unanswered().length;
			},
			now: () => offsetMs === void 0 ? Date.now() : performance.now() + offsetMs,
			ended: watch.ended,
			set: (data) => queue.add("data", { data }),
			merge: (merge) => queue.add("data", { merge }),
			setState: (value, options) => state({ state: value }, options),
			mergeState: (merge, options) => state({ merge }, options),
			deal: (seats, more) => queue.add("private", {
				seats,
				...more
			}),
			send: (data, list) => queue.add("message", {
				data,
				to: list
			}),
			act: (action, ...[fields]) => queue.add(action, { ...fields }),
			on(event, listener) {
				const all = listeners.get(event) ?? /* @__PURE__ */ new Set();
				listeners.set(event, all.add(listener));
				const room = event === "change" && drawn();
				if (room) guarded(listener)(room);
				return () => void all.delete(listener);
			},
			close: () => watch.close()
		}
	};
}

// src/clients/javascript/progress.ts
function progressOf(watched, signal) {
	const progress = {
		position: 0,
		isFinal: false,
		async take(message) {
			const found = watched.positionOf(message);
			if (signal.aborted) return 0;
			watched.freeze?.(message["room"]);
			if (found === void 0) watched.other?.(message);
			else if (found > progress.position) {
				progress.position = found;
				if (await watched.deliver(message)) progress.isFinal = true;
			}
			return found ?? 0;
		},
		async poll(waitSeconds) {
			const known = progress.position;
			const reply = await watched.poll(waitSeconds, known, signal);
			if (reply.ok) {
				if (progress.position === known && watched.positionOf(reply) < known) progress.position = 0;
				await progress.take(reply);
			}
			return reply;
		}
	};
	return progress;
}

// src/clients/javascript/watch-socket.ts
const OPEN_MS = 4e3;
const CHECK_MS = 3e4;
const QUIET_MS = 1e4;
const PONG_MS = 4e3;
const READS = 4;
const BEHIND_MS = 2e3;
const overSocket = (watched, progress, signal, asks, live) => new Promise((resolve) => {
	let socket;
	let openedAt = Infinity;
	let brought = 0;
	let room;
	let timer;
	let pings = false;
	let looks = 0;
	const after = (ms, run) => {
		clearTimeout(timer);
		timer = setTimeout(run, ms);
	};
	const done = (code) => {
		clearTimeout(timer);
		signal.removeEventListener("abort", stop);
		asks.check = asks.greet = void 0;
		if (socket) {
			socket.onopen = socket.onmessage = socket.onclose = null;
			socket.onerror = () => {};
			socket.close();
		}
		resolve([code, performance.now() - openedAt]);
	};
	const stop = () => done(0);
	const idle = () => asks.check === check && after(pings ? QUIET_MS : CHECK_MS * (1 + Math.random() / 2), look);
	const look = () => pings && ++looks % READS ? check() : void read();
	const check = () => {
		if (!pings) return void read();
		socket.send(JSON.stringify({
			type: "ping",
			t: performance.now()
		}));
		after(PONG_MS, stop);
	};
	const read = async () => {
		idle();
		const reply = await progress.poll(0);
		if (asks.check !== check) return;
		if (!reply.ok && !(reply.status >= 429)) stop();
		else if (progress.position > brought) after(BEHIND_MS, stop);
	};
	const greet = async () => {
		const hello = await watched.hello?.();
		if (hello && asks.greet === greet) socket.send(hello);
	};
	const receive = async (message) => {
		if (asks.check !== check) return;
		pings ||= message.type === "welcome" && !!message["now"];
		asks.whole = true;
		if (message["ops"]) message = { room: watched.patched(room, message) };
		asks.whole = false;
		room = message["room"] ?? room;
		const known = progress.position;
		idle();
		live("socket");
		const error = message.type === "error" ? message.error : void 0;
		asks.error = error?.code ?? asks.error;
		if (error && isTemporary(error)) sleep(backoff(2, error), signal).then(greet);
		const found = await progress.take(message);
		if (found && !brought && found < known) after(BEHIND_MS, read);
		brought = Math.max(brought, found);
		if (progress.isFinal) stop();
	};
	const opened = () => {
		openedAt = performance.now();
		asks.check = check;
		asks.greet = greet;
		watched.opened?.((text) => socket.send(text), stop);
		idle();
		greet();
	};
	signal.addEventListener("abort", stop);
	after(OPEN_MS, stop);
	try {
		const query = watched.patches && !asks.whole ? "?patch=1" : "";
		socket = connect(watched.WebSocket, watched.socketUrl + query, opened, receive, done);
		socket.onerror = () => openedAt === Infinity && stop();
	} catch {
		stop();
	}
});
function connect(WebSocket, url, opened, receive, done) {
	const socket = new WebSocket(url);
	let work = Promise.resolve();
	socket.onopen = opened;
	socket.onmessage = ({ data }) => work = work.then(() => receive(JSON.parse(data))).catch(() => done(0));
	socket.onclose = ({ code }) => work.then(() => done(code));
	return socket;
}

// src/clients/javascript/watch.ts
const POLL_SECONDS = 20;
const POLLS = 6;
const STEADY_MS = 3e4;
const FAST_TRIES = 8;
function waitOf(tries, { retryAfterMs = 0 } = {}) {
	const most = tries < FAST_TRIES ? Math.min(1e3, 250 * 2 ** tries) : 3500;
	return Math.min(retryAfterMs, 6e4) + most * (1 + Math.random()) / 2;
}
function watch(watched) {
	const closing = new AbortController();
	const { signal } = closing;
	const progress = progressOf(watched, signal);
	let waking = closing;
	let state = { status: "connecting" };
	const asks = {};
	let end;
	const ended = new Promise((resolve) => end = resolve);
	const set = (next) => {
		if (signal.aborted) return;
		state = next;
		watched.onState?.(next);
	};
	const live = (by) => {
		if (state.status !== "live") set({
			status: "live",
			by
		});
	};
	const finish = (code) => {
		set({
			status: "ended",
			code
		});
		closing.abort();
		end({ code });
	};
	const run = async () => {
		let polls = POLLS;
		for (let [tries, wasRefused] = [0, false]; !signal.aborted; tries++) {
			set({ status: "connecting" });
			let problem;
			try {
				Object.assign(watched, await watched.load?.());
				delete watched.load;
			} catch (error) {
				problem = failure("network", String(error));
			}
			const [code, openMs] = watched.load ? [0, 0] : watched.WebSocket ? await overSocket(watched, progress, signal, asks, live) : [0, -1];
			if (code > 4501 && code < 5e3) {
				if (await watched.goesOn?.()) continue;
				return finish(asks.error ?? "finished");
			}
			if (progress.isFinal || code === 4500 || code === 4501) return finish(code === 4500 ? "gone" : "finished");
			if (openMs > STEADY_MS) tries = 0;
			if (openMs >= 0) wasRefused = false;
			if (openMs < 0) {
				const isFirst = !!watched.WebSocket && !wasRefused;
				problem = isFirst ? await failureOf(progress) : await overPolls(progress, polls, signal, live);
				wasRefused = isFirst && !problem;
				if (progress.isFinal) return finish("finished");
				if (problem?.status && !isTemporary(problem.error)) return finish(problem.error.code);
				if (!problem) {
					if (!wasRefused) polls *= 2;
					continue;
				}
			}
			const ms = waitOf(tries, problem?.error);
			waking = new AbortController();
			set({
				status: "waiting",
				ms,
				error: problem?.error
			});
			await sleep(ms, waking.signal, signal);
		}
	};
	Promise.resolve().then(run);
	return {
		get state() {
			return state;
		},
		ended,
		close: () => finish("closed"),
		wake() {
			if (waking !== closing) waking.abort();
			asks.check?.();
		},
		check: () => asks.check?.(),
		greet: () => asks.greet?.()
	};
}
async function failureOf(progress) {
	const reply = await progress.poll(0);
	return reply.ok ? void 0 : reply;
}
async function overPolls(progress, times, signal, live) {
	for (let polls = 0; polls < times && !signal.aborted && !progress.isFinal; polls++) {
		const reply = await progress.poll(polls && POLL_SECONDS);
		if (!reply.ok) return reply;
		live("poll");
	}
}

// src/clients/javascript/server.ts
const FOLLOW_SECONDS = 25;
const FOLLOW_AGAIN_MS = 3e4;
const KEY = /^coinop_sk_[a-z0-9]{8}_([0-9A-Za-z]{32})$/;
function coinopServer({ url, key, timeoutMs: callMs = 15e3, fetch: givenFetch, WebSocket }) {
	const platform = globalThis;
	if (platform.document !== void 0 || !platform.process?.versions?.node) throw new Error("coinop/client/server runs on servers only: a page must never hold a server key. Pages import coinop/client.");
	const base = String(url).replace(/\/+$/, "");
	if (!/^https?:\/\/[^/?#@]+$/.test(base)) throw new TypeError("Bad url: it must look like https://coinop.example");
	const secret = KEY.exec(key)?.[1];
	if (secret === void 0) throw new TypeError("Bad key: it must look like coinop_sk_<id>_<secret>");
	const fetch = (...request) => (givenFetch ?? platform.fetch)(...request);
	const clean = (result) => result.ok ? result : JSON.parse(JSON.stringify(result).replaceAll(secret, "…"));
	const call = async (route, { installId, ...input }, { signal, timeoutMs } = {}, mayRepeat = true, turn = async () => {}) => {
		const headers = {
			authorization: `Bearer ${key}`,
			...installId === void 0 ? {} : { "x-install-id": installId }
		};
		const waitMs = 1e3 * Number(input["wait"] ?? 0);
		return clean(await repeat(mayRepeat, timeoutMs ?? callMs + waitMs, [signal], async (whole) => {
			await turn(whole);
			return sendOnce(fetch, base, route, input, headers, whole, 5e3 + waitMs);
		}));
	};
	const tab = randomText().slice(0, 16);
	let order = 0;
	const before = /* @__PURE__ */ new Map();
	const act = (code, action, input, options) => {
		const others = before.get(code);
		const numbered = {
			...input,
			code,
			order: ++order,
			tab
		};
		const result = call(`POST /v1/rooms/{code}/${action}`, numbered, options, true, (whole) => Promise.race([others, new Promise((stop) => whole.onabort = stop)]));
		const mine = result.then(() => others).then(() => {
			if (before.get(code) === mine) before.delete(code);
		});
		before.set(code, mine);
		return result;
	};
	const calls = (route, more = {}) => (input, options) => call(route, {
		...input,
		...more
	}, options);
	const read = ({ types, ...wanted } = {}, options) => call("GET /v1/events", {
		...wanted,
		types: types?.join()
	}, options);
	async function* follow(wanted = {}, { signal } = {}) {
		for (let [after, failures] = [wanted.after, 0]; !signal?.aborted;) {
			const page = await read({
				...wanted,
				after,
				wait: FOLLOW_SECONDS
			}, signal && { signal });
			if (page.ok) {
				failures = 0;
				after = page.cursor;
				if (page.events.length > 0) yield page;
			} else if (signal?.aborted) return;
			else if (isTemporary(page.error)) await sleep(backoff(failures++, page.error, FOLLOW_AGAIN_MS), ...signal ? [signal] : []);
			else return yield page;
		}
	}
	const room = (code) => {
		const acts = (action) => (input, options) => act(code, action, input, options);
		const plain = (action) => (options) => act(code, action, {}, options);
		return {
			read: (options) => call("GET /v1/rooms/{code}", { code }, options),
			start: plain("start"),
			end: plain("end"),
			kick: acts("kick"),
			transfer: acts("transfer"),
			lock: plain("lock"),
			unlock: plain("unlock"),
			settings: acts("settings"),
			state: acts("state"),
			rematch: plain("rematch"),
			verifyTicket: calls("POST /v1/rooms/{code}/ticket/verify", { code })
		};
	};
	const playRoom = (code) => {
		const credential = { authorization: `Bearer ${key}` };
		return playedRoom({
			code,
			to: async (...request) => clean(await sendOnce(fetch, base, ...request)),
			credential: async () => credential,
			follow: ({ path, ...followed }, onState) => watch({
				...followed,
				patched,
				freeze,
				socketUrl: base.replace("http", "ws") + path,
				WebSocket: WebSocket ?? platform.WebSocket,
				onState: guarded(onState)
			}),
			pace: paceOfServer()
		}).room;
	};
	return {
		events: {
			read,
			follow
		},
		grant: calls("POST /v1/coins/credit"),
		purchase: calls("POST /v1/coins/purchase"),
		debit: calls("POST /v1/coins/debit"),
		balance: calls("GET /v1/balance"),
		history: calls("GET /v1/coins/history"),
		submitScore: calls("POST /v1/highscores/{game}"),
		verifySession: (sessionToken, options) => call("POST /v1/sessions/verify", { sessionToken }, options),
		room,
		createRoom: (input, options) => call("POST /v1/rooms", {
			...input,
			seatless: true
		}, options, false),
		playRoom
	};
}

export { coinopServer };