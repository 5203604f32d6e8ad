import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inheritedEnvironment } from '../environment.ts';
import { freePort } from '../free-port.ts';
import { startRedis } from '../own-redis.ts';
import { post, startChild, type Child } from '../realtime/child.ts';
import { PROJECT } from './planted/copy.ts';

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
  const data = join(project, 'data');
  mkdirSync(home);
  // The last commit, with the packages and the programs that set-up has fetched.
  execFileSync('git', ['clone', '--quiet', '--no-hardlinks', PROJECT, project]);
  execFileSync('cp', ['-a', join(PROJECT, 'node_modules'), join(PROJECT, '.cache'), project]);

  const port = await freePort();
  const redis = await startRedis('--port', port);
  const environment = { NODE_ENV: 'production', PORT: DEFAULT_PORT, DATA_DIR: './data', REDIS_URL: `redis://127.0.0.1:${port}` };
  try {
    await (await serve(project, { DATA_DIR: data })).stop();
    const service = await serve(project, { REDIS_URL: environment.REDIS_URL, DATA_DIR: join(home, 'data') });
    const states = async () => ({
      './data': hashOf(data),
      [`the accounts of the service on port ${DEFAULT_PORT}`]: await ledgersOf(redis),
    });
    const before: Readonly<Record<string, string>> = await states();
    const status = test(project, { ...environment, HOME: home, TZ: 'Asia/Kathmandu', LANG: 'tr_TR.UTF-8', LC_ALL: 'tr_TR.UTF-8' }, parent);
    const changed = Object.entries(await states()).filter(([what, state]) => state !== before[what]);
    await service.stop();
    console.log(`npm test ended with ${status}. It changed: ${changed.map(([what]) => what).join(', ') || 'nothing'}.`);
    return status === 0 && changed.length === 0;
  } finally {
    await redis[Symbol.asyncDispose]();
    rmSync(parent, { recursive: true, force: true });
  }
}

/** A service of the user's, with a credit. */
async function serve(project: string, settings: Readonly<Record<string, string>>): Promise<Child> {
  const service = await startChild({ PORT: DEFAULT_PORT, ...settings }, join(project, 'src/main.ts'));
  const { ok } = await post(service.url, '/v1/coins/credit', { installId: 'install-of-the-user', coins: 100, key: 'first' });
  if (ok !== true) throw new Error("a credit of the user's service was refused");
  return service;
}

/** @returns the exit code of `npm test` */
function test(project: string, environment: Readonly<Record<string, string>>, parent: string): number | null {
  const user = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {};
  if ('uid' in user) {
    execFileSync('chown', ['-R', `${NOBODY}:${NOBODY}`, parent]);
    execFileSync('chmod', ['755', parent]);
  }
  console.log(`npm test in "${project}", as user ${user.uid ?? 'of this run'}, with ${JSON.stringify(environment)}`);
  const settings = Object.entries(environment).map(([name, value]) => `${name}=${value}`);
  return spawnSync('env', [...settings, 'sh', '-c', 'umask 077 && exec npm test'], {
    ...{ cwd: project, env: inheritedEnvironment({}), stdio: 'inherit' },
    ...user,
  }).status;
}

/** The content of each ledger. */
async function ledgersOf({ redis }: Awaited<ReturnType<typeof startRedis>>): Promise<string> {
  const keys = (await redis.keys('*:ledger')).toSorted();
  return JSON.stringify(await Promise.all(keys.map(async (key) => [key, await redis.lrange(key, 0, -1)])));
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
