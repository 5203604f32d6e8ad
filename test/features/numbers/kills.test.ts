import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { Children } from '../../children.ts';
import { runAuditCommand } from '../../consistency/command.ts';
import { freshId, request, type TestReply } from '../../harness.ts';
import type { Child } from '../../realtime/child.ts';
import { runCommand } from '../../run-command.ts';
import { seeded } from '../../seeded.ts';

/** The numbers of days beside a book, while SIGKILL ends the service and its private Redis again and again. */

const SEED = 20_261_129;
const KILLS = 8;
const PLAYERS = 24;

test('the numbers are those of a book kept beside the service, and the audit agrees, through kills of the service and of Redis', async () => {
  await using children = new Children();
  const settings = { DATA_DIR: children.folder, STORE: 'sandbox', LEDGER_ENTRIES_PER_DAY: '0', RATE_LIMIT: 'off' };
  let service: Child | undefined = await children.start(settings);
  let isOver = false;

  /** Sends a request again until it is answered, as a client does. */
  const post = async (path: string, body: object): Promise<TestReply> => {
    for (;;) {
      const { url = 'http://127.0.0.1:1' } = service ?? {};
      const reply = await request(url, path, { method: 'POST' }, JSON.stringify(body)).catch(() => undefined);
      if (reply !== undefined && reply.status < 500) return reply;
      await pause(20);
    }
  };

  const draw = seeded(SEED);
  const book = { in: 0, out: 0, bought: 0, deleted: 0 };
  const play = async (number: number): Promise<void> => {
    const installId = freshId();
    let balance = 0;
    for (let step = 0; !isOver || step < 3; step++) {
      const coins = 1 + Math.floor(draw() * 50);
      const isDebit = step % 3 === 2 && coins <= balance;
      const operation = isDebit ? 'debit' : 'credit';
      expect((await post(`/v1/coins/${operation}`, { installId, coins, key: `k${step}` })).status).toBe(200);
      book[isDebit ? 'out' : 'in'] += coins;
      balance += isDebit ? -coins : coins;
    }
    if (number % 4 === 0) {
      const { purchaseToken } = (await post('/sandbox/issue', { kind: 'purchase' })).body;
      expect((await post('/v1/purchases', { installId, store: 'google', purchaseToken })).status).toBe(200);
      book.bought += 500;
    }
    if (number % 4 === 1) {
      const { token } = (await post('/sandbox/issue', { kind: 'id_token', subject: freshId('subject') })).body;
      expect((await post('/v1/account/store-provision', { token, installId })).status).toBe(200);
    }
    if (number % 4 === 2) {
      const { confirm } = (await post('/v1/account/delete', { installId })).body;
      // After an answer that was lost the account is deleted already.
      expect([200, 410]).toContain((await post('/v1/account/delete', { installId, confirm })).status);
      book.deleted++;
    }
  };

  const playing = Promise.all(Array.from({ length: PLAYERS }, (_, number) => play(number)));
  for (let kill = 0; kill < KILLS; kill++) {
    await pause(400 + draw() * 600);
    const killed: Child = service;
    const [redis] = readFileSync(`/proc/${killed.pid}/task/${killed.pid}/children`, 'utf8').trim().split(' ').map(Number);
    if (kill % 2 === 0 && redis !== undefined) process.kill(redis, 'SIGKILL');
    else {
      service = undefined;
      await killed.stop('SIGKILL');
      service = await children.start(settings);
    }
  }
  isOver = true;
  await playing;

  const { out } = await runCommand('admin.ts', ['numbers', 'list', '--json'], { DATA_DIR: children.folder });
  const { days } = JSON.parse(out) as { days: Record<'coinsIn' | 'coinsOut', Record<string, number>>[] };
  const sum = (way: 'coinsIn' | 'coinsOut', type: string): number => days.reduce((all, day) => all + (day[way][type] ?? 0), 0);
  const deleted = (days as unknown as { deletedAccounts: number }[]).reduce((all, { deletedAccounts }) => all + deletedAccounts, 0);
  expect({
    in: sum('coinsIn', 'credit'),
    out: sum('coinsOut', 'debit'),
    bought: sum('coinsIn', 'topup'),
    deleted,
    moved: sum('coinsIn', 'merge') - sum('coinsOut', 'merge'),
  }).toEqual({ ...book, moved: 0 });
  expect(sum('coinsIn', 'merge')).toBeGreaterThan(0);
  const audit = await runAuditCommand(['--json', '--full-speed'], { DATA_DIR: children.folder });
  expect(JSON.parse(audit.out)).toMatchObject({
    findings: [],
    checked: { 'compared days': expect.toSatisfy((count: number) => count > 0) },
  });
});
