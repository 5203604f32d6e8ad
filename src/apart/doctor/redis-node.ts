import { setTimeout as pause } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { OPTIONS } from '../../redis/connect.ts';
import { pairsOf } from '../../redis/reply-pairs.ts';
import { refusalOfWrites } from '../../redis/write-probe.ts';
import type { Diagnosis, Level } from './diagnosis.ts';
import { luaHolesOf } from './lua-holes.ts';

/** The most milliseconds that a Redis may take to accept a connection, or to answer a command. */
const ANSWER_MS = 3000;

const CLOCK_READS = 5;

/**
 * A difference of this many milliseconds between the clocks is a danger. The leases of players in rooms last 10 s
 * (features/rooms/presence.ts). With such a difference a process ends them at once, or never.
 */
const SKEW_DANGER_MS = 5000;

/** A difference of this many milliseconds between the clocks is worth a warning. */
const SKEW_WARNING_MS = 1000;

/** The end of a remedy whose command changes a setting only until Redis starts again. */
export const KEEP = 'and the same in redis.conf';

/** What one Redis tells about itself. */
export interface NodeFacts {
  readonly info: ReadonlyMap<string, string>;
  /** The settings of Redis by name. Undefined: Redis refuses CONFIG, as managed services do. */
  readonly settings: ReadonlyMap<string, string> | undefined;
  /** The command with which an operator calls this Redis in a shell (`clientOf`). */
  readonly client: string;
}

/** Redis does not answer, or another program answers in its place. The message is the reason. */
export class NoAnswer extends Error {}

/** Connects to a Redis without trying again. @throws NoAnswer */
export async function connectOnce(
  location: { url: string } | { host: string; port: number } | { path: string },
  options = {},
): Promise<Redis> {
  const own = {
    ...OPTIONS,
    ...options,
    connectionName: 'coinop-doctor',
    lazyConnect: true,
    retryStrategy: null,
    // ioredis's own check calls INFO, and would write to the terminal if the user lacks that right.
    enableReadyCheck: false,
    connectTimeout: ANSWER_MS,
    commandTimeout: ANSWER_MS,
  };
  const redis = 'url' in location ? new Redis(location.url, own) : new Redis({ ...own, ...location });
  let reason: Error | undefined;
  redis.on('error', (error: Error) => (reason ??= error));
  try {
    await redis.connect();
    // Redis refuses PING if it wants another password, or while it loads its data.
    const giveUpAt = performance.now() + ANSWER_MS;
    for (;;) {
      const refusal = await redis.ping().then(
        () => undefined,
        (error: Error) => error,
      );
      if (refusal === undefined) return redis;
      if (!refusal.message.startsWith('LOADING') || performance.now() > giveUpAt) throw refusal;
      await pause(100);
    }
  } catch (error) {
    redis.disconnect();
    // If the answer does not come from Redis, ioredis appends a request to report it. That part of the message is removed.
    throw new NoAnswer((reason ?? (error as Error)).message.replace(/ Please report this\.?$/, ''));
  }
}

/** Reads the facts from a Redis. @param client the command with which a shell calls this Redis */
export async function factsOf(redis: Redis, client: string): Promise<NodeFacts> {
  const sections = await Promise.all(
    ['server', 'memory', 'persistence', 'replication', 'cluster', 'stats'].map((section) => redis.info(section)),
  );
  const info = new Map(
    sections
      .join('\n')
      .split(/\r?\n/)
      .flatMap((line): [string, string][] => {
        const colon = line.indexOf(':');
        return colon < 1 ? [] : [[line.slice(0, colon), line.slice(colon + 1)]];
      }),
  );
  const settings = await redis.config('GET', '*').then(
    (words) => new Map(pairsOf(words as string[])),
    () => undefined,
  );
  return { info, settings, client };
}

interface NodeTraits {
  /** The name of the node, on a Cluster. */
  readonly node?: string;
  /** Whether only processes of the same user can reach this Redis. */
  readonly isPrivate?: boolean;
}

/** Examines a single Redis, or a primary of a Cluster. */
export async function examineNode(
  redis: Redis,
  facts: NodeFacts,
  diagnosis: Diagnosis,
  { node, isPrivate = false }: NodeTraits = {},
): Promise<void> {
  const find = (level: Level, kind: string, finding: { text: string; cost: string; mend: string }): void =>
    diagnosis.find(level, kind, finding, node);
  examineVersion(facts, find);
  examineLua(facts, isPrivate, find);
  examineDurability(facts, find);
  if (facts.info.get('role') !== 'slave') await examineWrites(redis, find);
  if (facts.settings === undefined)
    find('note', 'config_refused', {
      text: 'Redis does not tell its settings (CONFIG is refused).',
      cost: 'The doctor cannot know whether a power cut loses coin operations, because that depends on settings such as appendfsync.',
      mend: 'Look them up at the provider: docs/backup.md says what to ask for. With an ACL of your own: ACL SETUSER <user> +config|get',
    });
  await examineClock(redis, find);
}

/** Reports the error with which Redis refuses writes, such as a full disk or a full memory. Too few replicas are a separate finding. */
async function examineWrites(redis: Redis, find: Find): Promise<void> {
  const refusal = await refusalOfWrites(redis);
  if (refusal !== undefined && !refusal.includes('NOREPLICAS'))
    find('danger', 'writes_refused', {
      text: `${refusal.charAt(0).toUpperCase()}${refusal.slice(1)}.`,
      cost: 'All coin operations get 503, and the service is not ready. Nothing is lost.',
      mend: 'docs/operations/runbook.md#coinopredisrefuseswrites',
    });
}

type Find = (level: Level, kind: string, finding: { text: string; cost: string; mend: string }) => void;

function examineVersion({ info, client }: NodeFacts, find: Find): void {
  const version = info.get('redis_version') ?? '0';
  if (Number.parseInt(version, 10) < 7)
    find('danger', 'old_redis', {
      text: `Redis is version ${version}, but coinop needs 7.0 or newer.`,
      cost: 'The service is not ready and answers 503.',
      mend: 'Install Redis 7.0 or newer, or Valkey',
    });
  if (info.get('arch_bits') === '32')
    find('danger', 'redis_32_bit', {
      text: 'Redis is a 32-bit build.',
      cost: 'A balance may need 40 bits: the service is not ready.',
      mend: 'Install a 64-bit Redis',
    });
  if (info.get('role') === 'slave')
    find('danger', 'replica', {
      text: 'This Redis is a replica.',
      cost: 'This Redis takes no writes: the service is not ready and answers 503.',
      mend: `REDIS_URL=redis://${info.get('master_host')}:${info.get('master_port')}`,
    });
  const policy = info.get('maxmemory_policy') ?? 'noeviction';
  if (policy !== 'noeviction')
    find('danger', 'eviction', {
      text: `Redis may delete keys when its memory is full: maxmemory-policy is ${policy}.`,
      cost: 'A coin operation whose idempotency key was deleted takes effect a second time, and balances vanish. The service is not ready.',
      mend: `${client} CONFIG SET maxmemory-policy noeviction # ${KEEP}`,
    });
}

/** Reports known security holes in Redis's Lua. Every user of Redis may run scripts, unless its ACL says otherwise. */
function examineLua({ info }: NodeFacts, isPrivate: boolean, find: Find): void {
  const valkey = info.get('valkey_version');
  const version = valkey ?? info.get('redis_version') ?? '0';
  const name = valkey === undefined ? 'Redis' : 'Valkey';
  for (const { names, effect, fixed } of luaHolesOf(version, valkey !== undefined))
    find(isPrivate ? 'note' : 'warning', 'lua_holes', {
      text: `${name} ${version} has known holes in its Lua, by its number: ${names}.`,
      cost: `${effect}.${isPrivate ? ' Only this user reaches the private Redis.' : ''}`,
      mend: `${name} ${fixed} or a later series. Debian and others mend it under the old number: apt changelog redis-server | grep CVE`,
    });
}

function examineDurability({ info, settings, client }: NodeFacts, find: Find): void {
  const failed = ['rdb_last_bgsave_status', 'aof_last_bgrewrite_status', 'aof_last_write_status'].filter(
    (name) => info.get(name) === 'err',
  );
  if (failed.length > 0)
    find('danger', 'write_failed', {
      text: `Redis could not write its data the last time: ${failed.join(', ')} is err.`,
      cost: 'Redis refuses writes, or a restart loses what is only in memory.',
      mend: 'Read the log of Redis: the disk is full, or there is no memory for a fork (vm.overcommit_memory = 1)',
    });
  if (info.get('aof_enabled') === '0') {
    const save = settings?.get('save');
    const since = save === '' ? 'everything' : `everything since the last snapshot${save === undefined ? '' : ` (save ${save})`}`;
    return find('danger', 'no_append_only_file', {
      text: 'Redis keeps no append-only file (appendonly no).',
      cost: `A crash or a restart of Redis loses ${since}, including acknowledged coin operations.`,
      mend: `${client} CONFIG SET appendonly yes # ${KEEP} after that: a restart with it alone begins with an empty file`,
    });
  }
  const fsync = settings?.get('appendfsync');
  if (fsync === 'everysec')
    find('warning', 'appendfsync', {
      text: 'Redis writes to disk every second (appendfsync everysec).',
      cost: 'A power cut loses about a second of acknowledged coin operations. A crash of Redis alone loses none.',
      mend: `${client} CONFIG SET appendfsync always # ${KEEP}`,
    });
  if (fsync === 'no')
    find('danger', 'appendfsync', {
      text: 'Redis lets the operating system decide when to write to disk (appendfsync no).',
      cost: 'A power cut loses some 30 seconds of acknowledged coin operations.',
      mend: `${client} CONFIG SET appendfsync always # ${KEEP}`,
    });
  if (fsync !== 'no' && settings?.get('no-appendfsync-on-rewrite') === 'yes')
    find('warning', 'no_fsync_on_rewrite', {
      text: 'Redis does not sync to disk while it rewrites its append-only file (no-appendfsync-on-rewrite yes).',
      cost: 'A power cut during a rewrite loses acknowledged coin operations.',
      mend: `${client} CONFIG SET no-appendfsync-on-rewrite no # ${KEEP}`,
    });
}

/**
 * Reports a difference between the clocks of Redis and of this machine. The clocks are compared several times, and the comparison with the
 * shortest round trip counts. Its error is at most half of the round trip.
 */
async function examineClock(redis: Redis, find: Find): Promise<void> {
  let [skewMs, errorMs] = [0, Infinity];
  for (let read = 0; read < CLOCK_READS; read++) {
    const [sentAt, tick] = [Date.now(), performance.now()];
    const [seconds, microseconds] = (await redis.time()) as unknown as [string, string];
    const halfTripMs = (performance.now() - tick) / 2;
    if (halfTripMs < errorMs)
      [skewMs, errorMs] = [Number(seconds) * 1000 + Number(microseconds) / 1000 - (sentAt + halfTripMs), halfTripMs];
  }
  const distance = Math.abs(skewMs);
  if (distance < SKEW_WARNING_MS) return;
  find(distance < SKEW_DANGER_MS ? 'warning' : 'danger', 'clock_skew', {
    text: `The clock of Redis is ${(distance / 1000).toFixed(1)} s ${skewMs > 0 ? 'ahead of' : 'behind'} the one of this machine.`,
    cost:
      "Redis's clock decides what is due: if it is wrong, seasons, subscriptions and sessions end too early or too late. If this " +
      "machine's clock is wrong, tokens and calls of the app store are refused.",
    mend: 'timedatectl set-ntp true # on both machines',
  });
}
