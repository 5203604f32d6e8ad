import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Redis } from 'ioredis';
import { PROJECT } from './planted/copy.ts';
import { inheritedEnvironment } from '../environment.ts';
import { freePort } from '../free-port.ts';
import { startRedis } from '../own-redis.ts';

/** As root the tests run as this user of Debian, who owns nothing but the copy. */
const NOBODY = 65_534;

const DEFAULT_PORT = '3000';

/**
 * Runs `npm test` in a copy of the project where nothing is as its authors have it: in a folder with a space and an umlaut, as an ordinary
 * user with a umask of 077, with a time zone and a language of elsewhere, with settings for another service in the environment. That
 * service runs on the default port, and an earlier one left its data in `./data`.
 * @returns whether all tests passed, and both services' data are as they were
 */
export async function proveHostile(): Promise<boolean> {
  const parent = mkdtempSync(join(tmpdir(), 'coinop-hostile-'));
  const [project, home] = [join(parent, 'coinop für alle'), join(parent, 'home')];
  const user = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {};
  mkdirSync(home);
  copyProject(project);
  if ('uid' in user) own(parent, project, home);

  const port = await freePort();
  const redis = await startRedis('--port', port);
  const address = `redis://127.0.0.1:${port}`;
  try {
    const serve = (more: Readonly<Record<string, string>>) => startService(project, { PORT: DEFAULT_PORT, ...more }, user);
    const earlier = await serve({ DATA_DIR: './data' });
    await credit();
    await earlier();
    const before = hashOf(join(project, 'data'));
    const stop = await serve({ REDIS_URL: address, DATA_DIR: join(home, 'data') });
    await credit();
    const accounts = await ledgersOf(redis.redis);

    const environment = {
      ...{ NODE_ENV: 'production', PORT: DEFAULT_PORT, DATA_DIR: './data', REDIS_URL: address },
      HOME: home,
      TZ: 'Asia/Kathmandu',
      LANG: 'tr_TR.UTF-8',
      LC_ALL: 'tr_TR.UTF-8',
    };
    console.log(`npm test in "${project}", as user ${user.uid ?? 'of this run'}, with ${JSON.stringify(environment)}`);
    const settings = Object.entries(environment).map(([name, value]) => `${name}=${value}`);
    const { status } = spawnSync('env', [...settings, 'sh', '-c', 'umask 077 && exec npm test'], {
      cwd: project,
      env: inheritedEnvironment({}),
      stdio: 'inherit',
      ...user,
    });
    const same = { data: hashOf(join(project, 'data')) === before, accounts: (await ledgersOf(redis.redis)) === accounts };
    await stop();
    console.log(
      `npm test ended with ${status}; ./data ${said(same.data)}; the accounts of the service on port ${DEFAULT_PORT} ${said(same.accounts)}.`,
    );
    return status === 0 && same.data && same.accounts;
  } finally {
    await redis[Symbol.asyncDispose]();
    rmSync(parent, { recursive: true, force: true });
  }
}

const said = (isSame: boolean): string => (isSame ? 'is unchanged' : 'HAS CHANGED');

/** The last commit, with the packages and the programs that set-up has fetched. */
function copyProject(folder: string): void {
  execFileSync('git', ['clone', '--quiet', '--no-hardlinks', PROJECT, folder]);
  execFileSync('cp', ['-a', ...['node_modules', '.cache'].map((name) => join(PROJECT, name)), folder]);
}

function own(parent: string, project: string, home: string): void {
  execFileSync('chown', ['-R', `${NOBODY}:${NOBODY}`, project, home]);
  execFileSync('chmod', ['755', parent]);
}

/** @returns what stops the service, and waits for its end */
async function startService(project: string, settings: Readonly<Record<string, string>>, user: object): Promise<() => Promise<void>> {
  const child = spawn(process.execPath, ['src/main.ts'], {
    cwd: project,
    env: inheritedEnvironment(settings),
    stdio: ['ignore', 'pipe', 'inherit'],
    ...user,
  });
  await new Promise<void>((resolve, reject) => {
    child.stdout.on('data', (text: Buffer) => text.includes('coinop listening on') && resolve());
    child.on('exit', (code) => reject(new Error(`the service ended with ${code}`)));
  });
  return async () => {
    child.kill('SIGTERM');
    await once(child, 'exit');
  };
}

async function credit(): Promise<void> {
  const { status } = await fetch(`http://127.0.0.1:${DEFAULT_PORT}/v1/coins/credit`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ installId: 'install-of-the-user', coins: 100, key: 'first' }),
  });
  if (status !== 200) throw new Error(`a credit of the user's service was answered ${status}`);
}

/** The content of each ledger. */
async function ledgersOf(client: Redis): Promise<string> {
  const keys = (await client.keys('*:ledger')).toSorted();
  return JSON.stringify(await Promise.all(keys.map(async (key) => [key, await client.lrange(key, 0, -1)])));
}

function hashOf(folder: string): string {
  const hash = createHash('sha256');
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' }).toSorted()) {
    const path = join(folder, name);
    hash.update(`${name}\n`);
    if (statSync(path).isFile()) hash.update(readFileSync(path));
  }
  return hash.digest('hex');
}
