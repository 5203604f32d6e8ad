import { Agent, request } from 'node:http';

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

/** An answer that takes longer counts as refused. */
const PATIENCE_MS = 15_000;

/** Of all calls, so that each credit has a key of its own: a replay would write nothing. */
let credits = 0;

/** Clients that ask for `/health` and credit coins for `milliseconds`. They keep their pace also while earlier answers are outstanding. */
export async function bystanders(port: number, milliseconds: number): Promise<Met> {
  const health: number[] = [];
  const credit: number[] = [];
  const refused: string[] = [];
  const under: Promise<void>[] = [];
  const startedAt = performance.now();
  const clients = Array.from({ length: ADDRESSES }, (_, index) => ({
    agent: new Agent({ keepAlive: true, localAddress: `127.0.1.${index + 1}` }),
    installId: `bystander-${process.pid}-${index}`,
    nextAt: startedAt + (index * EVERY_MS) / ADDRESSES,
  }));
  await new Promise<void>((resolve) => {
    const timer = setInterval(() => {
      const now = performance.now();
      if (now > startedAt + milliseconds) {
        clearInterval(timer);
        return resolve();
      }
      for (const client of clients) {
        if (client.nextAt > now) continue;
        const dueAt = client.nextAt;
        client.nextAt += EVERY_MS;
        const body = JSON.stringify({ installId: client.installId, coins: 1, key: `k${credits++}` });
        under.push(timed(port, client.agent, '/health', undefined, dueAt, health, refused));
        under.push(timed(port, client.agent, '/v1/coins/credit', body, dueAt, credit, refused));
      }
    }, 2);
  });
  await Promise.all(under);
  for (const { agent } of clients) agent.destroy();
  return { health, credit, refused };
}

/** @param dueAt when the request should have been sent: a delay of this process counts, because a real client's request would wait too */
function timed(
  port: number,
  agent: Agent,
  path: string,
  body: string | undefined,
  dueAt: number,
  times: number[],
  refused: string[],
): Promise<void> {
  return new Promise((resolve) => {
    const failed = (reason: string): void => {
      refused.push(`${path}: ${reason}`);
      resolve();
    };
    const method = body === undefined ? 'GET' : 'POST';
    const headers = body === undefined ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
    const asking = request({ host: '127.0.0.1', port, path, method, agent, headers, timeout: PATIENCE_MS }, (response) => {
      response.resume();
      response.on('end', () => {
        times.push(performance.now() - dueAt);
        if (response.statusCode === 200) resolve();
        else failed(String(response.statusCode));
      });
      response.on('error', (error) => failed(error.message));
    });
    asking.on('timeout', () => asking.destroy(new Error('no answer')));
    asking.on('error', (error) => failed(error.message));
    asking.end(body);
  });
}
