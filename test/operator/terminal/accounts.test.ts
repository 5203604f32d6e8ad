import { spawn } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { hostname, userInfo } from 'node:os';
import { expect, test, vi } from 'vitest';
import { addEntry } from '../../board-entries.ts';
import { childEnvironment } from '../../environment.ts';
import { forFile, freshId, start } from '../../harness.ts';
import { deskOf } from '../parts.ts';
import { adminPath, hasTerminals, openToolRedis, runAdmin, runAdminInTerminal, runInShell } from './command.ts';

/** `npm run admin -- accounts`, `boards`, `rooms` and `log` as processes, like an operator's. */

// A command takes some seconds on a busy machine, and a test runs up to twenty.
vi.setConfig({ testTimeout: 240_000 });

const { settings, redis } = await forFile(openToolRedis());
const service = await forFile(start({ redis: { url: settings.REDIS_URL }, settings: { ADMIN_API: 'on' } }));
const { read, account } = await deskOf(service);

const who = `${userInfo().username}@${hostname()}`;
const admin = (...words: string[]) => runAdmin(words, settings);
const json = async (...words: string[]) => JSON.parse((await admin(...words, '--json')).out);
const change = ['--reason', 'test', '--yes'];
const adjust = (accountId: string, coins: string, ...more: string[]) => admin('accounts', 'adjust', accountId, coins, ...change, ...more);
const forget = (accountId: string) => redis.del(`{${accountId}}:account`, `{${accountId}}:ledger`, `{${accountId}}:index:0`);

test('two commands find and repair "I lost 50 coins"', async () => {
  const { installId, accountId } = await account(100);
  await service.post('/v1/coins/debit', { installId, coins: 50, key: 'hat' });
  const shown = await admin('accounts', 'show', installId);
  expect([shown.code, shown.error]).toEqual([0, '']);
  expect(shown.out).toContain(`Account ${accountId}\n`);
  expect(shown.out).toMatch(/^Balance +50$/m);
  expect(shown.out).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d  debit +-50 +50 +hat +- +-$/m);
  expect(shown.out).not.toContain(installId);
  const flags = ['50', '--reason', 'paid twice for the hat', '--key', 'ticket-1', '--yes'];
  const adjusted = await admin('accounts', 'adjust', installId, ...flags, '--by', 'zoë');
  expect(adjusted).toEqual({ code: 0, out: `The balance of ${accountId} is 100 now.\n`, error: '' });
  // Another operator repairs it at the same time.
  const again = await admin('accounts', 'adjust', accountId, ...flags);
  expect(again.out).toBe(`The key was used before, so nothing was changed: the balance of ${accountId} was 100 then, and is 100 now.\n`);
  // An operator who shares a user of the operating system with others gives a name.
  const entry = { type: 'adjust', by: `zoë as ${who}`, reason: 'paid twice for the hat' };
  expect((await json('accounts', 'history', accountId)).entries[0]).toMatchObject(entry);
  const log = await admin('log');
  expect(log.out).toMatch(/^NO +AT \(UTC\) +BY +CHANGE +OF +WHY +OUTCOME\n/);
  expect(log.out).toContain(`account=${accountId} coins=50 key=ticket-1  paid twice for the hat  done balanceAfterCoins=100`);
  expect(log.out).not.toContain(installId);
});

test('a change that the account refuses has exit code 1 and the figures', async () => {
  const { accountId } = await account(30);
  expect(await adjust(accountId, '-31', '--key', 'a')).toEqual({
    code: 1,
    out: '',
    error:
      'coinop admin: The account has 30 coins: -31 would leave -1, and an adjustment takes no balance below 0. Nothing was changed (insufficient_coins).\n',
  });
  expect((await adjust(accountId, '-30', '--key', 'a')).out).toBe(`The balance of ${accountId} is 0 now.\n`);
});

test('invalid input is refused before the tool connects to Redis', async () => {
  const id = 'a'.repeat(22);
  for (const [words, message] of [
    [['accounts', 'adjust', id, '5', '--key', 'a', '--yes'], '"accounts adjust" needs --reason TEXT.'],
    [['accounts', 'adjust', id, '1e3', '--reason', 'x', '--key', 'a', '--yes'], 'coins: Must be a whole number'],
    [['accounts', 'show', id, '--at', 'noon'], 'at: Must be a time such as 2026-11-22T12:00:00Z.'],
    [['accounts', 'sign-out', id, '--reason', '\u001b[2J', '--yes'], 'reason: Must hold no control'],
    [['boards', 'drop', 'tetris', 'first', '--reason', 'x', '--yes'], 'archive: Must be the number of an archive'],
    [['log', '--limit', '0'], 'limit: Must be a whole number from 1 to 100.'],
  ] as const) {
    const { code, error } = await runAdmin(words, { REDIS_URL: 'redis://127.0.0.1:1' });
    expect([code, error]).toEqual([1, expect.stringContaining(`coinop admin: ${message}`)]);
  }
});

test('an unknown account is reported, and a name of two accounts has to be made clear', async () => {
  expect(await admin('accounts', 'show', freshId())).toMatchObject({
    code: 1,
    error: 'coinop admin: There is no such account. It may be mistyped, or an install that never wrote anything.\n',
  });
  const { accountId } = await account(1);
  await service.post('/v1/login', { installId: accountId });
  expect((await admin('accounts', 'show', accountId)).error).toContain('Two accounts have this name');
  expect((await json('accounts', 'show', `account:${accountId}`)).balanceCoins).toBe(1);
  expect((await json('accounts', 'show', `install:${accountId}`)).balanceCoins).toBe(0);
});

test('on a Redis that no service has used, the tool reports that there is no data', async () => {
  const { code, error } = await runAdmin(['rooms', 'show', 'BCDFG'], { REDIS_URL: `${settings.REDIS_URL}/5` });
  const message = 'No service of this version has run on this data. Is it the Redis of your service';
  expect([code, error]).toEqual([1, expect.stringContaining(message)]);
});

test('a change whose result cannot be shown is not reported as refused, nor is a read into a closed pipe', async () => {
  const { accountId } = await account(1);
  const adjusted = await runInShell(`admin accounts adjust ${accountId} 1 --reason test --key a --yes >/dev/full`, settings);
  const message = /^coinop admin: The change was made: "log" has it\. Its result could not be shown: ENOSPC.*\n$/;
  expect([adjusted.code, adjusted.error]).toEqual([2, expect.stringMatching(message)]);
  expect((await json('accounts', 'show', accountId)).balanceCoins).toBe(2);
  const looked = await runInShell(`admin accounts show ${accountId} | true`, settings);
  expect([looked.code, looked.error]).toEqual([0, '']);
});

test('an account can be named on standard input, so that its installId appears in no shell history or process list', async () => {
  const { accountId, installId } = await account(1);
  expect((await runInShell(`echo ${installId} | admin accounts find -`, settings)).out).toContain(`${accountId}  installId`);
  const line = 'admin accounts adjust - 5 --reason test --key a --yes';
  expect((await runInShell(`echo ' ${installId} ' | ${line}`, settings)).out).toBe(`The balance of ${accountId} is 6 now.\n`);
  const none = await runInShell(`${line} </dev/null`, settings);
  expect([none.code, none.error]).toEqual([1, 'coinop admin: Standard input has no ACCOUNT. Nothing was changed.\n']);
  if (!hasTerminals) return;
  // A terminal does not show what is typed, and one without a width gets whole tables.
  const { code, out } = await runAdminInTerminal(['accounts', 'find', '-'], settings, `${installId}\n`, 'WHO (it is not shown): ');
  expect([code, out]).toEqual([0, expect.not.stringContaining(installId)]);
  expect(out).toMatch(new RegExp(`\\nACCOUNT +FOUND BY .*\\r\\n${accountId}  installId `));
});

test('Ctrl-C ends the tool while Redis does not answer, and nothing was changed', async () => {
  const received = new EventEmitter<{ command: [] }>();
  const silent = createServer((socket) => socket.on('error', () => {}).on('data', () => received.emit('command'))).listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const env = childEnvironment({ REDIS_URL: `redis://127.0.0.1:${(silent.address() as AddressInfo).port}` });
  const words = ['accounts', 'sign-out', 'a'.repeat(22), ...change];
  const child = spawn(process.execPath, [adminPath, ...words], { env, stdio: ['ignore', 'ignore', 'pipe'] });
  let error = '';
  child.stderr.on('data', (text: Buffer) => void (error += text.toString()));
  received.once('command', () => child.kill('SIGINT'));
  const [code] = await once(child, 'close');
  silent.close();
  expect([code, error]).toEqual([1, 'coinop admin: Stopped by SIGINT. Nothing was changed.\n']);
});

test('the tool and the HTTP API answer with the same JSON', async () => {
  const { accountId, installId } = await account(30);
  const game = freshId('game').toLowerCase();
  await service.post(`/v1/highscores/${game}`, { installId, score: 5, name: 'Ada' });
  const { room } = (await service.post('/v1/rooms', { installId })).body;
  for (const [words, path] of [
    [['accounts', 'show', accountId], `/accounts/${accountId}`],
    [['accounts', 'history', accountId], `/accounts/${accountId}/history`],
    [['accounts', 'explain', accountId], `/accounts/${accountId}/explain`],
    [['boards', 'list', game], `/boards/${game}`],
    [['rooms', 'show', room.code], `/rooms/${room.code}`],
    [['log'], '/log'],
  ] as const)
    expect({ ok: true, ...(await json(...words)) }).toEqual((await read(path)).body);
  // Its changes end in a sentence.
  expect((await admin('rooms', 'end', room.code, ...change)).out).toBe(`The room ${room.code} has ended.\n`);
  expect((await admin('boards', 'reset', game, ...change)).out).toBe(`The board of ${game} is empty. Archive 1 has its 1 entry.\n`);
});

test('names in Redis cannot control the terminal, in a table or in JSON', async () => {
  const name = '\u001b[2J\u009b31m\u202e\n\r\t\u0000';
  const game = freshId('game').toLowerCase();
  await addEntry(redis, game, 'a'.repeat(22), 1, name);
  await redis.rpush('{operator-log}', JSON.stringify({ at: 1, by: name, action: name, what: { [name]: name }, why: name }));
  const { accountId } = await account(1);
  await redis.hset(`{${accountId}}:account`, 'purchases', `hash active 1 1 1 ${name.replaceAll(/\s/g, '')}`);
  for (const words of [
    ['boards', 'list', game],
    ['log'],
    ['log', '--json'],
    ['accounts', 'show', accountId],
    ['accounts', 'explain', accountId],
    ['boards', 'remove', game, 'a'.repeat(22), ...change],
  ]) {
    const { code, out } = await admin(...words);
    expect([words, code]).toEqual([words, 0]);
    expect(out.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}\p{Cs}]/u);
  }
  await redis.rpop('{operator-log}');
  await forget(accountId);
});

test('the tool shows what can be read of damaged data, says what cannot, and names the audit', async () => {
  const { accountId } = await account(1);
  await redis.hset(`{${accountId}}:account`, 'createdAt', 'damaged');
  const { code, out } = await admin('accounts', 'find', accountId);
  expect([code, out]).toEqual([0, expect.stringMatching(/npm run audit/)]);
  expect(out).toContain(accountId);
  await forget(accountId);
});
