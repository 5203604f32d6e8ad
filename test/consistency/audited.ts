import { pino } from 'pino';
import type { Holding } from '../../src/accounts/holdings.ts';
import type { Auditor, Finding, KeyCheck } from '../../src/consistency/auditor.ts';
import { openNode, type NodeReader } from '../../src/consistency/cluster-nodes.ts';
import { readCluster, readRedis } from '../../src/consistency/audit-connection.ts';
import type { Reader } from '../../src/consistency/reader.ts';
import type { AuditReader } from '../../src/consistency/scan.ts';
import { newCounts, type AuditCounts } from '../../src/consistency/counts.ts';
import { runAudit } from '../../src/consistency/run.ts';
import { allAuditors } from '../../src/auditors.ts';
import { KEY_SECRET } from '../../src/features/coins/secret-keys.ts';
import { clusterSeedsOf, isClusterUrl } from '../../src/redis/cluster-url.ts';
import { Cluster } from '../../src/redis/cluster-client.ts';
import { connectRedis, type RedisLocation } from '../../src/redis/connect.ts';
import { DATA_ID_KEY } from '../../src/redis/data/data-id.ts';
import { DATA_VERSION_KEY } from '../../src/redis/data/data-version.ts';
import type { Reply } from '../../src/redis/resp.ts';
import type { NodeAddress } from '../../src/redis/shard.ts';

export interface AuditedOptions {
  /** The share of its time that Redis may spend on the audit. */
  share?: number;
  /** Runs before each read of the audit. */
  before?: () => Promise<unknown>;
  /**
   * Also checks the marks of a Cluster's 16,384 slots, and asks them for the counters of days, which takes most of the time of an audit of
   * a small test.
   */
  marks?: boolean;
  /** The time of the data, in milliseconds since 1970, if a test has moved the clock of its service. Default: that of Redis. */
  now?: (() => number) | undefined;
  /** Replaces the holdings of `holdings.ts`. */
  holdings?: readonly Holding[];
  /** Nothing changes the data meanwhile. The audit then needs no pauses, which take a second, to tell drift from a change under way. */
  isStill?: boolean;
}

/** As often as in a service, so that each check is repeated as often. */
const NO_PAUSES = [0, 0, 0, 0];

/** The marks of a slot. */
const MARKS = [`{0}${KEY_SECRET}`, `{0}${DATA_VERSION_KEY}`, `{0}${DATA_ID_KEY}`];

function auditorsOf(marks: boolean, holdings: readonly Holding[] | undefined): Auditor[] {
  const isOfMark = ({ pattern }: KeyCheck): boolean => MARKS.some((mark) => pattern.test(mark));
  const known = (key: KeyCheck): KeyCheck => (!marks && isOfMark(key) ? { pattern: key.pattern } : key);
  return allAuditors(holdings, marks).map((auditor) => ({ ...auditor, keys: auditor.keys.map(known) }));
}

/** Audits a Redis or a Cluster inside this process. */
export async function audited(
  location: RedisLocation,
  { share = 1, before, marks = false, holdings, now, isStill = false }: AuditedOptions = {},
): Promise<{ findings: Finding[]; counts: AuditCounts }> {
  const [findings, counts] = [[] as Finding[], newCounts()];
  const { connection, close } = await connect(location, share, before, now);
  try {
    await connection.opened();
    const { reader, scan } = connection;
    const found = (finding: Finding): void => void findings.push(finding);
    const { signal } = new AbortController();
    const pausesMs = isStill ? NO_PAUSES : undefined;
    await runAudit({ auditors: auditorsOf(marks, holdings), reader, scan, counts, found, signal, pausesMs });
    return { findings, counts };
  } finally {
    connection.disconnect();
    close();
  }
}

async function connect(location: RedisLocation, share: number, before: AuditedOptions['before'], now: AuditedOptions['now']) {
  const log = pino({ level: 'silent' });
  // One after the other, so that the reads reach Redis in the order in which the audit sends them.
  let last: Promise<unknown> = Promise.resolve();
  const inTurn = <Answer>(read: () => Promise<Answer>): Promise<Answer> => {
    if (before === undefined) return read();
    const answer = last.then(before).then(read);
    last = answer.catch(() => {});
    return answer;
  };
  const interrupted = (reader: AuditReader) => ({
    ask: (...command: Parameters<Reader['ask']>): Promise<Reply> =>
      now !== undefined && command[0][0] === 'TIME'
        ? Promise.resolve([String(Math.floor(now() / 1000)), '0'])
        : inTurn(() => (reader as Reader).ask(...command)),
    atomically: (...commands: Parameters<Reader['atomically']>) => inTurn(() => (reader as Reader).atomically(...commands)),
  });
  if (!('url' in location && isClusterUrl(location.url))) {
    const { redis } = connectRedis(location, log);
    const connection = readRedis(redis, share);
    return { connection: { ...connection, reader: interrupted(connection.reader) }, close: () => redis.disconnect() };
  }
  const { seeds, options } = clusterSeedsOf(location.url);
  const cluster = new Cluster(seeds, options, 0, log);
  await cluster.opened();
  const open = (address: NodeAddress): NodeReader => {
    const reader = openNode(address, options, share);
    const { ask, atomically } = interrupted(reader);
    return new Proxy(reader, {
      get(_, name) {
        if (name === 'ask') return ask;
        if (name === 'atomically') return atomically;
        const value: unknown = Reflect.get(reader, name, reader);
        return typeof value === 'function' ? value.bind(reader) : value;
      },
    });
  };
  return { connection: readCluster(cluster, options, share, open), close: () => cluster.disconnect() };
}
