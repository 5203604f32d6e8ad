import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { accountIdOf } from '../../../src/accounts/ids.ts';
import { childEnvironment } from '../../environment.ts';
import { forFile, freshId, start } from '../../harness.ts';
import { signInToStore } from '../../store.ts';
import { makeServerKey } from '../../server-keys.ts';
import { deskOf } from '../parts.ts';
import { adminPath, hasTerminals, openToolRedis, runAdmin, runAdminInTerminal } from './command.ts';

/** `npm run admin -- coins grant`, as a process, like an operator's. */

// A command takes some seconds on a busy machine.
vi.setConfig({ testTimeout: 240_000 });

const { settings, folder } = await forFile(openToolRedis());
const service = await forFile(start({ redis: { url: settings.REDIS_URL }, settings: { ADMIN_API: 'on' } }));
const { read, change } = await deskOf(service);

async function account(): Promise<{ installId: string; accountId: string }> {
  const installId = freshId();
  await service.post('/v1/coins/credit', { installId, coins: 5, key: 'first' });
  return { installId, accountId: accountIdOf(installId) };
}

const balanceOf = async (installId: string): Promise<number> => (await service.get(`/v1/balance?installId=${installId}`)).body.balanceCoins;

function fileOf(name: string, lines: readonly string[]): string {
  const path = join(folder, name);
  writeFileSync(path, lines.join('\n'));
  return path;
}

const words = (path: string, key: string, ...more: string[]): string[] => [
  ...['coins', 'grant', '--file', path, '--coins', '20', '--key', key, '--reason', 'outage of 3 November', ...more],
];
const reportOf = (path: string): string[] => readFileSync(`${path}.report.csv`, 'utf8').trimEnd().split('\n');

describe('coins grant', () => {
  test('checks first, then grants coins to every account that can get them, with a report of every line', async () => {
    const [one, two, banned, guest] = [await account(), await account(), await account(), await account()];
    await change(`/accounts/${banned.accountId}/ban`);
    const moved = (await signInToStore(service, freshId('user'), { installId: guest.installId })).body.accountId;
    const never = accountIdOf(freshId());
    const path = fileOf('mixed.csv', ['accountId', ...[one, two, banned, guest, one].map((each) => each.accountId), moved, never]);
    const dry = await runAdmin(words(path, 'comp-1', '--dry-run'), settings);
    expect([dry.code, dry.error]).toEqual([0, '']);
    expect(dry.out).toBe(
      [
        'lines                                7',
        'to grant                             3 accounts × 20 = 60 coins',
        `moved, so another account gets them  1: ${guest.accountId} (line 5)`,
        'have them under this key             0',
        `banned                               1: ${banned.accountId} (line 4)`,
        'deleted                              0',
        `unknown                              1: ${never} (line 8)`,
        'refused                              0',
        `named by an earlier line too         2: ${one.accountId} (line 6), ${moved} (line 7)`,
        '',
        `Nothing was changed. ${path}.report.csv has every line.`,
        '',
      ].join('\n'),
    );
    expect(reportOf(path)[1]).toBe(`2,${one.accountId},to_grant,,,,`);
    expect(await balanceOf(one.installId)).toBe(5);
    const { code, out, error } = await runAdmin(words(path, 'comp-1', '--yes'), settings);
    expect([code, error.split('\n')[1]]).toEqual([0, 'to grant                             3 accounts × 20 = 60 coins']);
    expect(out).toBe(`Granted to 3 accounts, 60 coins in sum; 0 had them under this key.\n\n${path}.report.csv has every line.\n`);
    expect(reportOf(path)).toEqual([
      'line,accountId,outcome,coins,balanceAfterCoins,movedTo,detail',
      `2,${one.accountId},granted,20,25,,`,
      `3,${two.accountId},granted,20,25,,`,
      `4,${banned.accountId},banned,,,,`,
      `5,${guest.accountId},granted,20,25,${moved},`,
      `6,${one.accountId},repeated,,,,line 2`,
      `7,${moved},repeated,,,,line 5`,
      `8,${never},unknown,,,,`,
    ]);
    expect((await read('/log?limit=1')).body.entries[0]).toMatchObject({
      action: 'coins grant',
      what: { file: 'mixed.csv', accounts: 3, coinsEach: 20, coins: 60, key: 'comp-1' },
      why: 'outage of 3 November',
      outcome: { word: 'done', granted: 3 },
    });
    expect(await balanceOf(one.installId)).toBe(25);
  });

  test.skipIf(!hasTerminals)('asks for the number of accounts, and accepts no other answer', async () => {
    const [one, two] = [await account(), await account()];
    const path = fileOf('asked.csv', ['installId', one.installId, two.installId]);
    const prompt = 'Type 2 to go on:';
    const refused = await runAdminInTerminal(words(path, 'comp-2'), settings, 'y\n', prompt);
    expect([refused.code, await balanceOf(one.installId)]).toEqual([1, 5]);
    expect(refused.out).toContain(
      'Grant 20 coins to each of 2 accounts, 40 in sum? Key: comp-2. Reason: outage of 3 November. Type 2 to go on:',
    );
    expect(refused.out).not.toContain(one.installId);
    expect((await runAdminInTerminal(words(path, 'comp-2'), settings, '2\n', prompt)).code).toBe(0);
    expect([await balanceOf(one.installId), await balanceOf(two.installId)]).toEqual([25, 25]);
  });

  test('gives each account its coins once, also if it is killed within 3,000 accounts and then stopped', async () => {
    const installIds: string[] = [];
    for (let from = 0; from < 3000; from += 100)
      installIds.push(...(await Promise.all(Array.from({ length: 100 }, async () => (await account()).installId))));
    const path = fileOf('many.csv', ['installId', ...installIds]);
    /** How many accounts have the coins. No account has them twice. */
    const granted = async (): Promise<number> => {
      const balances = await Promise.all(installIds.map(balanceOf));
      expect(balances.filter((balance) => balance !== 5 && balance !== 25)).toEqual([]);
      return balances.filter((balance) => balance === 25).length;
    };
    // Each run prints its progress line after a second, after grants to some 1,000 accounts.
    for (const signal of ['SIGKILL', 'SIGINT'] as const) {
      const child = spawn(process.execPath, [adminPath, ...words(path, 'comp-3', '--yes')], { env: childEnvironment(settings) });
      const ended = once(child, 'close');
      await shows(child, /Granted to \d+ of/);
      child.kill(signal);
      expect(await ended).toEqual(signal === 'SIGKILL' ? [null, 'SIGKILL'] : [2, null]);
      const count = await granted();
      expect(count).toBeGreaterThan(0);
      expect(count).toBeLessThan(3000);
    }
    expect(reportOf(path).filter((line) => line.includes(',not_granted,')).length).toBeGreaterThan(0);
    const last = await runAdmin(words(path, 'comp-3', '--yes', '--json'), settings);
    const { outcomes } = JSON.parse(last.out);
    expect([outcomes.granted + outcomes.replayed, await granted()]).toEqual([3000, 3000]);
    expect(reportOf(path)).toHaveLength(3001);
  });
});

describe('coins take-back', () => {
  const backWords = (path: string, key: string, ...more: string[]): string[] => [
    ...['coins', 'take-back', '--file', path, '--key', key, '--reason', 'wrong file', ...more],
  ];

  test('takes a grant back by its report, down to what each account still has, and says what it found', async () => {
    const [one, spent, banned] = [await account(), await account(), await account()];
    await change(`/accounts/${banned.accountId}/ban`);
    const never = accountIdOf(freshId());
    const path = fileOf('wrong.csv', ['accountId', ...[one, spent, banned].map(({ accountId }) => accountId), never]);
    expect((await runAdmin(words(path, 'wrong-1', '--yes'), settings)).code).toBe(0);
    await service.post('/v1/coins/debit', { installId: spent.installId, coins: 17, key: 'hat' });
    const report = `${path}.report.csv`;
    const dry = await runAdmin(backWords(report, 'wrong-1', '--dry-run'), settings);
    expect([dry.code, dry.out]).toEqual([
      0,
      [
        'lines                                      4',
        'columns that are not read                  line, outcome, coins, balanceAfterCoins, movedTo, detail',
        'to take back                               2 accounts, 28 coins',
        'moved, so another account gives them back  0',
        'gave them back before                      0',
        'deleted                                    0',
        `no grant under this key                    2: ${banned.accountId} (line 4), ${never} (line 5)`,
        'named by an earlier line too               0',
        '',
        `Nothing was changed. ${report}.report.csv has every line.`,
        '',
      ].join('\n'),
    ]);
    const { code, out } = await runAdmin(backWords(report, 'wrong-1', '--yes'), settings);
    expect([code, out]).toEqual([
      0,
      `Taken back from 2 accounts, 28 coins in sum; 0 gave them back before.\n\n${report}.report.csv has every line.\n`,
    ]);
    expect(reportOf(report).slice(1, 3)).toEqual([`2,${one.accountId},taken,20,5,,`, `3,${spent.accountId},taken,8,0,,`]);
    expect((await read('/log?limit=1')).body.entries[0]).toMatchObject({
      action: 'coins take-back',
      what: { file: 'wrong.csv.report.csv', accounts: 2, coins: 28, key: 'wrong-1' },
      outcome: { word: 'done', coins: 28, taken: 2 },
    });
    // Once: nothing is left to do, into debt neither.
    const again = await runAdmin(backWords(report, 'wrong-1', '--into-debt', '--yes'), settings);
    expect([again.code, again.out]).toEqual([0, expect.stringContaining('gave them back before                      2: ')]);
    expect([await balanceOf(one.installId), await balanceOf(spent.installId)]).toEqual([5, 0]);
  });

  test('takes each grant back once, also if it is killed within 2,000 accounts and run again', async () => {
    const installIds: string[] = [];
    for (let from = 0; from < 2000; from += 100)
      installIds.push(...(await Promise.all(Array.from({ length: 100 }, async () => (await account()).installId))));
    const path = fileOf('many-back.csv', ['installId', ...installIds]);
    expect((await runAdmin(words(path, 'wrong-2', '--yes'), settings)).code).toBe(0);
    const child = spawn(process.execPath, [adminPath, ...backWords(path, 'wrong-2', '--yes')], { env: childEnvironment(settings) });
    const ended = once(child, 'close');
    await shows(child, /Taken back from \d+ of/);
    child.kill('SIGKILL');
    expect(await ended).toEqual([null, 'SIGKILL']);
    const done = async (): Promise<number> => {
      const balances = await Promise.all(installIds.map(balanceOf));
      expect(balances.filter((balance) => balance !== 5 && balance !== 25)).toEqual([]);
      return balances.filter((balance) => balance === 5).length;
    };
    const before = await done();
    expect(before).toBeGreaterThan(0);
    expect(before).toBeLessThan(2000);
    const last = JSON.parse((await runAdmin(backWords(path, 'wrong-2', '--yes', '--json'), settings)).out);
    expect([last.outcomes, last.coins, await done()]).toEqual([{ taken: 2000 - before, replayed: before }, 20 * (2000 - before), 2000]);
  });
});

test('with OPERATOR_KEY the bounds of coins hold for files too, and nothing is changed beyond them', async () => {
  const { token } = await makeServerKey(service, ['admin'], { role: 'economist' });
  const accounts = await Promise.all(Array.from({ length: 3 }, account));
  const path = fileOf('bounded.csv', ['accountId', ...accounts.map(({ accountId }) => accountId)]);
  const run = (key: string, more: Record<string, string>) =>
    runAdmin(words(path, key, '--yes'), { ...settings, OPERATOR_KEY: token, ...more });
  const day = { ECONOMIST_DAILY_COINS: '100' };
  expect((await run('bounded-1', day)).code).toBe(0);
  // The same again is counted once.
  expect((await run('bounded-1', day)).code).toBe(0);
  const over = await run('bounded-2', day);
  expect([over.code, over.error]).toEqual([1, expect.stringContaining('has corrected 60 coins today, of 100 (ECONOMIST_DAILY_COINS)')]);
  const two = await run('bounded-2', { TWO_PERSON_COINS: '50' });
  expect([two.code, two.error]).toEqual([1, expect.stringContaining('This needs the yes of a second person')]);
  for (const { installId } of accounts) expect(await balanceOf(installId)).toBe(25);
  // Whoever has access to Redis stands outside.
  expect((await runAdmin(words(path, 'bounded-2', '--yes'), { ...settings, TWO_PERSON_COINS: '50' })).code).toBe(0);
});

/** Resolves when the process has written the text to standard error. */
async function shows(child: ChildProcess, text: RegExp): Promise<void> {
  let said = '';
  for await (const piece of child.stderr!) {
    said += String(piece);
    if (text.test(said)) return;
  }
  throw new Error(`It ended before: ${said}`);
}
