import { setTimeout as pause } from 'node:timers/promises';
import { coinKeys } from '../../src/features/coins/model.ts';
import type { EventRecord } from '../../src/features/events/model.ts';
import { Client, inParallel, sum } from './client.ts';
import { ledgerOf } from './coin-book.ts';
import { Credits } from './credits.ts';
import { disorderIn, EventHooks } from './event-hooks.ts';
import { now } from './history.ts';
import { operate } from './operator-tool.ts';
import type { Place } from './place.ts';
import type { Stand } from './proof.ts';
import type { Load, Stage } from './scenario.ts';

const CREDITS = { accounts: 300, perSecond: 1000, mostWaiting: 64 };

/** Accounts whose slots move. */
const MOVED_ACCOUNTS = 20;
/** Time after the last change: a killed relay keeps its lease for 4 s, and the outbox of a Cluster is found within 13 s. */
const READ_WITHIN_MS = 60_000;

/** Credits of many accounts, and a reader that continues by cursor. Each ledger entry must have its event, in order, and each event its entry. */
export class Events implements Load {
  readonly keys: readonly string[];
  readonly #credits: Credits;
  readonly #reader: Reader;
  /** Undefined: the scenario concerns the log only. */
  readonly #hooks: EventHooks | undefined;
  readonly #again: () => Reader;
  readonly #stand: Stand;
  readonly #place: Place;

  static async open(stand: Stand, place: Place, hasHooks: boolean): Promise<Events> {
    const client = new Client(() => place.url());
    const { token } = operate(['keys', 'create', '--name', 'prove', '--scopes', 'events'], place.settings) as { token: string };
    const hooks = hasHooks ? await EventHooks.open(place.settings) : undefined;
    stand.closing.push(
      () => client.close(),
      () => hooks?.close(),
    );
    const read = (limit: number): Reader => {
      const reader = new Reader(client, token, limit);
      stand.closing.push(() => reader.close());
      return reader;
    };
    return new Events(stand, place, { credits: new Credits(client, stand, CREDITS), hooks, read });
  }

  private constructor(
    stand: Stand,
    place: Place,
    { credits, hooks, read }: { credits: Credits; hooks: EventHooks | undefined; read: (limit: number) => Reader },
  ) {
    [this.#stand, this.#place, this.#credits, this.#hooks] = [stand, place, credits, hooks];
    [this.#reader, this.#again] = [read(100), () => read(377)];
    this.keys = ['{events}', '{webhooks}', ...credits.keys.slice(0, MOVED_ACCOUNTS)];
  }

  get done(): number {
    return this.#credits.done;
  }

  run(isOver: () => boolean): Promise<void> {
    return this.#credits.run(isOver);
  }

  async compare(stage: Stage): Promise<Record<string, number>> {
    const { figures } = this.#stand;
    const events = await this.#settled();
    const coins = await this.#credits.compare(stage);
    figures.report('events that the reader got', this.#reader.events.length);
    if (this.#hooks === undefined) return { ...events, ...coins };
    const delivered = await this.#hooks.settled(this.#reader.events);
    figures.report('requests to two webhooks: one slow, one failing half of the time', this.#hooks.requests);
    // A second reader, from the beginning and with other page sizes.
    const [first, second] = [this.#reader.events, this.#again().events];
    for (const giveUpAt = now() + READ_WITHIN_MS; second.length < first.length && now() < giveUpAt;) await pause(50);
    const differing = first.filter(({ id }, index) => id !== second[index]?.id).length + Math.max(0, second.length - first.length);
    return { ...events, ...coins, ...delivered, 'events that another reader gets in another order': differing };
  }

  /** Waits until every entry has its event, and compares. */
  async #settled(): Promise<Record<string, number>> {
    for (const giveUpAt = now() + READ_WITHIN_MS; ; await pause(1000)) {
      const found = await this.#compare();
      if (found['ledger entries without an event'] === 0 || now() > giveUpAt) return found;
    }
  }

  async #compare(): Promise<Record<string, number>> {
    const { events } = this.#reader;
    const byAccount = Map.groupBy(events, ({ accountId }) => accountId ?? '');
    let [missing, strange] = [0, 0];
    await inParallel(this.#credits.owners, async ({ account }) => {
      const ledger = await ledgerOf(coinKeys.ledger(account), (...words) => this.#place.command(...words));
      // `account.created` is the first one.
      const changes = (byAccount.get(account) ?? []).filter(({ type }) => type === 'coins.changed');
      const told = new Map(changes.map(({ data }) => [Number(data.entryId), data]));
      missing += ledger.filter(({ seq, balance }) => told.get(seq)?.balanceAfterCoins !== balance).length;
      const booked = new Set(ledger.map(({ seq }) => seq));
      strange += [...told.keys()].filter((seq) => !booked.has(seq)).length;
    });
    return {
      'ledger entries without an event': missing,
      'events that came twice': events.length - new Set(events.map(({ id }) => id)).size,
      'events out of the order of their account': sum([...byAccount.values()].map(disorderIn)),
      'events without a ledger entry': strange,
    };
  }
}

/** Reads all events by cursor until it is closed. A call without an answer is repeated with the same cursor. */
class Reader {
  readonly events: EventRecord[] = [];
  #isClosed = false;

  constructor(client: Client, token: string, limit: number) {
    void this.#read(client, token, limit);
  }

  close(): void {
    this.#isClosed = true;
  }

  async #read(client: Client, token: string, limit: number): Promise<void> {
    for (let cursor = ''; !this.#isClosed;) {
      const path = `/v1/events?limit=${limit}&wait=1${cursor === '' ? '' : `&after=${cursor}`}`;
      const { status, body } = await client.ask(path, { bearer: token });
      if (status !== 200) {
        await pause(50);
        continue;
      }
      this.events.push(...(body.events as EventRecord[]));
      cursor = body.cursor as string;
    }
  }
}
