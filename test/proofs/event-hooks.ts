import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { Webhook } from 'standardwebhooks';
import type { EventRecord } from '../../src/features/events/model.ts';
import { freePort } from '../free-port.ts';
import { sum } from './client.ts';
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

/** Endpoints of three webhooks: a slow one, one that fails half of the time, and one where nobody listens. */
export class EventHooks {
  readonly #slow: Endpoint;
  readonly #failing: Endpoint;

  /** Adds the webhooks with the operator's tool. */
  static async open(settings: Readonly<Record<string, string>>): Promise<EventHooks> {
    let [isFailing, until] = [false, 0];
    const endpoints = [
      await Endpoint.open((answer) => void setTimeout(() => answer(204), SLOW_MS)),
      await Endpoint.open((answer) => {
        for (; now() > until; isFailing = !isFailing)
          until = Math.max(until, now() - FAILING_MS.most) + FAILING_MS.least + Math.random() * (FAILING_MS.most - FAILING_MS.least);
        answer(isFailing ? 503 : 204);
      }),
    ] as const;
    const add = (url: string) => operate(['webhooks', 'add', url], { ...settings, WEBHOOKS_PRIVATE: 'on' }) as { secret: string };
    for (const endpoint of endpoints) endpoint.secret = add(endpoint.url).secret;
    add(`http://127.0.0.1:${await freePort()}/`);
    return new EventHooks(...endpoints);
  }

  private constructor(slow: Endpoint, failing: Endpoint) {
    [this.#slow, this.#failing] = [slow, failing];
  }

  close(): void {
    for (const endpoint of [this.#slow, this.#failing]) endpoint.close();
  }

  get requests(): number {
    return this.#slow.requests + this.#failing.requests;
  }

  /** Waits until both live endpoints have all events, and compares. */
  async settled(events: readonly EventRecord[]): Promise<Record<string, number>> {
    const endpoints = [this.#slow, this.#failing];
    const ids = new Set(events.map(({ id }) => id));
    const lacks = ({ taken }: Endpoint): number => events.filter(({ id }) => !taken.has(id)).length;
    // Comparing 200,000 events takes a second, during which the endpoints of this process cannot answer.
    const hasAll = (endpoint: Endpoint): boolean => endpoint.taken.size >= events.length && lacks(endpoint) === 0;
    for (const giveUpAt = now() + DELIVERED_WITHIN_MS; now() < giveUpAt && !endpoints.every(hasAll);) await pause(500);
    return {
      'events that the slow webhook lacks': lacks(this.#slow),
      'events that the failing webhook lacks': lacks(this.#failing),
      'events out of the order of their account at a webhook': sum(endpoints.map(({ taken }) => disorderIn(taken.values()))),
      'events at a webhook that the reader did not get': sum(
        endpoints.map(({ taken }) => [...taken.keys()].filter((id) => !ids.has(id)).length),
      ),
      'requests whose signature does not verify': sum(endpoints.map(({ unsigned }) => unsigned)),
    };
  }
}

/** How many events came after a later one of their account. */
export function disorderIn(events: Iterable<EventRecord>): number {
  const last = new Map<string, number>();
  let disordered = 0;
  for (const { accountId = '', number = 0 } of events) {
    if (number <= (last.get(accountId) ?? -1)) disordered++;
    last.set(accountId, number);
  }
  return disordered;
}

type Answers = (answer: (status: number) => void) => void;

class Endpoint {
  secret = '';
  requests = 0;
  unsigned = 0;
  /** Accepted events by id, in the order of their first arrival. */
  readonly taken = new Map<string, EventRecord>();
  readonly #server: Server;

  private constructor(answers: Answers) {
    this.#server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => void chunks.push(chunk));
      request.on('end', () => {
        const body = Buffer.concat(chunks).toString();
        if (++this.requests % VERIFIED === 0) this.#verify(body, request.headers as Record<string, string>);
        answers((status) => {
          const event = JSON.parse(body) as EventRecord;
          if (status < 300 && !this.taken.has(event.id)) this.taken.set(event.id, event);
          response.writeHead(status).end();
        });
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
