import { randomBytes } from 'node:crypto';
import { Agent, request } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import type { Figures } from '../cluster/figures.ts';
import { inParallel, run, wasExecuted } from '../server/http/framing/run.ts';
import { table } from '../server/http/framing/table.ts';
import type { Proxy } from './proxy.ts';

/**
 * Sends every case of the framing table through a proxy, and checks which requests reached coinop. If proxy and service disagreed about
 * the end of a request, there would be one of three effects: a credit runs that the proxy took for a part of another request, a client
 * gets the answer to another client, or an answer is missing. Meanwhile other clients send requests on the same connections to the
 * service, and must each get the answer to their own request.
 */
export async function proveFraming(proxy: Proxy, directUrl: string, figures: Figures): Promise<void> {
  const timings = ['alone', 'together', 'after the answer'] as const;
  const tasks = table.flatMap((framingCase) => timings.map((timing) => [framingCase, timing] as const));
  const bystanders = new Bystanders(proxy.url);
  const runs = await inParallel(tasks, async ([framingCase, timing]) => {
    const secondId = `second-${randomBytes(6).toString('hex')}`;
    return { secondId, ...(await run(proxy, framingCase, timing, secondId)) };
  });
  await bystanders.stop();
  let [reached, served, smuggled, mixed, unanswered] = [0, 0, 0, 0, 0];
  const odd: string[] = [];
  const service = { url: directUrl };
  for (const [index, [{ name }, timing]] of tasks.entries()) {
    const { first, second, secondId, statuses, text } = runs[index]!;
    const [ranFirst, ranSecond] = [await wasExecuted(service, first), await wasExecuted(service, second)];
    if (text.includes('x-request-id') || text.includes('X-Request-Id')) reached++;
    if (ranFirst) served++;
    // The second credit may run only as a separate request, with a separate answer after the first answer.
    const secondAnswer = text.indexOf(secondId);
    const wrong = ranSecond ? timing === 'alone' || secondAnswer === -1 : statuses.slice(1).some((status) => status < 400);
    const isMixed = secondAnswer !== -1 && text.indexOf('HTTP/1.1 ') === text.lastIndexOf('HTTP/1.1 ', secondAnswer);
    if (wrong) smuggled++;
    if (isMixed) mixed++;
    // Caddy answers a request of HTTP/1.0 as one.
    const isUnanswered = ranFirst && statuses[0] !== 200 && !text.startsWith('HTTP/1.0 200 ');
    if (isUnanswered) unanswered++;
    if (wrong || isMixed || isUnanswered) odd.push(`${name}, ${timing}: ${statuses.join(' ')}`);
  }
  for (const line of odd.slice(0, 10)) console.log(`    ${line}`);
  figures.report('framing: requests sent', tasks.length);
  figures.report('framing: answered by coinop, the others by the proxy', reached);
  figures.atLeast('framing: credits that were executed', served, 100);
  figures.exactly('framing: credits that ran as a part of another request', smuggled, 0);
  figures.exactly('framing: answers that reached another request', mixed, 0);
  figures.exactly('framing: credits that ran without a 200', unanswered, 0);
  figures.atLeast('framing: requests of others meanwhile', bystanders.answered, 1000);
  figures.exactly("framing: others' answers that were not theirs", bystanders.wrong, 0);
}

/** Clients that ask without pause, each request with an id that its answer must have. */
class Bystanders {
  answered = 0;
  wrong = 0;
  readonly #agent = new Agent({ keepAlive: true });
  readonly #asking: Promise<void>[];
  #isStopped = false;

  constructor(url: string) {
    this.#asking = Array.from({ length: 4 }, () => this.#ask(url));
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await Promise.all(this.#asking);
    this.#agent.destroy();
  }

  async #ask(url: string): Promise<void> {
    while (!this.#isStopped) {
      const id = `bystander-${randomBytes(6).toString('hex')}`;
      const own = await new Promise<boolean>((resolve) => {
        const asked = request(`${url}/health`, { agent: this.#agent, headers: { 'x-request-id': id } }, (response) => {
          response.resume();
          response.on('end', () => resolve(response.statusCode === 200 && response.headers['x-request-id'] === id));
        });
        asked.on('error', () => resolve(false));
        asked.end();
      });
      this.answered++;
      if (!own) this.wrong++;
      await pause(5);
    }
  }
}
