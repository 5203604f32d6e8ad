import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { vi } from 'vitest';
import { request, type TestReply } from './harness.ts';
import { startChild, type Child } from './realtime/child.ts';

/** Services in processes of their own, and a folder for their data. */
export class Children implements AsyncDisposable {
  readonly folder = mkdtempSync(join(tmpdir(), 'coinop-children-'));
  readonly #running = new Set<Child>();

  /** @param program the service's main.ts */
  async start(settings: Readonly<Record<string, string>>, program?: string): Promise<Child> {
    const child = await startChild(settings, program);
    this.#running.add(child);
    return child;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#running].map((child) => child.stop('SIGKILL')));
    // SIGKILL of a service ends its Redis a moment later, and Redis writes into the folder until then. Without setpriv(1) the Redis stays,
    // and the retries below are all there is.
    await vi.waitUntil(() => !readFileSync('/proc/net/unix', 'utf8').includes(this.folder), { timeout: 2000 }).catch(() => {});
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  }
}

export const creditOn = ({ url }: Child, installId: string, key: string): Promise<TestReply> =>
  request(url, '/v1/coins/credit', { method: 'POST' }, JSON.stringify({ installId, coins: 1, key }));

export const balanceOn = async ({ url }: Child, installId: string): Promise<number> =>
  (await request(url, `/v1/balance?installId=${installId}`, {})).body.balanceCoins;

export const readinessOf = async ({ url }: Child): Promise<number> => (await request(url, '/ready', {})).status;
