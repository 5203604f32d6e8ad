import { spawn } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { hostname, userInfo } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { addEntry } from '../../board-entries.ts';
import { accountIdOf } from '../../../src/accounts/ids.ts';
import { runAuditCommand } from '../../consistency/command.ts';
import { freshId, start, type TestService } from '../../harness.ts';
import { startChild } from '../../realtime/child.ts';
import { makeServerKey } from '../../server-keys.ts';
import { issue, signInToStore } from '../../store.ts';
import { adminPath, hasTerminals, openToolRedis, runAdmin, runAdminInTerminal, runInShell, type ToolRedis } from './command.ts';
import { childEnvironment } from '../../environment.ts';

/** `npm run admin -- accounts`, `boards`, `rooms` and `log` as processes, like an operator's. */

let tool: ToolRedis;
let settings: ToolRedis['settings'];
let redis: Redis;
let service: TestService;
beforeAll(async () => {
  tool = await openToolRedis();
  ({ settings, redis } = tool);
  service = await start({ redis: { url: settings.REDIS_URL }, settings: { ADMIN_API: 'on' } });
});
afterAll(async () => {
  await service[Symbol.asyncDispose]();
  await tool[Symbol.asyncDispose]();
});

const who = `${userInfo().username}@${hostname()}`;
const json = async (...words: string[]) => JSON.parse((await runAdmin([...words, '--json'], settings)).out);

async function account(coins: number): Promise<{ installId: string; accountId: string }> {
  const installId = freshId();
  await service.post('/v1/coins/credit', { installId, coins, key: 'first' });
  return { installId, accountId: accountIdOf(installId) };
}

test('two commands find and repair "I lost 50 coins"', async () => {
  const { installId, accountId } = await account(100);
  await service.post('/v1/coins/debit', { installId, coins: 50, key: 'hat' });
  const shown = await runAdmin(['accounts', 'show', installId], settings);
  expect([shown.code, shown.error]).toEqual([0, '']);
  expect(shown.out).toContain(`Account ${accountId}\n`);
  expect(shown.out).toMatch(/^balance +50$/m);
  expect(shown.out).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d  debit   -50    50       hat    -   -$/m);
  expect(shown.out).not.toContain(installId);
  const flags = ['--reason', 'paid twice for the hat', '--key', 'ticket-1', '--yes'];
  expect(await runAdmin(['accounts', 'adjust', installId, '50', ...flags], settings)).toEqual({
    code: 0,
    out: `The balance of ${accountId} is 100 now.\n`,
    error: '',
  });
  // Another operator repairs it at the same time.
  const again = await runAdmin(['accounts', 'adjust', accountId, '50', ...flags], settings);
  expect(again.out).toBe(`The key was used before, so nothing was changed: the balance of ${accountId} was 100 then, and is 100 now.\n`);
  expect((await json('accounts', 'history', accountId)).entries[0]).toMatchObject({
    type: 'adjust',
    by: who,
    reason: 'paid twice for the hat',
  });
  const log = await runAdmin(['log'], settings);
  expect(log.out).toMatch(/^NO +AT \(UTC\) +BY +CHANGE +OF +WHY +OUTCOME\n/);
  expect(log.out).toContain(`account=${accountId} coins=50 key=ticket-1  paid twice for the hat  done balanceAfterCoins=100`);
  expect(log.out).not.toContain(installId);
});

test('an adjustment may be negative, and a refusal has the figures and exit code 1', async () => {
  const { accountId } = await account(30);
  const adjust = (coins: string) => runAdmin(['accounts', 'adjust', accountId, coins, '--reason', 'test', '--key', 'a', '--yes'], settings);
  expect(await adjust('-31')).toEqual({
    code: 1,
    out: '',
    error:
      'coinop admin: The account has 30 coins: -31 would leave -1, and an adjustment takes no balance below 0. Nothing was changed (insufficient_coins).\n',
  });
  expect((await adjust('-30')).out).toBe(`The balance of ${accountId} is 0 now.\n`);
  expect((await adjust('1000000000001')).error).toContain('coins: Must be a whole number from -1000000000000 to 1000000000000, and not 0.');
});

test('invalid input is refused before the tool connects to Redis', async () => {
  const away = { REDIS_URL: 'redis://127.0.0.1:1' };
  const cases: [string[], string][] = [
    [['accounts', 'adjust', 'a'.repeat(22), '5', '--key', 'a', '--yes'], '"accounts adjust" needs --reason TEXT.'],
    [['accounts', 'adjust', 'a'.repeat(22), '5', '--reason', 'x', '--yes'], 'key: '],
    [['accounts', 'adjust', 'a'.repeat(22), '5.5', '--reason', 'x', '--key', 'a', '--yes'], 'coins: Must be a whole number'],
    [['accounts', 'adjust', 'a'.repeat(22), '1e3', '--reason', 'x', '--key', 'a', '--yes'], 'coins: Must be a whole number'],
    [['accounts', 'show', 'a b'], 'ACCOUNT: Must be an accountId'],
    [['accounts', 'show', 'a'.repeat(22), '--at', 'noon'], 'at: Must be a time such as 2026-11-22T12:00:00Z.'],
    [['accounts', 'sign-out', 'a'.repeat(22), '--reason', '\u001b[2J', '--yes'], 'reason: Must hold no control'],
    [['boards', 'reset', 'No Game', '--reason', 'x', '--yes'], 'game: '],
    [['boards', 'drop', 'tetris', 'first', '--reason', 'x', '--yes'], 'archive: Must be the number of an archive'],
    [['boards', 'list', 'tetris', '--from', '0'], 'from: Must be a place on the board'],
    [['log', '--limit', '0'], 'limit: Must be a whole number from 1 to 100.'],
  ];
  for (const [words, message] of cases) {
    const { code, error } = await runAdmin(words, away);
    expect([code, error]).toEqual([1, expect.stringContaining(`coinop admin: ${message}`)]);
  }
});

test.skipIf(!hasTerminals)('a change asks with all its effects, and is not logged without a yes', async () => {
  const { accountId } = await account(30);
  const { entries: before } = await json('log');
  const words = ['accounts', 'adjust', accountId, '-10', '--reason', 'test', '--key', 'a'];
  const { code, out } = await runAdminInTerminal(words, settings, 'n\n');
  expect(code).toBe(1);
  expect(out).toContain(`Remove 10 coins from the account ${accountId}, which has 30 and will have 20? Key: a. Reason: test [y/N]`);
  expect((await json('log')).entries).toEqual(before);
  expect((await runAdmin(words, settings)).error).toContain('add --yes');
});

test('an unknown account is reported, and a name of two accounts has to be made clear', async () => {
  expect(await runAdmin(['accounts', 'show', freshId()], settings)).toMatchObject({
    code: 1,
    error: 'coinop admin: There is no such account. It may be mistyped, or an install that never wrote anything.\n',
  });
  const { accountId } = await account(1);
  await service.post('/v1/login', { installId: accountId });
  expect((await runAdmin(['accounts', 'show', accountId], settings)).error).toContain('Two accounts have this name');
  expect((await json('accounts', 'show', `account:${accountId}`)).balanceCoins).toBe(1);
  expect((await json('accounts', 'show', `install:${accountId}`)).balanceCoins).toBe(0);
});

test('on a Redis that no service has used, the tool reports that there is no data', async () => {
  const empty = { REDIS_URL: `${settings.REDIS_URL}/5` };
  for (const words of [
    ['accounts', 'find', 'install-0001'],
    ['accounts', 'show', 'install-0001'],
    ['rooms', 'show', 'BCDFG'],
  ]) {
    const { code, error } = await runAdmin(words, empty);
    expect([code, error]).toEqual([
      1,
      expect.stringContaining('No service of this version has run on this data. Is it the Redis of your service'),
    ]);
  }
});

test('a store subject names its current account, or else the deleted one', async () => {
  const subject = freshId('user');
  const { body, cookies } = await signInToStore(service, subject);
  const token = async (): Promise<string> => (await issue(service, { kind: 'id_token', subject })).token;
  const { confirm } = (await service.post('/v1/account/delete', { token: await token() }, { cookies })).body;
  await service.post('/v1/account/delete', { token: await token(), confirm }, { cookies });
  expect((await runAdmin(['accounts', 'show', `sandbox:${subject}`], settings)).error).toContain(
    'coinop admin: This account was deleted at ',
  );
  const again = await signInToStore(service, subject);
  expect(again.body.accountId).not.toBe(body.accountId);
  expect((await json('accounts', 'show', `sandbox:${subject}`)).accountId).toBe(again.body.accountId);
});

test('a change that an account refuses has exit code 1, like any other refusal', async () => {
  const { accountId } = await account(1);
  await runAdmin(['accounts', 'ban', accountId, '--reason', 'test', '--yes'], settings);
  const adjusted = await runAdmin(['accounts', 'adjust', accountId, '1', '--reason', 'test', '--key', 'a', '--yes'], settings);
  expect(adjusted).toEqual({ code: 1, out: '', error: 'coinop admin: This account is banned. Nothing was changed (account_banned).\n' });
});

test('an operator who shares a user of the operating system with others gives a name, and the log has both', async () => {
  const { accountId } = await account(1);
  await runAdmin(['accounts', 'adjust', accountId, '1', '--reason', 'test', '--key', 'a', '--by', 'zoë', '--yes'], settings);
  expect((await json('accounts', 'history', accountId)).entries[0].by).toBe(`zoë as ${who}`);
  expect((await json('log', '--limit', '1')).entries[0].by).toBe(`zoë as ${who}`);
});

test('a change whose result cannot be shown is not reported as refused, nor is a look into a closed pipe', async () => {
  const { accountId } = await account(1);
  const adjusted = await runInShell(`admin accounts adjust ${accountId} 1 --reason test --key a --yes >/dev/full`, settings);
  expect([adjusted.code, adjusted.error]).toEqual([
    2,
    expect.stringMatching(/^coinop admin: The change was made: "log" has it\. Its result could not be shown: ENOSPC.*\n$/),
  ]);
  expect((await json('accounts', 'show', accountId)).balanceCoins).toBe(2);
  const looked = await runInShell(`admin accounts show ${accountId} | true`, settings);
  expect([looked.code, looked.error]).toEqual([0, '']);
});

test('an account can be named on standard input, so that its installId appears in no shell history or process list', async () => {
  const { accountId, installId } = await account(1);
  expect((await runInShell(`echo ${installId} | admin accounts find -`, settings)).out).toContain(`${accountId}  installId`);
  const change = 'admin accounts adjust - 5 --reason test --key a --yes';
  expect((await runInShell(`echo ' ${installId} ' | ${change}`, settings)).out).toBe(`The balance of ${accountId} is 6 now.\n`);
  expect(await runInShell(`${change} </dev/null`, settings)).toMatchObject({
    code: 1,
    error: 'coinop admin: Standard input has no ACCOUNT. Nothing was changed.\n',
  });
});

test.skipIf(!hasTerminals)(
  'a terminal asks for the account, does not show what is typed, and a terminal without a width gets whole tables',
  async () => {
    const { accountId, installId } = await account(1);
    const { code, out } = await runAdminInTerminal(['accounts', 'find', '-'], settings, `${installId}\n`, 'WHO (it is not shown): ');
    expect([code, out]).toEqual([0, expect.not.stringContaining(installId)]);
    expect(out).toMatch(new RegExp(`\\nACCOUNT +FOUND BY .*\\r\\n${accountId}  installId `));
  },
);

test('Ctrl-C before the change ends the tool, also while Redis does not answer', async () => {
  const { accountId } = await account(1);
  const { entries: before } = await json('log');
  const words = ['accounts', 'sign-out', accountId, '--reason', 'test', '--yes'];
  // Redis stops answering at the tool's first script, or at its very first command.
  for (const pattern of [/EVALSHA/, /./]) {
    const stuck = new EventEmitter<{ stuck: [] }>();
    await using proxy = await proxyTo(Number(new URL(settings.REDIS_URL).port), pattern, () => stuck.emit('stuck'));
    const child = spawn(process.execPath, [adminPath, ...words], {
      env: childEnvironment({ REDIS_URL: proxy.url }),
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let error = '';
    child.stderr.on('data', (text: Buffer) => void (error += text.toString()));
    stuck.once('stuck', () => child.kill('SIGINT'));
    const [code] = await once(child, 'close');
    expect([code, error]).toEqual([1, 'coinop admin: Stopped by SIGINT. Nothing was changed.\n']);
  }
  expect((await json('log')).entries).toEqual(before);
});

/** A proxy to Redis that stops passing data at a given command. */
async function proxyTo(port: number, pattern: RegExp, stuck: () => void): Promise<AsyncDisposable & { readonly url: string }> {
  let isStuck = false;
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const redisSocket = connect(port, '127.0.0.1');
    for (const [socket, other] of [[client, redisSocket] as const, [redisSocket, client] as const]) {
      sockets.add(socket.on('error', () => {}).on('close', () => other.destroy()));
    }
    client.on('data', (bytes) => {
      if (!isStuck && pattern.test(bytes.toString())) {
        isStuck = true;
        stuck();
      }
      if (!isStuck) redisSocket.write(bytes);
    });
    redisSocket.on('data', (bytes) => client.write(bytes));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `redis://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

describe('the tool and the HTTP API', () => {
  test('answer with the same JSON', async () => {
    const { token } = await makeServerKey(service, ['admin']);
    const { accountId } = await account(30);
    const game = freshId('game').toLowerCase();
    await service.post(`/v1/highscores/${game}`, { installId: freshId(), score: 5, name: 'Ada' });
    await service.post('/v1/rooms', { installId: freshId() });
    const { room } = (await service.post('/v1/rooms', { installId: freshId() })).body;
    const pairs: [string[], string][] = [
      [['accounts', 'show', accountId], `/accounts/${accountId}`],
      [['accounts', 'history', accountId], `/accounts/${accountId}/history`],
      [['accounts', 'explain', accountId], `/accounts/${accountId}/explain`],
      [['boards', 'list', game], `/boards/${game}`],
      [['rooms', 'show', room.code], `/rooms/${room.code}`],
      [['log'], '/log'],
    ];
    for (const [words, path] of pairs) {
      const { body } = await service.get(`/v1/admin${path}`, { bearer: token });
      expect({ ok: true, ...(await json(...words)) }).toEqual(body);
    }
  });
});

test('names in Redis cannot control the terminal, in a table or in JSON', async () => {
  const name = '\u001b[2J\u009b31m\u202e\n\r\t\u0000';
  const game = freshId('game').toLowerCase();
  await addEntry(redis, game, 'a'.repeat(22), 1, name);
  await redis.rpush('{operator-log}', JSON.stringify({ at: 1, by: name, action: name, what: { [name]: name }, why: name }));
  const { accountId } = await account(1);
  await redis.hset(`{${accountId}}:account`, 'purchases', `hash active 1 1 1 ${name.replaceAll(/\s/g, '')}`);
  for (const words of [['boards', 'list', game], ['log'], ['accounts', 'show', accountId], ['accounts', 'explain', accountId]])
    for (const flags of [[], ['--json']]) {
      const { code, out } = await runAdmin([...words, ...flags], settings);
      expect([words, code]).toEqual([words, 0]);
      expect(out.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}\p{Cs}]/u);
    }
  const removed = await runAdmin(['boards', 'remove', game, 'a'.repeat(22), '--reason', 'test', '--yes'], settings);
  expect(removed.code).toBe(0);
  expect(removed.out.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}\p{Cs}]/u);
  await redis.rpop('{operator-log}');
  await redis.del(`{${accountId}}:account`, `{${accountId}}:ledger`, `{${accountId}}:index:0`);
});

test('the tool says that data may be damaged, and names the audit', async () => {
  const { accountId } = await account(1);
  await redis.hset(`{${accountId}}:account`, 'createdAt', 'damaged');
  const { code, error } = await runAdmin(['accounts', 'find', accountId], settings);
  expect([code, error]).toEqual([2, expect.stringMatching(/^coinop admin: Data in Redis may be damaged: "npm run audit" tells where\./)]);
  await redis.del(`{${accountId}}:account`, `{${accountId}}:ledger`, `{${accountId}}:index:0`);
});

test('the help of each group names its commands', async () => {
  for (const group of ['accounts', 'boards', 'rooms', 'keys', 'log']) {
    const { code, out } = await runAdmin([group, '--help'], settings);
    expect([code, out]).toEqual([0, expect.stringContaining(`  ${group} `)]);
  }
});

test('an audit finds nothing after removals, resets and adjustments', async () => {
  const game = freshId('game').toLowerCase();
  const installId = freshId();
  for (const score of [3, 2, 1])
    await service.post(`/v1/highscores/${game}`, { installId: score === 3 ? installId : freshId(), score, name: 'Ada' });
  await runAdmin(['boards', 'remove', game, accountIdOf(installId), '--reason', 'test', '--yes'], settings);
  expect((await runAdmin(['boards', 'reset', game, '--reason', 'test', '--yes'], settings)).out).toBe(
    `The board of ${game} is empty. Archive 1 has its 2 entries.\n`,
  );
  const { room } = (await service.post('/v1/rooms', { installId })).body;
  expect((await runAdmin(['rooms', 'end', room.code, '--reason', 'test', '--yes'], settings)).out).toBe(
    `The room ${room.code} has ended.\n`,
  );
  const { code, out } = await runAuditCommand([], settings);
  expect(out).not.toContain('board_without_player');
  expect([code, out]).toEqual([0, expect.any(String)]);
  await runAdmin(['boards', 'drop', game, '1', '--reason', 'test', '--yes'], settings);
  expect((await runAuditCommand([], settings)).code).toBe(0);
});

test('the tool works on the private Redis of a running and of a stopped service', async () => {
  const own = { DATA_DIR: join(tool.folder, 'data'), NODE_ENV: 'test' };
  const child = await startChild(own);
  const installId = freshId();
  const body = JSON.stringify({ installId, coins: 10, key: 'a' });
  await fetch(`${child.url}/v1/coins/credit`, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
  const adjust = (key: string) =>
    runAdmin(['accounts', 'adjust', installId, '5', '--reason', 'test', '--key', key, '--yes', '--json'], own);
  expect(JSON.parse((await adjust('one')).out).balanceAfterCoins).toBe(15);
  await child.stop();
  expect(JSON.parse((await adjust('two')).out).balanceAfterCoins).toBe(20);
  const again = await startChild(own);
  const reply = await fetch(`${again.url}/v1/balance?installId=${installId}`);
  expect(await reply.json()).toMatchObject({ balanceCoins: 20 });
  await again.stop();
});
