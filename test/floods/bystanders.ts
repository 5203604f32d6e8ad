import { setTimeout as pause } from 'node:timers/promises';
import { Client } from '../proofs/client.ts';

/** The results of clients of other addresses during a flood. Times in milliseconds. */
export interface Met {
  readonly health: readonly number[];
  readonly credit: readonly number[];
  /** Answers other than 200, and connections that failed. */
  readonly refused: readonly string[];
}

/** Addresses of the bystanders. None comes near its rate limit. */
const ADDRESSES = 20;

/** Each address sends one request of each kind this often. */
const EVERY_MS = 200;

/** Of all calls, so that each credit has a key of its own: a replay would write nothing. */
let credits = 0;

/** Clients that ask for `/health` and credit coins for `milliseconds`. They keep their pace also while earlier answers are outstanding. */
export async function bystanders(port: number, milliseconds: number): Promise<Met> {
  const [health, credit, refused]: [number[], number[], string[]] = [[], [], []];
  const under: Promise<void>[] = [];
  const startedAt = performance.now();
  const clients = Array.from({ length: ADDRESSES }, (_, index) => ({
    client: new Client(() => `http://127.0.0.1:${port}`, `127.0.1.${index + 1}`),
    installId: `bystander-${process.pid}-${index}`,
    nextAt: startedAt + (index * EVERY_MS) / ADDRESSES,
  }));
  /** @param dueAt when the request should have been sent: a delay of this process counts, because a real client's request would wait too */
  const timed = async (client: Client, path: string, body: object | undefined, dueAt: number): Promise<void> => {
    const { status, body: answer } = await client.ask(path, body === undefined ? {} : { method: 'POST', body });
    if (status !== 0) (body === undefined ? health : credit).push(performance.now() - dueAt);
    if (status !== 200) refused.push(`${path}: ${status} ${answer.error?.code}`);
  };
  for (let now = startedAt; now < startedAt + milliseconds; await pause(2), now = performance.now()) {
    for (const each of clients) {
      if (each.nextAt > now) continue;
      const body = { installId: each.installId, coins: 1, key: `k${credits++}` };
      under.push(timed(each.client, '/health', undefined, each.nextAt), timed(each.client, '/v1/coins/credit', body, each.nextAt));
      each.nextAt += EVERY_MS;
    }
  }
  await Promise.all(under);
  for (const { client } of clients) client.close();
  return { health, credit, refused };
}
