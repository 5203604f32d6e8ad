import { randomBytes } from 'node:crypto';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { statusesIn } from '../../../raw.ts';
import type { FramingCase } from './case.ts';

/** When the second request is sent: never, in the bytes of the first, after the answer, or so many milliseconds after the first. */
export type Timing = 'alone' | 'together' | 'after the answer' | number;

export interface Run {
  readonly statuses: number[];
  readonly text: string;
  readonly closed: boolean;
  /** The connection ended with a reset. */
  readonly reset: boolean;
  readonly first: string;
  readonly second: string;
}

/** A credit of one coin. All have the same length. */
export function creditBody(installId: string): string {
  return JSON.stringify({ installId, coins: 1, key: 'framing' });
}

/**
 * Sends a case over a connection of its own, and watches until it is closed, or quiet: nothing came for QUIET_MS, nor until the service had
 * answered LATER_REQUESTS on another connection.
 * @param secondId the second request's x-request-id
 */
export async function run(
  { port }: { readonly port: number },
  { bytes }: Pick<FramingCase, 'bytes'>,
  timing: Timing,
  secondId?: string,
): Promise<Run> {
  const [first, second] = [freshAccount(), freshAccount()];
  const body = creditBody(second);
  const id = secondId === undefined ? '' : `X-Request-Id: ${secondId}\r\n`;
  const follower = `POST /v1/coins/credit HTTP/1.1\r\nHost: x\r\n${id}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
  const opening = bytes(creditBody(first)) + (timing === 'together' ? follower : '');
  const chunks: Buffer[] = [];
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  socket.setNoDelay(true);
  let [closed, reset] = [false, false];
  const quiet = Promise.withResolvers<void>();
  const settle = async (): Promise<void> => {
    const seen = chunks.length;
    for (let request = 0; request < LATER_REQUESTS; request++) await wasExecuted({ url: `http://127.0.0.1:${port}` }, second);
    if (chunks.length === seen) quiet.resolve();
    else if (!closed) timer.refresh();
  };
  const timer = setTimeout(settle, QUIET_MS);
  const end = (): void => {
    closed = true;
    quiet.resolve();
  };
  const wrote = (): void => void (socket.destroyed || timer.refresh());
  const follow = (): void => {
    if (!socket.destroyed) socket.write(follower, 'latin1', wrote);
  };
  let followed = timing !== 'after the answer';
  socket.on('data', (chunk) => {
    chunks.push(chunk);
    timer.refresh();
    // After status 100 the answer still follows.
    if (followed || statusesIn(chunk.toString('latin1')).every((status) => status === 100)) return;
    followed = true;
    setTimeout(follow, 5);
  });
  socket.on('end', end);
  socket.on('close', end);
  socket.on('error', () => (reset = true));
  socket.write(opening, 'latin1', wrote);
  if (typeof timing === 'number') setTimeout(follow, timing);
  await quiet.promise;
  // A reset would come right behind the end of the stream.
  if (closed) await sleep(20);
  clearTimeout(timer);
  socket.destroy();
  const text = Buffer.concat(chunks).toString('latin1');
  return { statuses: statusesIn(text).filter((status) => status !== 100), text, closed, reset, first, second };
}

/** Whether an account's credit was executed. */
export async function wasExecuted({ url }: { readonly url: string }, installId: string): Promise<boolean> {
  const answer = await fetch(`${url}/v1/balance?installId=${installId}`);
  if (answer.status !== 200) throw new Error(`balance: ${answer.status}`);
  return ((await answer.json()) as { balanceCoins: number }).balanceCoins > 0;
}

/** Runs tasks, so many at a time. */
export async function inParallel<Task, Result>(
  tasks: readonly Task[],
  work: (task: Task) => Promise<Result>,
  atOnce = 24,
): Promise<Result[]> {
  const results: Result[] = [];
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < tasks.length) {
      const index = next++;
      results[index] = await work(tasks[index]!);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  return results;
}

function freshAccount(): string {
  return `framing-${randomBytes(9).toString('base64url')}`;
}

/**
 * Requests after which an answer to an earlier request must have come. The first may overtake it, because a busy service may accept the
 * connection and read its bytes only one and two turns later.
 */
const LATER_REQUESTS = 3;

/** Longer than a lingering close takes. */
const QUIET_MS = 700;
