import { useMemo, useSyncExternalStore } from "react";
import { playRoom, watchBoard, watchLobby } from "./rooms.js";

// src/clients/javascript/react.ts
const NOTHING = { connection: { status: "connecting" } };
function useWatch(start, keys) {
	const store = useMemo(() => {
		let seen = NOTHING;
		const listeners = /* @__PURE__ */ new Set();
		let run = 0;
		let end;
		const begin = () => {
			const own = ++run;
			queueMicrotask(() => {
				if (own !== run) return;
				end = start?.((fields) => {
					if (own !== run) return;
					seen = {
						...seen,
						...fields
					};
					for (const listener of listeners) listener();
				});
			});
		};
		return {
			subscribe(listener) {
				if (listeners.size === 0) begin();
				listeners.add(listener);
				return () => {
					listeners.delete(listener);
					if (listeners.size > 0) return;
					run++;
					end?.();
					end = void 0;
				};
			},
			seen: () => seen
		};
	}, keys);
	return useSyncExternalStore(store.subscribe, store.seen, () => NOTHING);
}
function useAccount(client) {
	return useWatch((show) => {
		const watch = client.watchAccount((account) => show({ account }), { onState: (connection) => show({ connection }) });
		return () => watch.close();
	}, [client]);
}
function useRoom(client, code) {
	return useWatch(code === void 0 ? void 0 : (show) => {
		const played = playRoom(client, code);
		const shown = () => ({
			played,
			room: played.room,
			me: played.me
		});
		played.on("change", () => show(shown()));
		played.on("connection", (connection) => show({
			played,
			connection
		}));
		played.on("error", (error) => show({
			...shown(),
			error
		}));
		return () => played.close();
	}, [client, code]);
}
function useBoard(client, game) {
	return useWatch((show) => {
		const watch = watchBoard(client, game, (top, season) => show({
			top,
			season
		}), { onState: (connection) => show({ connection }) });
		return () => watch.close();
	}, [client, game]);
}
function useLobby(client, filter = {}) {
	return useWatch((show) => {
		const watch = watchLobby(client, filter, (rooms) => show({ rooms }), { onState: (connection) => show({ connection }) });
		return () => watch.close();
	}, [client, JSON.stringify(filter)]);
}
function useSave(saves, { game, name }) {
	const { connection: _, ...used } = useWatch((show) => {
		const shown = (reply) => {
			const { data, version } = reply;
			show(reply.ok ? {
				data,
				version,
				error: void 0
			} : {
				error: reply.error,
				...data !== void 0 && { data }
			});
			return reply;
		};
		show({ async save(data) {
			show({ data });
			return shown(await saves.save({
				game,
				name,
				data
			}));
		} });
		saves.load({
			game,
			name
		}).then(shown);
		return () => {};
	}, [
		saves,
		game,
		name
	]);
	return used;
}
function usePairing(client, again) {
	return useWatch((show) => {
		const stopping = new AbortController();
		let close = () => stopping.abort();
		(async () => {
			const opened = await client.pairing.open({}, { signal: stopping.signal });
			if (stopping.signal.aborted) return;
			if (!opened.ok) return show({
				error: opened.error,
				connection: {
					status: "ended",
					code: opened.error.code
				}
			});
			const { token, url } = opened;
			show({
				token,
				url
			});
			const watch = client.watchPairing(opened, show, { onState: (connection) => show({ connection }) });
			close = () => watch.close();
		})();
		return () => close();
	}, [client, again]);
}

export { useAccount, useBoard, useLobby, usePairing, useRoom, useSave };