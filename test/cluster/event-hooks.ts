import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { Webhook } from 'standardwebhooks';
import type { EventRecord } from '../../src/features/events/model.ts';
import { freePort } from '../free-port.ts';
import { now } from './history.ts';
import { operate } from './operator-tool.ts';

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

/** Differences between the events and the deliveries to endpoints. */
export interface Undelivered {
  /** By endpoint: the slow one, and the one that fails half of the time. */
  readonly missing: readonly number[];
  readonly disordered: number;
  readonly strange: number;
}

/** Endpoints of three webhooks: a slow one, one that fails half of the time, and one where nobody listens. */
export class EventHooks {
  readonly #endpoints: readonly Endpoint[];

  private constructor(endpoints: readonly Endpoint[]) {
    this.#endpoints = endpoints;
  }

  /** Adds the webhooks with the operator's tool. */
  static async open(settings: Record<string, string>): Promise<EventHooks> {
    const slow = await Endpoint.open((answer) => void setTimeout(() => answer(204), SLOW_MS));
    let [isFailing, until] = [false, 0];
    const failing = await Endpoint.open((answer) => {
      for (; now() > until; isFailing = !isFailing)
        until = Math.max(until, now() - FAILING_MS.most) + FAILING_MS.least + Math.random() * (FAILING_MS.most - FAILING_MS.least);
      answer(isFailing ? 503 : 204);
    });
    const hooks = new EventHooks([slow, failing]);
    const add = (url: string) => operate(['webhooks', 'add', url], { ...settings, WEBHOOKS_PRIVATE: 'on' }) as { secret: string };
    for (const endpoint of hooks.#endpoints) endpoint.secret = add(endpoint.url).secret;
    add(`http://127.0.0.1:${await freePort()}/`);
    return hooks;
  }

  close(): void {
    for (const endpoint of this.#endpoints) endpoint.close();
  }

  get requests(): number {
    return this.#endpoints.reduce((sum, { requests }) => sum + requests, 0);
  }

  get unsigned(): number {
    return this.#endpoints.reduce((sum, { unsigned }) => sum + unsigned, 0);
  }

  /** Waits until both live endpoints have all events, and compares. */
  async settled(events: readonly EventRecord[]): Promise<Undelivered> {
    for (const giveUpAt = now() + DELIVERED_WITHIN_MS; ; await pause(500)) {
      const isLate = now() > giveUpAt;
      // Comparing 200,000 events takes a second, during which the endpoints of this process cannot answer.
      if (!isLate && this.#endpoints.some(({ taken }) => taken < events.length)) continue;
      const found = this.#endpoints.map((endpoint) => endpoint.compare(events));
      if (found.every(({ missing }) => missing === 0) || isLate)
        return {
          missing: found.map(({ missing }) => missing),
          disordered: sum(found.map(({ disordered }) => disordered)),
          strange: sum(found.map(({ strange }) => strange)),
        };
    }
  }
}

const sum = (numbers: readonly number[]): number => numbers.reduce((all, each) => all + each, 0);

type Answers = (answer: (status: number) => void) => void;

class Endpoint {
  secret = '';
  requests = 0;
  unsigned = 0;
  /** Ids of accepted events, with number and account, in the order of their first arrival. */
  readonly #taken = new Map<string, EventRecord>();
  readonly #server: Server;

  private constructor(answers: Answers) {
    this.#server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => void chunks.push(chunk));
      request.on('end', () => {
        const body = Buffer.concat(chunks).toString();
        this.requests++;
        if (this.requests % VERIFIED === 0) this.#verify(body, request.headers as Record<string, string>);
        answers((status) => this.#answer(status, JSON.parse(body) as EventRecord, response));
      });
    });
  }

  static async open(answers: Answers): Promise<Endpoint> {
    const endpoint = new Endpoint(answers);
    await new Promise<void>((resolve) => endpoint.#server.listen(0, '127.0.0.1', resolve));
    return endpoint;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/`;
  }

  /** The number of accepted events. */
  get taken(): number {
    return this.#taken.size;
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  compare(events: readonly EventRecord[]): Record<'missing' | 'disordered' | 'strange', number> {
    const missing = events.filter(({ id }) => !this.#taken.has(id)).length;
    const ids = new Set(events.map(({ id }) => id));
    const strange = [...this.#taken.keys()].filter((id) => !ids.has(id)).length;
    let disordered = 0;
    for (const own of Map.groupBy(this.#taken.values(), ({ accountId }) => accountId).values())
      own.forEach(({ number = 0 }, index) => {
        if (index > 0 && number <= own[index - 1]!.number!) disordered++;
      });
    return { missing, disordered, strange };
  }

  #answer(status: number, event: EventRecord, response: ServerResponse): void {
    if (status < 300 && !this.#taken.has(event.id)) this.#taken.set(event.id, event);
    response.writeHead(status).end();
  }

  #verify(body: string, headers: Record<string, string>): void {
    try {
      new Webhook(this.secret).verify(body, headers);
    } catch {
      this.unsigned++;
    }
  }
}
