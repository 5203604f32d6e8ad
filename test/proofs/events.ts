import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { Webhook } from 'standardwebhooks';
import { coinKeys } from '../../src/features/coins/model.ts';
import type { EventRecord } from '../../src/features/events/model.ts';
import { freePort } from '../free-port.ts';
import { inParallel, sum } from './client.ts';
import { Credits, ledgerOf } from './credits.ts';
import { now, within } from './history.ts';
import { operate } from './operator-tool.ts';
import type { Place } from './place.ts';
import type { Stand } from './proof.ts';
import { AtPlace, type Load, type Stage } from './scenario.ts';

const CREDITS = { accounts: 300, perSecond: 1000, mostWaiting: 64 };

/** Accounts whose slots move. */
const MOVED_ACCOUNTS = 20;
/** Time after the last change: a killed relay keeps its lease for 4 s, and the outbox of a Cluster is found within 13 s. */
const READ_WITHIN_MS = 60_000;

/** Credits of many accounts, and a reader that continues by cursor. Each ledger entry must have its event, in order, and each event its entry. */
export class Events extends AtPlace implements Load {
  readonly keys: readonly string[];
  readonly #credits: Credits;
  readonly #token: string;
  readonly #events: EventRecord[];
  /** Undefined: the scenario concerns the log only. */
  readonly #hooks: EventHooks | undefined;

  static async open(stand: Stand, place: Place, hasHooks: boolean): Promise<Events> {
    const { token } = operate(['keys', 'create', '--name', 'prove', '--scopes', 'events'], place.settings);
    const hooks = hasHooks ? await EventHooks.open(place.settings) : undefined;
    stand.closing.push(() => hooks?.close());
    return new Events(stand, place, token, hooks);
  }

  private constructor(stand: Stand, place: Place, token: string, hooks: EventHooks | undefined) {
    super(stand, place);
    [this.#credits, this.#token, this.#hooks] = [new Credits(stand, place, CREDITS), token, hooks];
    this.#events = this.#read(100);
    this.keys = ['{events}', '{webhooks}', ...this.#credits.keys.slice(0, MOVED_ACCOUNTS)];
  }

  get done(): number {
    return this.#credits.done;
  }

  run(isOver: () => boolean): Promise<void> {
    return this.#credits.run(isOver);
  }

  async compare(stage: Stage): Promise<Record<string, number>> {
    const { figures } = this.stand;
    let found: Record<string, number> = {};
    await within(READ_WITHIN_MS, async () => (found = await this.#compare())['ledger entries without an event'] === 0, 1000);
    const coins = await this.#credits.compare(stage);
    const first = this.#events;
    figures.report('events that the reader got', first.length);
    if (this.#hooks === undefined) return { ...found, ...coins };
    const delivered = await this.#hooks.settled(first);
    figures.report('requests to two webhooks: one slow, one failing half of the time', this.#hooks.requests);
    // From the beginning and with other page sizes.
    const second = this.#read(377);
    await within(READ_WITHIN_MS, () => second.length >= first.length);
    const differing = first.filter(({ id }, index) => id !== second[index]?.id).length + Math.max(0, second.length - first.length);
    return { ...found, ...coins, ...delivered, 'events that another reader gets in another order': differing };
  }

  async #compare(): Promise<Record<string, number>> {
    const events = this.#events;
    const byAccount = Map.groupBy(events, ({ accountId }) => accountId ?? '');
    let [missing, strange] = [0, 0];
    await inParallel(this.#credits.owners, async ({ account }) => {
      const ledger = await ledgerOf(coinKeys.ledger(account), this.place);
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

  /** Reads all events by cursor until the end of the part. A call without an answer is repeated with the same cursor. */
  #read(limit: number): EventRecord[] {
    const events: EventRecord[] = [];
    let isOver = false;
    this.stand.closing.push(() => (isOver = true));
    const read = async (): Promise<void> => {
      for (let cursor = ''; !isOver;) {
        const path = `/v1/events?limit=${limit}&wait=1${cursor && `&after=${cursor}`}`;
        const { status, body } = await this.place.client.ask(path, { bearer: this.#token });
        if (status !== 200) {
          await pause(50);
          continue;
        }
        events.push(...(body.events as EventRecord[]));
        cursor = body.cursor;
      }
    };
    void read();
    return events;
  }
}

/** The response time of the slow endpoint: with 32 requests at a time it accepts 1,600 events a second. */
const SLOW_MS = 20;

/**
 * The failing endpoint refuses everything for a random time, then accepts everything for a random time: 5 s on average. In the copy of
 * the service the next attempt follows after 5 s.
 */
const FAILING_MS = { least: 2000, most: 8000 };

/** One signature in this many is verified: the library takes 50 µs for each. */
const VERIFIED = 10;

/** Time after the last change. An account's events wait for each other, and on a slow machine many are still waiting. */
const DELIVERED_WITHIN_MS = 400_000;

/** Endpoints of three webhooks: a slow one, one that fails half of the time, and one where nobody listens. */
class EventHooks {
  readonly #endpoints: readonly Endpoint[];

  /** Adds the webhooks with the operator's tool. */
  static async open(settings: Readonly<Record<string, string>>): Promise<EventHooks> {
    const add = (url: string) => operate(['webhooks', 'add', url], { ...settings, WEBHOOKS_PRIVATE: 'on' }) as { secret: string };
    let [isFailing, until] = [false, 0];
    const failing = (): boolean => {
      const { least, most } = FAILING_MS;
      for (; now() > until; isFailing = !isFailing) until = Math.max(until, now() - most) + least + Math.random() * (most - least);
      return isFailing;
    };
    const slow = new Endpoint('slow', (answer) => void setTimeout(() => answer(204), SLOW_MS));
    const endpoints = [slow, new Endpoint('failing', (answer) => answer(failing() ? 503 : 204))];
    for (const endpoint of endpoints) endpoint.secret = add(await endpoint.listen()).secret;
    add(`http://127.0.0.1:${await freePort()}/`);
    return new EventHooks(endpoints);
  }

  private constructor(endpoints: readonly Endpoint[]) {
    this.#endpoints = endpoints;
  }

  close(): void {
    for (const endpoint of this.#endpoints) endpoint.close();
  }

  get requests(): number {
    return sum(this.#endpoints.map(({ requests }) => requests));
  }

  /** Waits until both live endpoints have all events, and compares. */
  async settled(events: readonly EventRecord[]): Promise<Record<string, number>> {
    const ids = new Set(events.map(({ id }) => id));
    const lacks = ({ taken }: Endpoint): number => events.filter(({ id }) => !taken.has(id)).length;
    // Comparing 200,000 events takes a second, during which the endpoints of this process cannot answer.
    const hasAll = (endpoint: Endpoint): boolean => endpoint.taken.size >= events.length && lacks(endpoint) === 0;
    await within(DELIVERED_WITHIN_MS, () => this.#endpoints.every(hasAll), 500);
    const total = (count: (endpoint: Endpoint) => number): number => sum(this.#endpoints.map(count));
    return {
      ...Object.fromEntries(this.#endpoints.map((endpoint) => [`events that the ${endpoint.name} webhook lacks`, lacks(endpoint)])),
      'events out of the order of their account at a webhook': total(({ taken }) => disorderIn(taken.values())),
      'events at a webhook that the reader did not get': total(({ taken }) => [...taken.keys()].filter((id) => !ids.has(id)).length),
      'requests whose signature does not verify': total(({ unsigned }) => unsigned),
    };
  }
}

/** How many events came after a later one of their account. */
function disorderIn(events: Iterable<EventRecord>): number {
  const last = new Map<string, number>();
  let disordered = 0;
  for (const { accountId = '', number = 0 } of events) {
    if (number <= (last.get(accountId) ?? -1)) disordered++;
    last.set(accountId, number);
  }
  return disordered;
}

class Endpoint {
  readonly name: string;
  secret = '';
  requests = 0;
  unsigned = 0;
  /** Accepted events by id, in the order of their first arrival. */
  readonly taken = new Map<string, EventRecord>();
  readonly #server: Server;

  constructor(name: string, answers: (answer: (status: number) => void) => void) {
    this.name = name;
    this.#server = createServer(async (request, response) => {
      const chunks = await request.toArray().catch(() => undefined);
      // The service was killed.
      if (chunks === undefined) return;
      const body = Buffer.concat(chunks).toString();
      if (++this.requests % VERIFIED === 0) this.#verify(body, request.headers as Record<string, string>);
      answers((status) => {
        const event = JSON.parse(body) as EventRecord;
        if (status < 300 && !this.taken.has(event.id)) this.taken.set(event.id, event);
        response.writeHead(status).end();
      });
    });
  }

  /** @returns its address */
  async listen(): Promise<string> {
    await once(this.#server.listen(0, '127.0.0.1'), 'listening');
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/`;
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  #verify(body: string, headers: Record<string, string>): void {
    try {
      new Webhook(this.secret).verify(body, headers);
    } catch {
      this.unsigned++;
    }
  }
}
