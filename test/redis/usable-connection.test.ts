import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { pino } from 'pino';
import { describe, expect, test, type TestContext } from 'vitest';
import { openConnections } from '../../src/redis/redis-connections.ts';
import { neededRights } from '../../src/serving/needed-rights.ts';
import { forFile } from '../harness.ts';
import { startRedis } from '../own-redis.ts';
import { FaultyRedis, type Fault } from './faulty-redis.ts';

const own = await forFile(startRedis());
/** The commands that open a connection and check it. */
const STEPS = ['HELLO', 'SELECT', 'INFO', 'EVAL', 'GET'];

/** Each connection meets the fault at each step, and is used again once it is gone. */
async function expectRecovery(
  { expect, onTestFinished }: TestContext,
  effect: Fault['effect'],
  steps: readonly string[],
  problemOf: (step: string) => unknown,
): Promise<void> {
  await using faulty = await FaultyRedis.open(own.location.socketPath);
  // With a database and replicas all four connections exist, and each selects a database.
  const connections = openConnections({ url: `${faulty.socketPath}?db=2` }, 1, pino({ level: 'silent' }), neededRights);
  onTestFinished(() => connections.disconnect());
  const areUsable = (): boolean => connections.isReady && connections.subscriber.hears('2:standings');
  await expect.poll(areUsable).toBe(true);
  for (const command of steps) {
    faulty.fail({ command, effect });
    await expect.poll(() => connections.problem, { message: command }).toEqual(problemOf(command));
    expect(connections.isReady).toBe(false);
    faulty.heal();
    await expect.poll(areUsable, { message: command }).toBe(true);
    expect(connections.problem).toBeUndefined();
  }
}

// The tests run at the same time, because they mostly wait for the next try.
describe.concurrent('a connection that Redis refuses once is used as soon as Redis accepts it, whatever it was refused at', () => {
  test.for(['LOADING Redis is loading the dataset in memory', 'MASTERDOWN Link with MASTER is down', 'CLUSTERDOWN Hash slot not served'])(
    '%s: Redis cannot serve yet',
    async (error, context) => {
      const steps = STEPS.filter((step) => !(error.startsWith('CLUSTERDOWN') && step === 'GET'));
      await expectRecovery(context, { error }, steps, () => `redis is away: ${error}`);
    },
  );

  test.for([
    'WRONGPASS invalid username-password pair or user is disabled',
    'NOAUTH Authentication required',
    'ERR max number of clients reached',
  ])('%s', async (error, context) => {
    await expectRecovery(context, { error }, STEPS, () => `redis cannot be used: ${error}`);
  });

  test('NOPERM, where the command is needed: a missing right', async (context) => {
    const error = 'NOPERM this user has no permissions to run a command';
    await expectRecovery(context, { error }, ['HELLO', 'SELECT', 'GET'], () => `redis cannot be used: ${error}`);
    await expectRecovery(context, { error }, ['EVAL'], () =>
      expect.stringMatching(/^redis cannot be used: the Redis user lacks \+eval, and/),
    );
  });

  test('a connection that closes half-way', async (context) => {
    await expectRecovery(context, 'close', STEPS, () => 'redis is away');
  });

  test('a Redis that stops to answer half-way', async (context) => {
    await expectRecovery(context, 'hang', ['HELLO', 'EVAL'], () => 'redis is away');
  });
});

test('a proxy that has no Redis and closes each connection has one line in the log, on one Redis and for a node of a Cluster', async () => {
  const proxy = createServer((socket) => socket.on('error', () => {}).end()).listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  const host = `127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  for (const scheme of ['redis', 'redis-cluster']) {
    const lines: object[] = [];
    const log = pino({ level: 'info' }, { write: (line) => void lines.push(JSON.parse(line)) });
    const opened = openConnections({ url: `${scheme}://${host}` }, 0, log, neededRights);
    await opened.opened();
    opened.disconnect();
    const reason = expect.stringContaining('the connection was closed before it could be used');
    expect(lines).toEqual([expect.objectContaining({ msg: 'redis is away', reason, ...(scheme === 'redis' ? {} : { node: host }) })]);
  }
  proxy.close();
});
