/**
 * The driver of the JavaScript client: it does what lines of JSON on stdin tell it, and writes results, events and changes of the store to
 * stdout. README.md says what each command means. Timers, clocks, requests and sockets are those of the client only.
 */
import { writeSync } from 'node:fs';
import { createInterface } from 'node:readline';
import type { Options, Socket, Watch } from './javascript-client.ts';
import { coinop, listRooms, playRoom, quickMatch, savesOf, watchBoard, watchLobby } from './javascript-client.ts';

type Command = Record<string, any>;
const write = (line: object): unknown => writeSync(1, `${JSON.stringify(line)}\n`);
const tell =
  (event: string, of?: string) =>
  (...values: unknown[]): unknown =>
    write({ event, of, value: values.length > 1 ? values : values[0] });

// Virtual time, for the modules of the client alone: those of Node have timers too.
const timers = new Map<number, { due: number; run: () => void }>();
const real = { setTimeout: globalThis.setTimeout, clearTimeout: globalThis.clearTimeout };
let [now, wall, lastTimer] = [0, 0, 0];
const isOfClient = (): boolean => /\/(src\/client|src\/clients\/javascript|bundle)\//.test(new Error().stack!.split('\n')[3]!);
Object.assign(globalThis, {
  setTimeout: (run: (...values: unknown[]) => void, ms = 0, ...values: unknown[]) => {
    if (!isOfClient()) return real.setTimeout(run, ms, ...values);
    timers.set(++lastTimer, { due: now + Math.max(0, ms), run: () => run(...values) });
    return lastTimer;
  },
  clearTimeout: (id: any) => (typeof id === 'number' ? timers.delete(id) : real.clearTimeout(id)),
});
performance.now = () => now;
Date.now = () => wall + now;

function started({ url, store: kept, storage, now: at, wallMs, options }: Command) {
  timers.clear();
  [now, wall] = [at, wallMs - at];
  let contents = new Map<string, string>(Object.entries(kept as Record<string, string>));
  const counts = { requests: 0, ended: 0, sockets: 0, socketsEnded: 0 };
  const live = new Set<{ in: number; out: number; open: number }>();
  const refuse = (...kinds: string[]): void => {
    if (kinds.includes(storage)) throw new Error(storage);
  };
  const store = {
    getItem: (key: string) => (refuse('forbidden'), contents.get(key)),
    setItem: (key: string, value: string) => (refuse('forbidden', 'full'), contents.set(key, value), write({ stored: [key, value] })),
    removeItem: (key: string) => (refuse('forbidden'), contents.delete(key), write({ stored: [key, null] })),
    getAllKeys: () => (refuse('forbidden'), [...contents.keys()]),
  };
  const fetched: Options['fetch'] = async (...request) => {
    // Such a request does not leave the device.
    if (request[1].signal.aborted) return fetch(...request);
    counts.requests++;
    try {
      const response = await fetch(...request);
      const text = await response.text();
      return { status: response.status, headers: response.headers, text: async () => text };
    } finally {
      counts.ended++;
    }
  };
  class Counted extends (WebSocket as unknown as new (to: string) => Socket & EventTarget & { readyState: number }) {
    readonly #own = { in: 0, out: 0, open: 0 };
    constructor(to: string) {
      super(to);
      counts.sockets++;
      live.add(this.#own);
      this.addEventListener('open', () => (this.#own.open = 1));
      this.addEventListener('message', () => this.#own.in++);
      this.addEventListener('close', () => this.#ends());
      this.addEventListener('error', () => this.#ends());
    }
    #ends(): void {
      if (live.delete(this.#own)) counts.socketsEnded++;
    }
    // Ended at once: otherwise neither side has counted the end while it is under way.
    override close(): void {
      this.#ends();
      super.close();
    }
    override send(text: string): void {
      if (this.readyState === 1) this.#own.out++;
      super.send(text);
    }
  }
  const { sockets, merged, ...more } = options;
  const client = coinop({
    ...{ url, store, fetch: fetched, WebSocket: sockets === false ? null : (Counted as never), ...more },
    onOperation: (operation: object, result: object) => tell('operation')([operation, result]),
    onPurchase: (purchase: object, result: object) => tell('purchase')([purchase, result]),
    onWarning: () => tell('warning')(null),
  });
  const sum = (part: 'in' | 'out' | 'open'): number => [...live].reduce((total, each) => total + each[part], 0);
  return {
    client: client as any,
    saves: savesOf(client, {
      device: 'Test',
      onSaved: (of, result) => tell('saved')([of, result]),
      ...('merged' in options && { onConflict: (...sides) => (tell('conflict')(sides), merged) }),
    }) as any,
    report: () => ({ ...counts, framesToClient: sum('in'), framesFromClient: sum('out'), socketsOpen: sum('open'), due: nextDue() }),
    storage: (next: string) => void (storage = next),
    contents: (next: Record<string, string>) => void (contents = new Map(Object.entries(next))),
  };
}

const nextDue = (): number | null => (timers.size ? Math.min(...[...timers.values()].map(({ due }) => due)) : null);
let of: ReturnType<typeof started>;
const named = new Map<string, any>();
const aborts = new Map<string, AbortController>();
const commands: Record<string, (command: Command) => unknown> = {
  start(command) {
    named.clear();
    of = started(command);
  },
  async settle() {
    for (let turns = 0; turns < 10; turns++) await new Promise((resolve) => setImmediate(resolve));
    return of.report();
  },
  advance({ to }) {
    now = to;
    for (const [id, { due, run }] of [...timers]) if (due <= now && timers.delete(id)) run();
  },
  clock: ({ ms }) => void (wall += ms),
  storage: ({ storage }) => of.storage(storage),
  contents: ({ store }) => of.contents(store),
  async call({ call, input, timeoutMs, as }) {
    const [feature, name] = call.split('.');
    const controller = new AbortController();
    aborts.set(as, controller);
    const options = { timeoutMs, signal: controller.signal };
    if (call === 'rooms.list') return listRooms(of.client, input, options);
    if (feature === 'saves') return of.saves[name](input, options);
    if (call !== 'rooms.match') return of.client[feature][name](input, options);
    const { room, ...match } = (await quickMatch(of.client, input, options)) as Command;
    if (room) follow(as, room);
    return { ...match, ...(room && { code: room.code }) };
  },
  abort: ({ of: name }) => aborts.get(name)!.abort(),
  wake: () => (of.client.wake(), of.saves.wake()),
  discardHeld: () => of.client.discardHeld(),
  close: () => of.client.close(),
  end: () => of.client.close(),
  who: async () => {
    const { installId, sessionToken, accountId } = await of.client.who();
    return { installId, sessionToken, accountId };
  },
  watch({ what, of: input, as }) {
    const more = { onState: tell('state', as), onYou: tell('you', as), onError: tell('error', as), ...input };
    const news = tell('news', as);
    const watches: Record<string, () => Watch> = {
      room: () => of.client.watchRoom(input.code, news, more),
      pairing: () => of.client.watchPairing(input, news, more),
      account: () => of.client.watchAccount(news, more),
      board: () => watchBoard(of.client, input.game, (top, season) => news([top, season ?? null]), more),
      lobby: () => watchLobby(of.client, input, (rooms) => news(rooms), more),
    };
    named.set(as, watches[what]!());
  },
  play: ({ code, as }) => follow(as, playRoom(of.client, code)),
  act: ({ act, in: room, args }) => named.get(room)[act](...args),
  leave: ({ of: name }) => named.get(name).close(),
  shown({ of: name }) {
    const { state, players, me, unanswered } = named.get(name);
    return { state, players, me, unanswered };
  },
};

function follow(as: string, room: any): void {
  named.set(as, room);
  for (const event of ['message', 'missed', 'refused', 'error', 'connection']) room.on(event, tell(event, as));
}

for await (const line of createInterface({ input: process.stdin })) {
  const { id, do: what, ...command } = JSON.parse(line) as Command;
  // A command that takes long does not hold up the next one.
  void Promise.resolve(commands[what]!(command)).then(
    (value) => write({ id, value }),
    (error: unknown) => (console.error(error), process.exit(1)),
  );
}
