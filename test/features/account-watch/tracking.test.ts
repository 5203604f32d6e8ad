import { expect, test } from 'vitest';
import { accountIdOf } from '../../../src/accounts/ids.ts';
import { forFile, freshId, start } from '../../harness.ts';
import { monitored } from '../../monitor.ts';
import { startRedis } from '../../own-redis.ts';
import { eventually } from '../../realtime/watcher.ts';
import { RedisLink } from '../../realtime/redis-link.ts';
import { openAccount, reaches, watchAccount } from './watching.ts';

const own = await forFile(startRedis());
const service = await forFile(start({ redis: own.location }));

const credit = (installId: string, coins: number) => service.post('/v1/coins/credit', { installId, coins, key: freshId('key') });

/** An install whose account has coins. */
async function rich(coins: number): Promise<string> {
  const installId = freshId();
  await credit(installId, coins);
  return installId;
}

const connections = async (): Promise<string[]> => String(await own.redis.client('LIST')).split('\n');
const tracking = async (): Promise<string[]> => (await connections()).filter((line) => line.includes('name=coinop-tracking'));

test('a lost connection loses no change', async () => {
  const installId = await rich(1);
  const watcher = await watchAccount(service, installId);
  const before = await tracking();
  for (const line of before) await own.redis.client('KILL', 'ID', /^id=(\d+)/.exec(line)![1]!);
  await credit(installId, 1);
  await reaches(watcher, 2);
  await eventually(async () => (await tracking()).length === before.length);
  await credit(installId, 1);
  await reaches(watcher, 3);
});

test('a credit of an account that nobody watches takes the same commands as if nobody watched any, and publishes nothing', async () => {
  const seen: string[][] = [];
  using _ = await monitored(own.redis, (words) => void seen.push(words));
  const heardAll = async (): Promise<void> => {
    const end = freshId('end');
    await own.redis.echo(end);
    await eventually(() => seen.some((words) => words.includes(end)));
  };
  const names = ['rpush', 'hsetnx', 'lindex', 'exists', 'publish', 'evalsha'];
  /** How often twenty credits of an account take each command. The commands of other work come when they are due. */
  const taken = async (installId: string): Promise<number[]> => {
    // Redis tells of earlier commands after their replies.
    await heardAll();
    seen.length = 0;
    for (let count = 0; count < 20; count++) await credit(installId, 1);
    await heardAll();
    const tag = `{${accountIdOf(installId)}}`;
    const ofAccount = seen.filter((words) => words.some((word) => word.includes(tag)));
    return names.map((name) => ofAccount.filter(([command]) => command!.toLowerCase() === name).length);
  };
  const installId = await rich(1);
  // The first credits also write what later ones find.
  await credit(installId, 1);
  const alone = await taken(installId);
  await Promise.all(Array.from({ length: 30 }, async () => watchAccount(service, await rich(1))));
  expect(await taken(installId)).toEqual(alone);
  expect(alone[names.indexOf('rpush')]).toBe(20);
  expect(alone[names.indexOf('publish')]).toBe(0);
});

test('a user without the right to track keys is enough, and is logged', async () => {
  await own.redis.acl('SETUSER', 'plain', 'on', '>secret', '~*', '&*', '+@all', '-client|tracking');
  const logLines: string[] = [];
  await using plain = await start({ redis: { url: `${own.location.socketPath}?username=plain&password=secret` }, logLines });
  const installId = await rich(1);
  const watcher = await watchAccount(plain, installId);
  await credit(installId, 1);
  await reaches(watcher, 2);
  expect(logLines.filter((line) => line.includes('does not track keys'))).toHaveLength(1);
  await watcher.close();
});

test('a caller that cannot be checked is not at fault: the client may connect again', async () => {
  await using link = await RedisLink.open(own.location.socketPath);
  await using away = await start({ redis: link.location });
  const [watching, watcher] = [await watchAccount(away, freshId()), await openAccount(away)];
  link.cut('commands');
  watcher.send({ type: 'hello', installId: freshId() });
  expect((await watcher.until(({ type }) => type === 'error')).error.code).toBe('store_unavailable');
  away.advance(10_000);
  expect((await watcher.closed).code).toBe(1001);
  expect(watching.isClosed).toBe(false);
  link.restore();
});
