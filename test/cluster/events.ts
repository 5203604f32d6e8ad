import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { accountIdOf } from '../../src/accounts/ids.ts';
import { parseEntry } from '../../src/features/coins/ledger-layout.ts';
import { coinKeys } from '../../src/features/coins/model.ts';
import type { EventRecord } from '../../src/features/events/model.ts';
import { Client } from './client.ts';
import type { Stand } from './coins.ts';
import { openCluster, openSingle, type Dying } from './dying.ts';
import { EventHooks } from './event-hooks.ts';
import { copyByTime, copyLate } from './event-mutants.ts';
import { copyHastyHooks } from './hasty.ts';
import { now, type History } from './history.ts';
import { killWhile } from './kills.ts';
import { operate } from './operator-tool.ts';

/**
 * Credits of many accounts while processes and Redis are killed, and a reader that continues by cursor. At the end each ledger entry must
 * have its event, in order, and each event its entry.
 */
export interface EventScenario {
  readonly name: string;
  readonly about: string;
  readonly isOnCluster: boolean;
  /** The least time for which coins change. */
  readonly seconds: number;
  /** The least number of kills before coins stop changing. Default: 0. */
  readonly kills?: number;
  /** Instead of kills, slots of the log, the webhooks and accounts move from primary to primary. */
  readonly reshards?: true;
  /** A copy of the service with a bug that the checks have to find. */
  readonly mutant?: (folder: string) => string;
}

export const eventScenarios: readonly EventScenario[] = [
  {
    name: 'event-kill',
    about: 'coins change while the service, its workers and their Redis die again and again; a reader goes on by cursor',
    isOnCluster: false,
    seconds: 60,
    kills: 100,
  },
  {
    name: 'event-failover',
    about: 'the same with three processes on a Cluster of which a primary dies, with REDIS_WAIT_REPLICAS=1',
    isOnCluster: true,
    seconds: 40,
    kills: 10,
  },
  {
    name: 'event-reshard',
    about: 'coins change while the slots of the log, the webhooks and accounts move from primary to primary of a Cluster',
    isOnCluster: true,
    seconds: 40,
    reshards: true,
  },
  {
    name: 'event-late',
    about: 'a mutant that writes events after the script: the checks find lost events',
    isOnCluster: false,
    seconds: 20,
    mutant: copyLate,
  },
  {
    name: 'event-by-time',
    about: 'a mutant whose cursor is a time: the checks find events that were missed',
    isOnCluster: false,
    seconds: 12,
    mutant: copyByTime,
  },
];

const ACCOUNTS = 300;
const CONNECTIONS = 64;
const TIMEOUT_MS = 5000;
const BETWEEN_KILLS_MS = 1500;
const CHANGED_BETWEEN_KILLS = 200;
/** Accounts whose slots move. */
const MOVED_ACCOUNTS = 20;
/** Time after the last change: a killed relay keeps its lease for 4 s, and the outbox of a Cluster is found within 13 s. */
const READ_WITHIN_MS = 60_000;

export async function proveEvents(scenario: EventScenario, stand: Stand): Promise<void> {
  const { folder, rate, minutes, figures, closing, history } = stand;
  const program = (scenario.mutant ?? copyHastyHooks)(join(folder, 'copy'));
  const options = {
    program,
    settings: { EVENTS: 'on', WEBHOOKS_PRIVATE: 'on', RATE_LIMIT: 'off', LEDGER_ENTRIES_PER_DAY: '0' },
    hit: '{events}',
  };
  const running = await (scenario.isOnCluster ? openCluster : openSingle)(options, stand);
  const client = new Client(() => running.url(), TIMEOUT_MS);
  closing.push(() => client.close());
  const { token } = operate(['keys', 'create', '--name', 'prove', '--scopes', 'events'], running.settings) as { token: string };
  const reader = new Reader(client, token);
  closing.push(() => reader.close());
  // The mutants concern the log only.
  const hooks = scenario.mutant === undefined ? await EventHooks.open(running.settings) : undefined;
  closing.push(() => hooks?.close());
  const load = new Credits(client, rate, `prove-${randomBytes(4).toString('hex')}`);
  closing.push(() => load.close());

  const startedAt = now();
  let kills = 0;
  const isOver = (): boolean =>
    now() > startedAt + minutes * 60_000 || (now() > startedAt + scenario.seconds * 1000 && kills >= (scenario.kills ?? 0));
  const sending = load.run(isOver);
  if (scenario.reshards) {
    figures.atLeast('moves of slots', await reshardWhile(sending, load.accounts, running, history), 1);
  } else {
    const killing = {
      isOnCluster: scenario.isOnCluster,
      betweenMs: BETWEEN_KILLS_MS,
      done: () => load.acknowledged,
      leastBetween: CHANGED_BETWEEN_KILLS,
      onKill: () => kills++,
    };
    const killed = await killWhile(sending, running, killing, history);
    figures.report('kills: processes; services; Redis', `${killed.processes}; ${killed.services}; ${killed.redis}`);
  }
  const seconds = (now() - startedAt) / 1000;
  history.event(`all is sent after ${kills} kills`);
  const found = await settled(load.accounts, reader, running);

  figures.report('changes that were acknowledged', load.acknowledged);
  figures.report('ledger entries; events that the reader got', `${found.entries}; ${reader.events.length}`);
  figures.atLeast('events a second meanwhile', (reader.events.length / seconds) | 0, 10);
  const wrong = found.missing + found.repeated + found.disordered + found.strange;
  if (scenario.mutant !== undefined) {
    figures.report('  missing; repeated; out of order; without an entry', describe(found));
    figures.atLeast('faults that the checks find in the mutant', wrong, 1);
    return;
  }
  figures.exactly('ledger entries without an event', found.missing, 0);
  figures.exactly('events that came twice', found.repeated, 0);
  figures.exactly('events out of the order of their account', found.disordered, 0);
  figures.exactly('events without a ledger entry', found.strange, 0);
  const delivered = await hooks!.settled(reader.events);
  figures.report('requests to three webhooks: one slow, one failing half of the time, one dead', hooks!.requests);
  figures.exactly('events that the slow webhook lacks', delivered.missing[0]!, 0);
  figures.exactly('events that the failing webhook lacks', delivered.missing[1]!, 0);
  figures.exactly('events out of the order of their account at a webhook', delivered.disordered, 0);
  figures.exactly('events at a webhook that the reader did not get', delivered.strange, 0);
  figures.exactly('requests whose signature does not verify', hooks!.unsigned, 0);
  // A second reader, from the beginning and with other page sizes.
  const again = new Reader(client, token, 377);
  closing.push(() => again.close());
  for (const giveUpAt = now() + READ_WITHIN_MS; again.events.length < reader.events.length && now() < giveUpAt;) await pause(50);
  const isSame = again.events.length === reader.events.length && again.events.every(({ id }, index) => id === reader.events[index]!.id);
  figures.report('another reader gets the same ids in the same order', isSame ? 'yes' : 'no', 'yes', isSame);
}

/** Moves slots from primary to primary until the load has ended. @returns the number of moves */
async function reshardWhile(sending: Promise<void>, accounts: readonly string[], running: Dying, history: History): Promise<number> {
  let [isOver, moves] = [false, 0];
  const ended = sending.finally(() => (isOver = true));
  ended.catch(() => {});
  const keys = ['{events}', '{webhooks}', ...accounts.slice(0, MOVED_ACCOUNTS).map((account) => `{${account}}`)];
  for (; !isOver; moves++) await running.moveSlot(keys[moves % keys.length]!);
  history.event(`moved ${moves} times`);
  await ended;
  return moves;
}

/** Credits over some connections. Each is sent again until it is acknowledged. */
class Credits {
  acknowledged = 0;
  readonly accounts: readonly string[];
  readonly #client: Client;
  readonly #rate: number;
  readonly #installs: readonly string[];
  #isClosed = false;

  constructor(client: Client, rate: number, prefix: string) {
    [this.#client, this.#rate] = [client, rate];
    this.#installs = Array.from({ length: ACCOUNTS }, (_, index) => `${prefix}-${index}`);
    this.accounts = this.#installs.map((installId) => accountIdOf(installId));
  }

  close(): void {
    this.#isClosed = true;
  }

  async run(isOver: () => boolean): Promise<void> {
    const startedAt = now();
    let sent = 0;
    const one = async (): Promise<void> => {
      while (!this.#isClosed && !isOver()) {
        if (sent >= ((now() - startedAt) / 1000) * this.#rate) await pause(2);
        else await this.#credit(sent++);
      }
    };
    await Promise.all(Array.from({ length: CONNECTIONS }, one));
  }

  async #credit(number: number): Promise<void> {
    const installId = this.#installs[number % ACCOUNTS]!;
    for (let retryMs = 20; !this.#isClosed; retryMs = Math.min(2 * retryMs, 500)) {
      const { status } = await this.#client.post('/v1/coins/credit', { installId, coins: 1 + (number % 7), key: `key-${number}` });
      if (status === 200) {
        this.acknowledged++;
        return;
      }
      await pause(retryMs);
    }
  }
}

/** Reads all events by cursor until it is closed. A call without an answer is repeated with the same cursor. */
class Reader {
  readonly events: EventRecord[] = [];
  readonly #client: Client;
  #isClosed = false;

  constructor(client: Client, token: string, limit = 100) {
    this.#client = client;
    void this.#read(token, limit);
  }

  close(): void {
    this.#isClosed = true;
  }

  async #read(token: string, limit: number): Promise<void> {
    for (let cursor = ''; !this.#isClosed;) {
      const path = `/v1/events?limit=${limit}&wait=1${cursor === '' ? '' : `&after=${cursor}`}`;
      const { status, body } = await this.#client.ask(path, { bearer: token });
      if (status !== 200) {
        await pause(50);
        continue;
      }
      this.events.push(...(body.events as EventRecord[]));
      cursor = body.cursor as string;
    }
  }
}

interface Found {
  readonly entries: number;
  readonly missing: number;
  readonly repeated: number;
  readonly disordered: number;
  readonly strange: number;
}

const describe = ({ missing, repeated, disordered, strange }: Found): string => `${missing}; ${repeated}; ${disordered}; ${strange}`;

/** Waits until every entry has its event, and compares. */
async function settled(accounts: readonly string[], reader: Reader, running: Dying): Promise<Found> {
  for (const giveUpAt = now() + READ_WITHIN_MS; ; await pause(1000)) {
    const found = await compare(accounts, reader.events, running);
    if (found.missing === 0 || now() > giveUpAt) return found;
  }
}

async function compare(accounts: readonly string[], events: readonly EventRecord[], running: Dying): Promise<Found> {
  const byAccount = Map.groupBy(events, ({ accountId }) => accountId ?? '');
  let [entries, missing, disordered, strange] = [0, 0, 0, 0];
  for (const account of accounts) {
    const ledger = ((await running.command('LRANGE', coinKeys.ledger(account), 0, -1)) as string[]).map((text) => parseEntry(text)!);
    const own = byAccount.get(account) ?? [];
    const told = new Map(own.filter(({ type }) => type === 'coins.changed').map(({ data }) => [Number(data.entryId), data]));
    entries += ledger.length;
    for (const { seq, balance } of ledger) if (told.get(seq)?.balanceAfterCoins !== balance) missing++;
    const booked = new Set(ledger.map(({ seq }) => seq));
    strange += [...told.keys()].filter((seq) => !booked.has(seq)).length;
    // `account.created` is the first one.
    own.forEach(({ number }, index) => {
      if (index > 0 && number! <= own[index - 1]!.number!) disordered++;
    });
  }
  return { entries, missing, repeated: events.length - new Set(events.map(({ id }) => id)).size, disordered, strange };
}
