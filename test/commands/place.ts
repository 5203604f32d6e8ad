import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, beforeEach, expect, vi } from 'vitest';
import { freshId, request, type TestReply } from '../harness.ts';
import { startChild, type Child } from '../realtime/child.ts';
import { runCommand } from '../run-command.ts';
import { PATIENT } from '../patience.ts';

interface Stoppable {
  stop(signal?: NodeJS.Signals): Promise<unknown>;
}

/** A folder for each test of a command, with the services that the test starts on it. Both end after the test. @param defaults their settings */
export function usePlace(defaults: Record<string, string> = {}) {
  let folder = '';
  const running: Stoppable[] = [];
  const dataDir = () => join(folder, 'data');
  beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'coinop-command-'))));
  afterEach(async () => {
    await Promise.all(running.splice(0).map((each) => each.stop('SIGKILL')));
    // The private Redis of a killed service ends a moment later.
    await vi.waitUntil(() => !readFileSync('/proc/net/unix', 'utf8').includes(folder), { timeout: 5000 }).catch(() => {});
    rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  });
  return {
    get folder() {
      return folder;
    },
    /** The DATA_DIR of services and commands that name no other one. */
    get dataDir() {
      return dataDir();
    },
    async launch(settings: Record<string, string> = {}): Promise<Child> {
      const service = await startChild({ DATA_DIR: dataDir(), ...defaults, ...settings });
      running.push(service);
      return service;
    },
    run: (program: string, flags: readonly string[], settings: Record<string, string> = {}) =>
      runCommand(program, flags, { DATA_DIR: dataDir(), ...settings }),
    /** Stops something else after the test. */
    ends: (each: Stoppable) => void running.push(each),
  };
}

export const post = async ({ url }: Child, path: string, body: object): Promise<TestReply['body']> =>
  (await request(url, path, { method: 'POST' }, JSON.stringify(body))).body;

export const credit = (service: Child, installId: string, key: string, coins = 5) =>
  post(service, '/v1/coins/credit', { installId, coins, key });

export const balanceOf = async ({ url }: Child, installId: string): Promise<number> =>
  (await request(url, `/v1/balance?installId=${installId}`, {})).body.balanceCoins;

export async function deleteAccount(service: Child, installId: string): Promise<void> {
  const { confirm } = await post(service, '/v1/account/delete', { installId });
  expect((await post(service, '/v1/account/delete', { installId, confirm })).deleted).toBe(true);
}

/** Sends credits to 40 accounts until it is stopped. */
export class Load {
  readonly done: { readonly installId: string; readonly coins: number; readonly key: string; readonly balance: number }[] = [];
  readonly #clients: Promise<unknown>;
  #isRunning = true;
  #number = 0;

  /** @param pauseMs the pause of each of the four clients after a credit */
  constructor(service: Child, pauseMs = 0) {
    const installs = Array.from({ length: 40 }, () => freshId());
    const client = async (): Promise<void> => {
      while (this.#isRunning) {
        const number = this.#number++;
        const [installId, coins, key] = [installs[number % installs.length]!, 1 + (number % 7), `key-${number}`];
        const { balanceAfterCoins: balance } = await credit(service, installId, key, coins);
        this.done.push({ installId, coins, key, balance });
        if (pauseMs > 0) await pause(pauseMs);
      }
    };
    this.#clients = Promise.all(Array.from({ length: 4 }, client));
  }

  async reaches(count: number): Promise<void> {
    await vi.waitUntil(() => this.done.length > count, PATIENT);
  }

  async stop(): Promise<void> {
    this.#isRunning = false;
    await this.#clients;
  }

  /** Sends all credits again: a service has those from before its backup, and takes each of the others once. */
  async expectOnceOn(service: Child, before: number): Promise<void> {
    const balances = new Map<string, number>();
    for (const [index, { installId, key, coins, balance }] of this.done.entries()) {
      balances.set(installId, (balances.get(installId) ?? 0) + coins);
      const again = await credit(service, installId, key, coins);
      if (index < before) expect(again).toMatchObject({ balanceAfterCoins: balance, replayed: true });
    }
    for (const [installId, coins] of balances) expect([installId, await balanceOf(service, installId)]).toEqual([installId, coins]);
  }
}
