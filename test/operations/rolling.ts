import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { Client } from '../cluster/client.ts';
import type { Figures } from '../cluster/figures.ts';
import { startChild, type Child } from '../realtime/child.ts';
import { Watcher } from '../realtime/watcher.ts';
import type { Proxy } from './proxy.ts';

const ACCOUNTS = 64;
const WATCHERS = 40;
const RESTARTS_OF_EACH = 2;

/** The longest that a client repeats an operation before it counts as failed. */
const GIVE_UP_MS = 30_000;

/** A service process that can be restarted on its port, as a supervisor does. */
export class Instance {
  readonly port: string;
  readonly #settings: Record<string, string>;
  #child: Child | undefined;

  constructor(port: string, settings: Record<string, string>) {
    this.port = port;
    this.#settings = { ...settings, PORT: port };
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  async start(): Promise<void> {
    this.#child = await startChild(this.#settings);
  }

  /** @returns the exit code */
  async stop(): Promise<number | null> {
    return this.#child!.stop();
  }

  async restart(): Promise<number | null> {
    const code = await this.stop();
    await this.start();
    while (
      !(await fetch(`${this.url}/ready`).then(
        ({ ok }) => ok,
        () => false,
      ))
    )
      await pause(50);
    return code;
  }
}

/** Coin operations without pause from several clients; each is repeated with its key until it is acknowledged. */
class CoinLoad {
  readonly installIds = Array.from({ length: ACCOUNTS }, () => `rolling-${randomBytes(9).toString('base64url')}`);
  readonly keys = new Map<string, Set<string>>(this.installIds.map((id) => [id, new Set()]));
  readonly balances = new Map<string, number>();
  readonly waitsMs: number[] = [];
  /** Answers that made a client repeat, by status and code. */
  readonly repeated = new Map<string, number>();
  failed = 0;
  wrong = 0;
  readonly #client: Client;
  #isStopped = false;
  #clients: Promise<void>[] = [];

  constructor(client: Client) {
    this.#client = client;
  }

  start(): void {
    this.#clients = this.installIds.map((installId) => this.#run(installId));
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await Promise.all(this.#clients);
  }

  async #run(installId: string): Promise<void> {
    const steps = [
      { path: 'credit', coins: 5, change: 5 },
      { path: 'purchase', coins: 3, change: 3 },
      { path: 'debit', coins: 2, change: -2 },
    ] as const;
    for (let index = 0; !this.#isStopped; index++, await pause(20)) {
      const { path, coins, change } = steps[index % steps.length]!;
      const key = `k${index}`;
      const balance = (this.balances.get(installId) ?? 0) + change;
      const startedAt = performance.now();
      const answer = await this.#once(`/v1/coins/${path}`, { installId, coins, key }, startedAt);
      this.waitsMs.push(performance.now() - startedAt);
      if (answer === undefined) {
        this.failed++;
        return;
      }
      this.keys.get(installId)!.add(key);
      this.balances.set(installId, balance);
      if (answer !== balance) this.wrong++;
    }
  }

  /** @returns the balance after the operation; undefined if it was never acknowledged */
  async #once(path: string, body: object, startedAt: number): Promise<number | undefined> {
    for (let waitMs = 50; performance.now() - startedAt < GIVE_UP_MS; waitMs = Math.min(2 * waitMs, 800)) {
      const answer = await this.#client.post(path, body).catch(() => ({ status: 0, body: {} }));
      if (answer.status === 200) return answer.body.balanceAfterCoins as number;
      const reason = `${answer.status} ${answer.body.error?.code ?? ''}`;
      this.repeated.set(reason, (this.repeated.get(reason) ?? 0) + 1);
      await pause(waitMs * (0.5 + Math.random()));
    }
    return undefined;
  }
}

/** Watchers of one room, which open a new channel whenever theirs is closed. */
class Audience {
  readonly closeCodes = new Map<number, number>();
  failedOpens = 0;
  readonly #rounds: number[] = Array.from({ length: WATCHERS }, () => 0);
  readonly #path: string;
  readonly #url: string;
  #isStopped = false;

  constructor(url: string, code: string) {
    [this.#url, this.#path] = [url, `/v1/rooms/${code}/live`];
    for (let index = 0; index < WATCHERS; index++) void this.#watch(index);
  }

  stop(): void {
    this.#isStopped = true;
  }

  upToDate(round: number): number {
    return this.#rounds.filter((seen) => seen === round).length;
  }

  async #watch(index: number): Promise<void> {
    while (!this.#isStopped) {
      const watcher = await Watcher.open(this.#url, this.#path).catch(() => undefined);
      if (watcher === undefined) {
        this.failedOpens++;
        await pause(200 * (0.5 + Math.random()));
        continue;
      }
      const seeing = setInterval(() => (this.#rounds[index] = watcher.last?.room?.state?.round ?? this.#rounds[index]!), 50);
      const { code } = await watcher.closed;
      clearInterval(seeing);
      if (this.#isStopped) return;
      this.closeCodes.set(code, (this.closeCodes.get(code) ?? 0) + 1);
    }
  }
}

/** Restarts both services, one after the other, while clients work through the proxy. */
export async function proveRolling(proxy: Proxy, instances: readonly Instance[], figures: Figures): Promise<void> {
  const client = new Client(() => proxy.url, 10_000);
  const host = `rolling-${randomBytes(9).toString('base64url')}`;
  const { body } = await client.post('/v1/rooms', { installId: host });
  const { code } = body.room as { code: string };
  const audience = new Audience(proxy.url, code);
  const load = new CoinLoad(client);
  load.start();
  await pause(2000);
  const exits: (number | null)[] = [];
  const startedAt = performance.now();
  for (let round = 0; round < RESTARTS_OF_EACH; round++) {
    for (const instance of instances) {
      exits.push(await instance.restart());
      // The proxy has to find the new process before the other one stops.
      await pause(3000);
    }
  }
  const seconds = (performance.now() - startedAt) / 1000;
  await load.stop();
  const round = Date.now();
  while ((await client.post(`/v1/rooms/${code}/state`, { installId: host, state: { round } })).status !== 200) await pause(100);
  for (const giveUpAt = performance.now() + 10_000; audience.upToDate(round) < WATCHERS && performance.now() < giveUpAt;) await pause(50);
  audience.stop();

  const operations = load.waitsMs.length;
  figures.report(
    'rolling: restarts with exit code 0',
    exits.filter((exit) => exit === 0).length,
    `= ${exits.length}`,
    exits.every((exit) => exit === 0),
  );
  figures.report('rolling: seconds that the restarts took', seconds);
  figures.atLeast('rolling: coin operations', operations, 2000);
  figures.exactly('rolling: coin operations that failed after repetitions', load.failed, 0);
  const repeated = [...load.repeated].map(([reason, count]) => `${count} × ${reason.trim()}`).join(', ');
  figures.report(
    'rolling: answers that were repeated',
    [...load.repeated.values()].reduce((all, count) => all + count, 0),
    repeated,
  );
  figures.exactly('rolling: answers with another balance than expected', load.wrong, 0);
  const [lost, doubled, sums] = await compare(load, client);
  figures.exactly('rolling: acknowledged operations that the history lacks', lost, 0);
  figures.exactly('rolling: operations applied twice', doubled, 0);
  figures.exactly('rolling: accounts with a wrong balance', sums, 0);
  const sorted = load.waitsMs.toSorted((one, other) => one - other);
  figures.report('rolling: longest wait of an operation, ms', sorted.at(-1)!);
  figures.report('rolling: 99th percentile, ms', sorted[Math.floor(sorted.length * 0.99)]!);
  figures.exactly('rolling: watchers with the latest state', audience.upToDate(round), WATCHERS);
  const codes = [...audience.closeCodes].map(([closeCode, count]) => `${count} × ${closeCode}`).join(', ');
  figures.report(
    'rolling: channels closed, and opened again',
    [...audience.closeCodes.values()].reduce((all, count) => all + count, 0),
    codes,
  );
  figures.report('rolling: channels that had to try again to open', audience.failedOpens);
  client.close();
}

/** Compares the histories with the clients' operations. */
async function compare(load: CoinLoad, client: Client): Promise<[lost: number, doubled: number, sums: number]> {
  let [lost, doubled, sums] = [0, 0, 0];
  for (const installId of load.installIds) {
    const login = await client.post('/v1/login', { installId, session: 'token' });
    const bearer = login.body.sessionToken as string;
    const found = new Map<string, number>();
    for (let cursor: string | undefined = ''; cursor !== undefined;) {
      const { body } = await client.ask(`/v1/coins/history?limit=100${cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`}`, {
        bearer,
      });
      for (const { key } of body.entries as { key: string }[]) found.set(key, (found.get(key) ?? 0) + 1);
      cursor = body.nextCursor as string | undefined;
    }
    for (const key of load.keys.get(installId)!) if (!found.has(key)) lost++;
    for (const count of found.values()) if (count > 1) doubled++;
    const { body } = await client.ask('/v1/balance', { bearer });
    if (body.balanceCoins !== (load.balances.get(installId) ?? 0)) sums++;
  }
  return [lost, doubled, sums];
}
