import type { Rights } from '../redis/user-rights.ts';
import { channelPrefix } from '../redis/channels.ts';
import type { RedisUse } from '../redis/redis-connections.ts';

/**
 * Lists the rights that the Redis user needs: for every command that scripts and the service send, for every form of key, and for every
 * form of channel. The rights are checked before a connection is used. If Redis refused a command in the middle of a script, the script's
 * earlier writes would stay. docs/operating.md has the same list as rules of an ACL. Tests compare this list with the scripts and with the
 * keys of all features.
 */
export function neededRights({ isCluster, database, waits }: RedisUse): Rights {
  return {
    commands: [
      ...COMMANDS,
      ...(isCluster ? OF_CLUSTER : OF_ONE_REDIS),
      ...(waits ? ['WAIT 0 1'] : []),
      ...(database === 0 ? [] : [`SELECT ${database}`]),
    ],
    optionalCommands: ['CLIENT TRACKING ON'],
    keys: KEYS,
    channels: isCluster
      ? { '{*': TAGGED_CHANNELS, ...Object.fromEntries(COMMON_CHANNELS.map((channel) => [channel, [channel]])) }
      : { [`${channelPrefix(database)}*`]: [...TAGGED_CHANNELS, ...COMMON_CHANNELS].map((channel) => channelPrefix(database) + channel) },
  };
}

/**
 * Commands that scripts and the process send. Each command has all its arguments: the check in Redis 8 throws for a wrong number, although
 * the check in Redis 7 does not count them.
 */
const COMMANDS: readonly string[] = [
  'EVAL return 1 KEY',
  'EVALSHA sha 1 KEY',
  'INFO server',
  'PING',
  'SUBSCRIBE CHANNEL',
  'UNSUBSCRIBE CHANNEL',
  'PUBLISH CHANNEL message',
  'APPEND KEY text',
  'DEL KEY',
  'EXISTS KEY',
  'EXPIRE KEY 1',
  'GET KEY',
  'GETRANGE KEY 0 1',
  'HDEL KEY field',
  'HEXISTS KEY field',
  'HGET KEY field',
  'HGETALL KEY',
  'HINCRBY KEY field 1',
  'HLEN KEY',
  'HMGET KEY field',
  'HSCAN KEY 0',
  'HSET KEY field value',
  'HSETNX KEY field value',
  'HVALS KEY',
  'INCR KEY',
  'INCRBY KEY 1',
  'LINDEX KEY 0',
  'LLEN KEY',
  'LPOP KEY',
  'LPUSH KEY item',
  'LRANGE KEY 0 1',
  'LSET KEY 0 item',
  'LTRIM KEY 0 1',
  'MGET KEY',
  'PEXPIRE KEY 1',
  'PFADD KEY item',
  'PFCOUNT KEY',
  'PTTL KEY',
  'RENAME KEY KEY',
  'RPUSH KEY item',
  'SADD KEY member',
  'SCAN 0',
  'SCARD KEY',
  'SET KEY value',
  'SISMEMBER KEY member',
  'SMEMBERS KEY',
  'SRANDMEMBER KEY',
  'SREM KEY member',
  'SSCAN KEY 0',
  'TIME',
  'TYPE KEY',
  'UNLINK KEY',
  'ZADD KEY 1 member',
  'ZCARD KEY',
  'ZCOUNT KEY 0 1',
  'ZINCRBY KEY 1 member',
  'ZMSCORE KEY member',
  'ZRANGE KEY 0 1',
  'ZRANGEBYLEX KEY - +',
  'ZRANGEBYSCORE KEY 0 1',
  'ZRANK KEY member',
  'ZREM KEY member',
  'ZREMRANGEBYRANK KEY 0 1',
  'ZREMRANGEBYSCORE KEY 0 1',
  'ZREVRANGE KEY 0 1',
  'ZREVRANGEBYLEX KEY + -',
  'ZREVRANGEBYSCORE KEY 1 0',
  'ZREVRANK KEY member',
  'ZSCORE KEY member',
];

const OF_ONE_REDIS: readonly string[] = ['PUBSUB NUMSUB CHANNEL'];

const OF_CLUSTER: readonly string[] = [
  'CLUSTER INFO',
  'CLUSTER SLOTS',
  'MSET KEY value',
  'PUBSUB SHARDNUMSUB CHANNEL',
  'SPUBLISH CHANNEL message',
  'SSUBSCRIBE CHANNEL',
  'SUNSUBSCRIBE CHANNEL',
];

/** Names of keys with a hash tag. @param names the texts behind the tag, separated by blanks */
const behind = (tag: string, names: string): string[] => names.split(' ').map((name) => `{${tag}}${name}`);

/** The names of the queues of due work. On a Cluster each queue has one more key for each hash tag. */
const DUE: readonly string[] = [
  'bans:due',
  'deletions:due',
  'moves:due',
  'product-notices:due',
  'product-purchases:due',
  'purchases:due',
  'room-expiry:due',
  'rooms:due',
  'seasons:due',
];

/**
 * Sample names of keys, each under the ACL pattern that allows it. For each form of key that an auditor knows there is a name in this list.
 */
const KEYS: Rights['keys'] = {
  'data:*': ['data:id', 'data:version', 'data:upgrading'],
  'ledger:secret': ['ledger:secret'],
  'replication:mark': ['replication:mark'],
  outbox: ['outbox'],
  tombstones: ['tombstones'],
  'audit:background': ['audit:background'],
  '*:due': DUE,
  // A script gets '' in place of a key that it does not need.
  '': [''],
  'purchases:unowned': ['purchases:unowned'],
  'product-purchases:asked:*': ['product-purchases:asked:google'],
  '{*': [
    // Account ids may begin with any of these characters. An ACL pattern for only some of these characters would allow some accounts and
    // refuse others.
    ...Array.from('09AZaz-_', (letter) => `{${letter}}`),
    ...behind('0', 'data:id data:version ledger:secret replication:mark outbox'),
    ...behind(
      'account',
      ':account :boards :moves :out:session :product-purchases :purchases :revised:game :seats:0 :sessions :sign-ins :told:event',
    ),
    ...behind('account', ':ledger :ledger:guests :ledger:guests:ids :keys:guests :index:0 :credited:2026-01-01'),
    ...behind('account', `:aside:index:0 :sign-in:ended :sign-in:nonce:${'0'.repeat(64)}`),
    ...behind('account', ':guest:other:ledger :guest:other:index:0 :move:other :move:other:ledger :move:other:index:0 :notes'),
    ...behind('account', ':saves :saves:texts'),
    ...behind('board:game', ':players :scores :arrivals :version :secret :archives :archive:1:scores :archive:1:players :removed'),
    ...behind('board:game', ':seasons :closed :season:2026-W1 :season:2026-W1:players :season:2026-W1:scores'),
    ...behind('board:game', ':season:2026-W1:payouts :season:2026-W1:unpaid'),
    ...behind('events', ':state :chunks :forgotten :chunk:1'),
    '{providers}',
    '{listed:game}',
    ...behind('listed:game', ':untils :rooms :version :free :reserved :taken :match:mode'),
    '{room:CODE}',
    ...behind('room:CODE', ':leases :ticket:id'),
    '{served:0}',
    '{operator-log}',
    ...behind('operator-log', `:corrected:2026-01-01 :requests:person:${'0'.repeat(16)} :answers`),
    ...behind(`console:person:${'0'.repeat(16)}`, `:asking:${'0'.repeat(22)}`),
    '{server-keys}',
    ...behind('server-keys', ':used'),
    '{webhooks}',
    ...behind('webhooks', ':state:id :waiting:id :delivered:id :failed:id :asked:id'),
    ...[...DUE, 'purchases:unowned', 'tombstones'].map((queue) => `{${queue}:0}`),
    ...[
      'console:12345678',
      'console-people',
      'test-coins:2026-01-01',
      `console-state:${'0'.repeat(43)}`,
      'device:id',
      'given-names',
      'nonce:id',
      'pair:token',
      'product-notice:id',
      'product-order:id',
      'product-purchase:id',
    ].map((name) => `{${name}}`),
    ...[
      'purchase:id',
      'store-buyer:store:id',
      'apple:id',
      'apple-budget:app',
      'sandbox:keys',
      'sandbox:apple-keys',
      'sandbox:purchase:id',
      'sandbox:voided:id',
    ].map((name) => `{${name}}`),
    ...behind('grown', ':2026-01-01'),
    ...behind('numbers', 'counters:20000 counters:days active active:20000 refusals:480000'),
    ...behind('0', 'counters:20000 counters:days'),
  ],
};

/** Names of channels with a hash tag. On a Cluster the tag decides which primary has the channel. */
const TAGGED_CHANNELS: readonly string[] = [
  '{board:game}',
  '{given-names}',
  '{listed:game}',
  '{pair:token}',
  '{room:CODE}',
  '{server-keys}',
];

/** Channels on which all processes listen. */
const COMMON_CHANNELS: readonly string[] = ['events', 'outboxes', 'standings'];
