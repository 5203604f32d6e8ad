import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Webhook } from 'standardwebhooks';
import { expect, onTestFinished, test } from 'vitest';
import { freePort } from '../../free-port.ts';
import { request } from '../../harness.ts';
import { makeKey, runAdmin } from '../../operator/console/command.ts';
import { startChild, startTcpRedis, type Child } from '../../realtime/child.ts';
import { eventually } from '../../realtime/watcher.ts';
import { startReceiver, type Received, type Receiver } from './receiver.ts';

/** Two processes on one Redis are killed in turn, under load, while they deliver to a fast endpoint and to slow or failing ones. */

const KILLS = 5;
const ACCOUNTS = 40;
const LOAD_MS = 1500;
/** A machine under load may need minutes for all events, but no delivery takes this long: a retry comes after 1 s, a lease ends after 5 s. */
const PATIENCE_MS = 60_000;

interface Told {
  readonly id: string;
  readonly accountId: string;
  readonly data: { readonly entryId: string };
}

const told = ({ body }: Received): Told => JSON.parse(body) as Told;

test('no event is lost, and those of an account come in order, however often processes are killed', { timeout: 300_000 }, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'coinop-hooks-'));
  const redis = await startTcpRedis(folder);
  const settings = { REDIS_URL: redis.url, EVENTS: 'on', WEBHOOKS_PRIVATE: 'on', DATA_DIR: folder };
  const children: Child[] = [await startChild(settings), await startChild(settings)];
  onTestFinished(async () => {
    for (const child of children) await child.stop('SIGKILL');
    await redis.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  await using quick = await startReceiver();
  await using slow = await startReceiver();
  await using failing = await startReceiver();
  const taken = new Map<Receiver, Received[]>([quick, slow, failing].map((receiver) => [receiver, []]));
  const take = (receiver: Receiver, each: Received): void => void taken.get(receiver)!.push(each);
  quick.answer = (each, response) => (take(quick, each), void response.writeHead(204).end());
  slow.answer = (each, response) => void setTimeout(() => (take(slow, each), response.writeHead(204).end()), 100);
  // Accepts each event at the second attempt. To accept every second request would starve accounts that retry in step.
  const refused = new Set<string>();
  failing.answer = (each, response) => {
    const { id } = told(each);
    const isTaken = refused.has(id);
    refused.add(id);
    if (isTaken) take(failing, each);
    response.writeHead(isTaken ? 200 : 503, { 'retry-after': '1' }).end();
  };
  const secrets = new Map<Receiver, string>();
  const add = async (url: string): Promise<{ id: string; secret: string }> => {
    const { code, out, error } = await runAdmin(['webhooks', 'add', url, '--types', 'coins.changed', '--yes', '--json'], settings);
    expect([code, error]).toEqual([0, '']);
    return JSON.parse(out);
  };
  for (const receiver of taken.keys()) secrets.set(receiver, (await add(receiver.url)).secret);
  const dead = await add(`http://127.0.0.1:${await freePort()}/`);

  let isOver = false;
  const changed = new Set<string>();
  const load = Array.from({ length: ACCOUNTS }, async (_, account) => {
    for (let number = 0; !isOver; number++) {
      const body = JSON.stringify({ installId: `crash-install-${account}`, coins: 1, key: `key-${number}` });
      for (let tries = 0; ; tries++) {
        const child = children[(account + tries) % 2]!;
        const reply = await request(child.url, '/v1/coins/credit', { method: 'POST' }, body).catch(() => undefined);
        if (reply?.status === 200) {
          changed.add(`${account} ${reply.body.balanceAfterCoins}`);
          break;
        }
        await pause(50);
      }
      // The failing endpoint accepts one event of an account a second.
      await pause(1000);
    }
  });
  for (let kill = 0; kill < KILLS; kill++) {
    await pause(LOAD_MS);
    const index = kill % 2;
    await children[index]!.stop('SIGKILL');
    children[index] = await startChild(settings);
  }
  isOver = true;
  await Promise.all(load);

  const { token } = await makeKey(settings, '--scopes', 'events');
  const read: Told[] = [];
  for (let cursor = ''; ;) {
    // The lease of a killed relay has to end before another process writes the last events into the log.
    const wait = read.length < changed.size ? '&wait=20' : '';
    const path = `/v1/events?limit=1000&types=coins.changed${wait}${cursor === '' ? '' : `&after=${cursor}`}`;
    let reply = await request(children[0]!.url, path, { bearer: token });
    // The key is new to the process.
    if (reply.status !== 200)
      await eventually(async () => (reply = await request(children[0]!.url, path, { bearer: token })).status === 200);
    if (reply.body.events.length === 0) break;
    read.push(...reply.body.events);
    ({ cursor } = reply.body);
  }
  expect(read).toHaveLength(changed.size);
  const ids = read.map(({ id }) => id).toSorted();
  for (const [receiver, all] of taken) {
    await grown(() => new Set(all.map((each) => told(each).id)).size, ids.length);
    const first = [...new Map(all.toReversed().map((each) => [told(each).id, each])).values()].toReversed();
    expect(first.map((each) => told(each).id).toSorted()).toEqual(ids);
    const inOrder = Map.groupBy(first.map(told), ({ accountId }) => accountId);
    expect(inOrder.size).toBe(ACCOUNTS);
    for (const events of inOrder.values()) {
      const numbers = events.map(({ data }) => Number(data.entryId));
      expect(numbers).toEqual(numbers.map((_, index) => index + 1));
    }
    const webhook = new Webhook(secrets.get(receiver)!);
    // Older ones are past the tolerance of the library on a slow machine.
    for (const { headers, body } of all.slice(-50)) expect(webhook.verify(body, headers)).toBeDefined();
  }
  const { out } = await runAdmin(['webhooks', 'deliveries', dead.id, '--json'], settings);
  const attempts = JSON.parse(out).deliveries as { outcome: string; error: string }[];
  expect(attempts.length).toBeGreaterThan(5);
  expect(attempts.every(({ outcome, error }) => outcome === 'failed' && error === 'connection')).toBe(true);
  const shown = await runAdmin(['webhooks', 'show', dead.id], settings);
  expect(shown.out).toMatch(/^state +active$/m);
  for (const child of children) expect(child.output()).not.toMatch(/"level":(50|60)/);
});

/** Resolves once a count is whole. It may take as long as it grows. */
async function grown(count: () => number, whole: number): Promise<void> {
  for (let last = -1; count() > last && count() < whole;) {
    last = count();
    await eventually(() => count() > last, PATIENCE_MS).catch(() => {});
  }
}
