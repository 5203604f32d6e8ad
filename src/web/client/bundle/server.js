// src/client/request.ts
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
const sleep = (ms, ...signals) => within(ms, signals, (signal) => new Promise((resolve) => signal.aborted ? resolve() : signal.addEventListener("abort", () => resolve())));
const failure = (code, message = code) => ({
	ok: false,
	error: {
		code,
		message
	}
});
const stopped = (signals) => failure(isAborted(signals) ? "aborted" : "timeout");
const sendOnce = (fetch, base, route, input, headers, signal, tryMs = TRY_MS) => within(tryMs, [signal], async (stop) => {
	try {
		const [method = "", path = ""] = route.replace("!", "").split(" ");
		const isRead = method === "GET";
		const body = {};
		let url = base + path;
		for (const name in input) {
			const value = input[name];
			const text = () => encodeURIComponent(value);
			if (path.includes(`{${name}}`)) url = url.replace(`{${name}}`, text);
			else if (!isRead) body[name] = value;
			else if (value !== void 0) url += (url.includes("?") ? "&" : "?") + name + "=" + text();
		}
		const response = await fetch(url, {
			method,
			headers: isRead ? headers : {
				...headers,
				"content-type": "application/json"
			},
			body: isRead ? void 0 : JSON.stringify(body),
			signal: stop,
			credentials: "omit",
			redirect: "error"
		});
		return answerOf(response.status, Number(response.headers.get("retry-after")) * 1e3, await response.text());
	} catch (error) {
		return stop.aborted ? stopped([signal]) : failure("network", String(error));
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
	"store_unavailable"
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

// src/client/server.ts
const KEY = /^coinop_sk_[a-z0-9]{8}_([0-9A-Za-z]{32})$/;
function coinopServer({ url, key, timeoutMs: callMs = 15e3, fetch: givenFetch }) {
	const platform = globalThis;
	if (platform.document !== void 0 || !platform.process?.versions?.node) throw new Error("coinop/client/server runs on servers only: a page must never hold a server key. Pages import coinop/client.");
	const base = String(url).replace(/\/+$/, "");
	if (!/^https?:\/\/[^/?#@]+$/.test(base)) throw new TypeError("Bad url: it must look like https://coinop.example");
	const secret = KEY.exec(key)?.[1];
	if (secret === void 0) throw new TypeError("Bad key: it must look like coinop_sk_<id>_<secret>");
	const fetch = (...request) => (givenFetch ?? platform.fetch)(...request);
	const call = async (route, { installId, ...input }, { signal, timeoutMs = callMs } = {}) => {
		const headers = {
			authorization: `Bearer ${key}`,
			...installId === void 0 ? {} : { "x-install-id": installId }
		};
		const result = await repeat(true, timeoutMs, [signal], (whole) => sendOnce(fetch, base, route, input, headers, whole, TRY_MS));
		return result.ok ? result : JSON.parse(JSON.stringify(result).replaceAll(secret, "…"));
	};
	const calls = (route, more = {}) => (input, options) => call(route, {
		...input,
		...more
	}, options);
	const room = (code) => {
		const act = (action) => calls(`POST /v1/rooms/{code}/${action}`, { code });
		const plain = (action) => (options) => act(action)({}, options);
		return {
			read: (options) => call("GET /v1/rooms/{code}", { code }, options),
			start: plain("start"),
			end: plain("end"),
			kick: act("kick"),
			transfer: act("transfer"),
			lock: plain("lock"),
			unlock: plain("unlock"),
			state: act("state"),
			rematch: plain("rematch")
		};
	};
	return {
		grant: calls("POST /v1/coins/credit"),
		purchase: calls("POST /v1/coins/purchase"),
		debit: calls("POST /v1/coins/debit"),
		balance: calls("GET /v1/balance"),
		history: calls("GET /v1/coins/history"),
		submitScore: calls("POST /v1/highscores/{game}"),
		verifySession: (sessionToken, options) => call("POST /v1/sessions/verify", { sessionToken }, options),
		room
	};
}

export { coinopServer };