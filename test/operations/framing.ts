import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { Client } from '../proofs/client.ts';
import type { Figures } from '../proofs/figures.ts';
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
  const bystanders = new Client(() => proxy.url);
  let [isOver, answered, foreign] = [false, 0, 0];
  const bystander = async (): Promise<void> => {
    for (; !isOver; await pause(5)) {
      const id = `bystander-${randomBytes(6).toString('hex')}`;
      const { status, headers } = await bystanders.ask('/health', { headers: { 'x-request-id': id } });
      answered++;
      if (status !== 200 || headers['x-request-id'] !== id) foreign++;
    }
  };
  const meanwhile = Promise.all(Array.from({ length: 4 }, bystander));
  const runs = await inParallel(tasks, async ([framingCase, timing]) => {
    const secondId = `second-${randomBytes(6).toString('hex')}`;
    return { secondId, ...(await run(proxy, framingCase, timing, secondId)) };
  });
  isOver = true;
  await meanwhile;
  bystanders.close();
  let [reached, served] = [0, 0];
  const found = {
    'credits that ran as a part of another request': 0,
    'answers that reached another request': 0,
    'credits that ran without a 200': 0,
    "others' answers that were not theirs": foreign,
  };
  const service = { url: directUrl };
  for (const [index, [{ name }, timing]] of tasks.entries()) {
    const { first, second, secondId, statuses, text } = runs[index]!;
    const [ranFirst, ranSecond] = [await wasExecuted(service, first), await wasExecuted(service, second)];
    if (/x-request-id/i.test(text)) reached++;
    if (ranFirst) served++;
    // The second credit may run only as a separate request, with a separate answer after the first answer.
    const secondAnswer = text.indexOf(secondId);
    const isSmuggled = ranSecond ? timing === 'alone' || secondAnswer === -1 : statuses.slice(1).some((status) => status < 400);
    const isMixed = secondAnswer !== -1 && text.indexOf('HTTP/1.1 ') === text.lastIndexOf('HTTP/1.1 ', secondAnswer);
    // Caddy answers a request of HTTP/1.0 as one.
    const isUnanswered = ranFirst && statuses[0] !== 200 && !text.startsWith('HTTP/1.0 200 ');
    found['credits that ran as a part of another request'] += Number(isSmuggled);
    found['answers that reached another request'] += Number(isMixed);
    found['credits that ran without a 200'] += Number(isUnanswered);
    if (isSmuggled || isMixed || isUnanswered) console.log(`    ${name}, ${timing}: ${statuses.join(' ')}`);
  }
  figures.report('requests sent; answered by coinop, the others by the proxy', `${tasks.length}; ${reached}`);
  figures.atLeast('credits that were executed', served, 100);
  figures.atLeast('requests of others meanwhile', answered, 1000);
  figures.none(found);
}
