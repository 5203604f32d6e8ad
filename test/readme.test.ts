import { execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test, vi } from 'vitest';
import { readConfig, settingNames } from '../src/config.ts';
import { closeCodes } from '../src/server/live/feed.ts';
import { freshId, start, type TestService } from './harness.ts';
import { startRedis } from './own-redis.ts';
import { countAnswers, firstTour, storeTour, tourScript, tourSettings } from './tour.ts';

const root = new URL('..', import.meta.url).pathname;
const readme = readFileSync(join(root, 'README.md'), 'utf8');
const example = readFileSync(join(root, '.env.example'), 'utf8');

describe('settings', () => {
  test('each stands in the README and in .env.example, and no others do', () => {
    const table = readme.slice(readme.indexOf('## Settings'), readme.indexOf('## What is promised'));
    const inReadme = [...table.matchAll(/^\| (`[A-Z_`, ]+`) \|/gm)].flatMap(([, cell]) =>
      [...cell!.matchAll(/`(\w+)`/g)].map(([, name]) => name),
    );
    const inExample = [...example.matchAll(/^(?:# )?([A-Z_]+)=/gm)].map(([, name]) => name);
    expect(inReadme.sort()).toEqual([...settingNames].sort());
    expect(inExample.sort()).toEqual([...settingNames].sort());
  });

  test('compose.yaml asks for each that production requires, and .env.example leaves it to be filled in', () => {
    const compose = readFileSync(join(root, 'compose.yaml'), 'utf8');
    let required: string[] = [];
    try {
      readConfig({ NODE_ENV: 'production' });
    } catch (error) {
      required = (error as Error).message.split('\n').map((line) => line.split(' ')[0]!);
    }
    expect(required).toEqual(['SESSION_KEYS', 'PUBLIC_URL']);
    for (const name of required) {
      expect(compose).toContain(`${name}: \${${name}:?`);
      expect(example).toMatch(new RegExp(`^${name}=$`, 'm'));
    }
  });
});

test('every folder and file that the README names is there', () => {
  const tree = readme.slice(readme.indexOf('## The house'), readme.indexOf('### Add an endpoint'));
  for (const [, name] of tree.matchAll(/^ {2}(\w+(?:\.ts|\/)) /gm))
    expect([name, existsSync(join(root, 'src', name!))]).toEqual([name, true]);
});

const curl = ((): boolean => {
  try {
    execFileSync('curl', ['--version']);
    return true;
  } catch {
    return false;
  }
})();

/** Runs lines of the README against a service of their own; what each `curl` that stands alone answered. */
async function answersOf(lines: string): Promise<{ ok: boolean; [field: string]: unknown }[]> {
  await using redis = await startRedis();
  await using service = await start({ redis: redis.location });
  const folder = mkdtempSync(join(tmpdir(), 'coinop-tour-'));
  try {
    const { stdout } = await promisify(execFile)('bash', ['-eu', '-c', tourScript(lines, service.url)], { cwd: folder });
    const answers = stdout.trim().split('\n');
    expect(answers).toHaveLength(countAnswers(lines));
    return answers.map((line) => JSON.parse(line) as { ok: boolean });
  } finally {
    rmSync(folder, { recursive: true });
  }
}

// A machine with nothing but Node and npm has no curl to run them with.
describe.skipIf(!curl)('the tour works as pasted: every answer is a success', () => {
  test('of coins, scores, rooms, pairing and trials', async () => {
    const answers = await answersOf(firstTour);
    expect(answers.filter(({ ok }) => !ok)).toEqual([]);
    expect(answers[2]).toEqual({ ok: true, balanceAfterCoins: 100, replayed: true, balanceCoins: 100 });
    expect(answers[4]).toEqual({ ok: true, balanceCoins: 70 });
    expect(answers.filter(({ authenticated }) => authenticated === true)).toHaveLength(1);
    expect(answers.filter(({ state }) => state === 'trial')).toHaveLength(1);
  });

  test('of the stores', async () => {
    const answers = await answersOf(`${tourSettings}\n${storeTour}`);
    expect(answers.filter(({ ok }) => !ok)).toEqual([]);
    const [, signIn, elsewhere, balance, purchase, entitled, , refunded, proof] = answers;
    expect(signIn).toMatchObject({ created: true, moved: true, movedCoins: 100 });
    expect(elsewhere).toMatchObject({ created: false, moved: false, accountId: signIn!['accountId'] });
    expect(balance).toEqual({ ok: true, balanceCoins: 100 });
    expect(purchase).toMatchObject({ subscribed: true, source: 'store', verified: true });
    expect(entitled).toMatchObject({ state: 'subscribed', access: true, installVerified: false });
    expect(refunded).toMatchObject({ state: 'expired', access: false });
    expect(proof).toMatchObject({ installVerified: true });
  });
});

test('an entitlement is verified offline as pasted', async () => {
  const source = /### Verify an entitlement offline[\s\S]*?```js\n([\s\S]*?)```/.exec(readme)![1]!;
  await using service = await start();
  const { body } = await service.post('/v1/account/resolve', { installId: 'tour-install-1' });
  const folder = mkdtempSync(join(tmpdir(), 'coinop-proof-'));
  try {
    symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
    writeFileSync(join(folder, 'verify.mjs'), source.replace('http://127.0.0.1:3000', service.url));
    const { stdout } = await promisify(execFile)(process.execPath, ['verify.mjs'], { cwd: folder });
    expect(stdout).toBe(`${body.accountId} none false undefined\n`);
    // A proof that verifies, of somebody else.
    const anothers = source.replace("{ 'x-install-id': 'tour-install-1' }", `{ 'x-install-id': '${freshId()}' }`);
    expect(anothers).not.toBe(source);
    writeFileSync(join(folder, 'verify.mjs'), anothers.replace('http://127.0.0.1:3000', service.url));
    await expect(promisify(execFile)(process.execPath, ['verify.mjs'], { cwd: folder })).rejects.toThrow('the proof of another account');
  } finally {
    rmSync(folder, { recursive: true });
  }
});

describe('watching a room live', () => {
  const section = readme.slice(readme.indexOf('## Watch a room live'), readme.indexOf('## Stores'));
  const watcher = /```js\n([\s\S]*?)```/.exec(section)![1]!;

  const createRoom = async (service: TestService): Promise<{ code: string; installId: string }> => {
    const installId = freshId();
    return { installId, code: (await service.post('/v1/rooms', { installId })).body.room.code };
  };

  const freePort = async (): Promise<string> => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    await once(server.close(), 'close');
    return String(port);
  };

  test('takes five lines', () => {
    expect(watcher.trimEnd().split('\n')).toHaveLength(5);
  });

  test.each(['a file', 'node -e'])('works as pasted, and after a restart: %s', async (way) => {
    const folder = mkdtempSync(join(tmpdir(), 'coinop-watch-'));
    // Named, since one that the system picked for a listener cannot be listened to again at once.
    const settings = { PORT: await freePort() };
    const first = await start({ settings });
    const { code, installId } = await createRoom(first);
    const source = watcher.replace('http://127.0.0.1:3000', first.url);
    writeFileSync(join(folder, 'watch.mjs'), source);
    const node = spawn(process.execPath, way === 'a file' ? ['watch.mjs', code] : ['-e', source, code], { cwd: folder });
    let printed = '';
    node.stdout.on('data', (chunk) => (printed += String(chunk)));
    node.stderr.on('data', (chunk) => (printed += String(chunk)));
    const ended = new Promise((resolve) => void node.on('exit', resolve));
    const untilPrinted = (text: string) => vi.waitUntil(() => printed.includes(text), { timeout: 10_000 });
    try {
      await untilPrinted(`code: '${code}'`);
      await first.post(`/v1/rooms/${code}/state`, { installId, state: { level: 'one' } });
      await untilPrinted("level: 'one'");
      await first[Symbol.asyncDispose]();
      // The same place, a little later: the room is in Redis.
      await using second = await start({ settings });
      await second.post(`/v1/rooms/${code}/state`, { installId, state: { level: 'two' } });
      await untilPrinted("level: 'two'");
      await second.post(`/v1/rooms/${code}/end`, { installId });
      expect(await ended).toBe(0);
      expect(printed).toContain("phase: 'ended'");
      expect(printed).not.toMatch(/undefined|Error/);
    } finally {
      node.kill();
      rmSync(folder, { recursive: true });
    }
  });

  test('its table has every close code, and says of each whether to connect again', () => {
    const rows = [...section.matchAll(/^\| (\d{4}) \| .* \| (yes|no) \|$/gm)].map(([, code, again]) => [Number(code), again]);
    expect(rows.filter(([code]) => code !== 1006)).toEqual(
      Object.values(closeCodes)
        .toSorted((one, other) => one - other)
        .map((code) => [code, code < 4500 ? 'yes' : 'no']),
    );
  });

  test.skipIf(!curl)('without WebSocket works as pasted', async () => {
    await using service = await start();
    const { code } = await createRoom(service);
    const { token } = (await service.post('/v1/pair/new')).body;
    const lines = /```sh\n([\s\S]*?)```/.exec(section)![1]!.replaceAll('wait=20', 'wait=1').replaceAll('    #', '; echo #');
    const { stdout } = await promisify(execFile)('bash', ['-eu', '-c', `base=${service.url} code=${code} token=${token}\n${lines}`], {
      cwd: tmpdir(),
    });
    expect(
      stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as object),
    ).toMatchObject([
      { ok: true, room: { code, seq: 1 } },
      { ok: true, status: 'pending' },
    ]);
  });
});
