import { execFile, spawn, spawnSync } from 'node:child_process';
import { existsSync, globSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { fileURLToPath } from 'node:url';
import { describe, expect, test, vi } from 'vitest';
import { readConfig, settingNames } from '../src/config.ts';
import { GAME_SOURCE } from '../src/web/pages/home.ts';
import { closeCodes } from '../src/server/live/close-codes.ts';
import { audited } from './consistency/audited.ts';
import { freePort } from './free-port.ts';
import { freshId, start, type TestService } from './harness.ts';
import { startRedis } from './own-redis.ts';
import { countAnswers, firstTour, storeTour, tourScript, tourSettings } from './tour.ts';
import { PATIENT } from './patience.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const page = (path: string): string => readFileSync(join(root, path), 'utf8');
const example = page('.env.example');

/** The text below a heading, up to the next heading of the same level. */
function section(path: string, heading: string): string {
  const [, text] = page(path).split(`\n${heading}\n`);
  return text!.split(`\n${heading.split(' ')[0]!} `)[0]!;
}

const pages = ['.', 'src', 'docs', 'docs/clients', 'docs/features', 'docs/decisions', 'docs/operations'].flatMap((folder) =>
  readdirSync(join(root, folder))
    .filter((file) => file.endsWith('.md'))
    .map((file) => join(folder, file)),
);

/** A heading's anchor, as GitHub and GitLab make it. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');

const sources = globSync(['{src,test,bench,scripts,docs}/**/*.{ts,lua,mjs,css}', '*.ts'], { cwd: root });

/** Files and names that pages give although they are not ours: a file of the tour, a rule about names, functions of uWebSockets.js. */
const NOT_OURS = new Set(['watch.mjs', 'index.ts', 'collectBody', 'onDataV2']);

/** Names of code in backquotes: camelCase, PascalCase, snake_case and private members. */
const CODE_NAME = /`(#?(?:[a-z]+[A-Z]\w*|[A-Z][a-z]+[A-Z]\w*|[a-z]+_[a-z_]+)|#\w+)(?:\([^`]*\))?`/g;

function faultsOf(sentence: string): string[] {
  const files = [...sentence.matchAll(/`([\w/.-]+\.(?:ts|lua|mjs|css))`/g)].map(([, file]) => file!).filter((file) => !NOT_OURS.has(file));
  const found = files.map((file) => sources.filter((source) => source === file || source.endsWith(`/${file}`)));
  const missing = files.filter((_, index) => found[index]!.length === 0);
  const text = found.flat().map(page).join('\n');
  const names = files.length === 0 ? [] : [...sentence.matchAll(CODE_NAME)].map(([, name]) => name!);
  return [...missing, ...names.filter((name) => !NOT_OURS.has(name) && !text.includes(name))];
}

describe('the pages', () => {
  test.each(pages)('%s links to files and headings that exist', (path) => {
    const broken = [...page(path).matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([^)\s]*))?\)/g)].filter(([, file = '', anchor]) => {
      const target = file === '' ? path : join(dirname(path), file);
      if (!existsSync(join(root, target))) return true;
      return anchor !== undefined && ![...page(target).matchAll(/^#+ (.*)$/gm)].some(([, heading]) => anchorOf(heading!) === anchor);
    });
    expect(broken.map(([link]) => link)).toEqual([]);
  });

  test.each(pages)('%s names files that exist, and beside them only names that they have', (path) => {
    const faults = page(path)
      .replaceAll(/\n\s*/g, ' ')
      .split(/(?<=[.:;|])\s/)
      .flatMap((sentence) => faultsOf(sentence));
    expect(faults).toEqual([]);
  });

  test('each is linked from the README', () => {
    const linked = [...page('README.md').matchAll(/\]\(([^)#]*\.md)/g)].map(([, file]) => file);
    expect(pages.filter((path) => path !== 'README.md' && !linked.includes(path))).toEqual([]);
  });
});

test('the pages of the clients have the chapters of docs/client.md in the same order, so that a reader finds the same under the same heading', () => {
  const chapters = (path: string): string[] => [...page(path).matchAll(/^## (.*)$/gm)].map(([, heading]) => heading!);
  const shared = chapters('docs/client.md');
  expect(shared.length).toBeGreaterThan(10);
  const files = readdirSync(join(root, 'docs/clients'));
  // JavaScript has more: React, and game servers.
  const found = files.map((file) => [file, ...chapters(`docs/clients/${file}`).slice(0, shared.length)]);
  expect(found).toEqual(files.map((file) => [file, ...shared]));
});

test('docs/guarantees.md names the tests that npm test runs, and marks those that only npm run test:long runs', () => {
  const table = section('docs/guarantees.md', '## Which test shows it');
  const named = [...table.matchAll(/\]\(\.\.\/(test\/[\w./-]+\.test\.ts)\)(\\\*)?/g)].map(
    ([, file, mark]) => [file!, mark !== undefined] as const,
  );
  expect(named.length).toBeGreaterThan(30);
  const patterns = /const LONG = \[\n([\s\S]*?)\n\];/.exec(page('vitest.config.ts'))![1]!.match(/test\/[^']+/g)!;
  const long = new Set(globSync(patterns, { cwd: root }));
  expect(named.filter(([file, isMarked]) => long.has(file) !== isMarked)).toEqual([]);
  const scripts = (JSON.parse(page('package.json')) as { scripts: object }).scripts;
  for (const [, name] of table.matchAll(/`npm run ([\w:]+)`/g)) expect(scripts).toHaveProperty([name!]);
});

describe('settings', () => {
  test('docs/operating.md and .env.example list every setting and no others', () => {
    const table = section('docs/operating.md', '## Settings');
    const onPage = [...table.matchAll(/^\| (`[A-Z_`, ]+`) \|/gm)].flatMap(([, cell]) =>
      [...cell!.matchAll(/`(\w+)`/g)].map(([, name]) => name),
    );
    const inExample = [...example.matchAll(/^(?:# )?([A-Z_]+)=/gm)].map(([, name]) => name);
    expect(onPage.sort()).toEqual([...settingNames].sort());
    expect(inExample.sort()).toEqual([...settingNames].sort());
  });

  test('compose.yaml asks for the settings that production requires, or leaves it to the service, and .env.example leaves them empty', () => {
    const compose = page('compose.yaml');
    let required: string[] = [];
    try {
      readConfig({ NODE_ENV: 'production' });
    } catch (error) {
      required = (error as Error).message.split('\n').map((line) => line.split(' ')[0]!);
    }
    expect(required).toEqual(['SESSION_KEYS', 'PUBLIC_URL']);
    for (const name of required) expect(example).toMatch(new RegExp(`^${name}=$`, 'm'));
    expect(compose).toContain('PUBLIC_URL: ${PUBLIC_URL:?');
    // The keys may come from SESSION_KEYS_FILE instead: the service says at its start that it has neither.
    expect(compose).not.toContain('SESSION_KEYS:');
  });
});

test('src/README.md describes every folder and file of src, and no others', () => {
  const described = [...section('src/README.md', '## The tree').matchAll(/^ {2}([\w-]+(?:\.ts|\/)) /gm)].map(([, name]) => name);
  const entries = readdirSync(join(root, 'src'), { withFileTypes: true }).map((entry) => entry.name + (entry.isDirectory() ? '/' : ''));
  expect(described.sort()).toEqual(entries.filter((name) => name !== 'README.md').sort());
});

test('the game of the README has twelve lines, and is the game of the page at /', () => {
  const game = /```html\n([\s\S]*?)```/.exec(section('README.md', '## A browser game in twelve lines'))![1]!;
  expect(game.trimEnd()).toBe(GAME_SOURCE);
  expect(game.trimEnd().split('\n')).toHaveLength(12);
});

test('the game may call a service that was started for a phone, as the step before it says', async () => {
  const [, host, origin] = /start with `HOST=(\S+) ALLOWED_ORIGINS=(\S+) npm start`/.exec(page('README.md'))!;
  expect(page('README.md')).toContain(`<${origin}/game.html>`);
  const allowed = async (settings: Record<string, string>): Promise<string | null> => {
    await using service = await start({ settings });
    return (await service.get('/v1/balance', { headers: { origin: origin! } })).headers.get('access-control-allow-origin');
  };
  expect(await allowed({ HOST: host!, ALLOWED_ORIGINS: origin! })).toBe(origin);
  expect(await allowed({ HOST: host! })).toBeNull();
});

const curl = spawnSync('curl', ['--version']).status === 0;

/** Runs the lines of a tour against a separate service. @returns the answers of the lines that begin with `curl` */
async function answersOf(lines: string): Promise<object[]> {
  await using redis = await startRedis();
  await using service = await start({ redis: redis.location });
  const folder = mkdtempSync(join(tmpdir(), 'coinop-tour-'));
  try {
    const { stdout } = await promisify(execFile)('bash', ['-eu', '-c', tourScript(lines, service.url)], { cwd: folder });
    const answers = stdout.trim().split('\n');
    const parsed = answers.map((line) => JSON.parse(line) as { ok: boolean });
    expect(parsed.map(({ ok }) => ok)).toEqual(Array(countAnswers(lines)).fill(true));
    expect((await audited(redis.location)).findings).toEqual([]);
    return parsed;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

// A machine with only Node and npm has no curl.
describe.skipIf(!curl)('the tour works as pasted: every answer is a success', () => {
  test('of coins, scores, rooms, pairing and trials', async () => {
    const answers = await answersOf(firstTour);
    expect(answers).toContainEqual({ ok: true, balanceAfterCoins: 100, replayed: true, balanceCoins: 100 });
    expect(answers).toContainEqual(expect.objectContaining({ state: 'trial' }));
  });

  test('of the stores', async () => {
    const answers = await answersOf(`${tourSettings}\n${storeTour}`);
    expect(answers.at(-1)).toMatchObject({ installVerified: true });
    expect(answers).toContainEqual(expect.objectContaining({ balanceAfterCoins: 1100 }));
  });
});

test('an entitlement is verified offline as pasted', async () => {
  const source = /```js\n([\s\S]*?)```/.exec(section('docs/stores.md', '## Verify an entitlement offline'))![1]!;
  await using service = await start();
  const { body } = await service.post('/v1/account/resolve', { installId: 'tour-install-1' });
  const folder = mkdtempSync(join(tmpdir(), 'coinop-proof-'));
  try {
    symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
    writeFileSync(join(folder, 'verify.mjs'), source.replace('http://127.0.0.1:3000', service.url));
    const { stdout } = await promisify(execFile)(process.execPath, ['verify.mjs'], { cwd: folder });
    expect(stdout).toBe(`${body.accountId} none false undefined\n`);
    // A valid proof, but of another account.
    const anothers = source.replace("{ 'x-install-id': 'tour-install-1' }", `{ 'x-install-id': '${freshId()}' }`);
    expect(anothers).not.toBe(source);
    writeFileSync(join(folder, 'verify.mjs'), anothers.replace('http://127.0.0.1:3000', service.url));
    await expect(promisify(execFile)(process.execPath, ['verify.mjs'], { cwd: folder })).rejects.toThrow('the proof of another account');
  } finally {
    rmSync(folder, { recursive: true });
  }
});

describe('watching a room live', () => {
  const text = section('README.md', '## Watch a room live');
  const watcher = /```js\n([\s\S]*?)```/.exec(text)![1]!;

  const createRoom = async (service: TestService): Promise<{ code: string; installId: string }> => {
    const installId = freshId();
    return { installId, code: (await service.post('/v1/rooms', { installId })).body.room.code };
  };

  test.each(['a file', 'node -e'])('works as pasted, and after a restart: %s', async (way) => {
    const folder = mkdtempSync(join(tmpdir(), 'coinop-watch-'));
    // A fixed port, because a port that the system picked for a listener cannot be used again at once.
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
    const untilPrinted = (text: string) => vi.waitUntil(() => printed.includes(text), PATIENT);
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
    const rows = [...text.matchAll(/^\| (\d{4}) \| .* \| (yes|no) \|$/gm)].map(([, code, again]) => [Number(code), again]);
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
    const lines = /```sh\n([\s\S]*?)```/.exec(text)![1]!.replaceAll('wait=20', 'wait=1').replaceAll('    #', '; echo #');
    const { stdout } = await promisify(execFile)('bash', ['-eu', '-c', `base=${service.url} code=${code} token=${token}\n${lines}`], {
      cwd: tmpdir(),
    });
    const answers = stdout.trim().split('\n');
    expect(answers.map((line) => JSON.parse(line) as object)).toMatchObject([
      { ok: true, room: { code, seq: 1 } },
      { ok: true, status: 'pending' },
    ]);
  });
});
