import type { Redis } from 'ioredis';
import { pino } from 'pino';
import { SettingError, type Config } from '../../config.ts';
import { addressGrowthKey } from '../../features/coins/address-growth.ts';
import { DATA_ID_FILE, readDataId, readNewest } from '../../process/data-id-file.ts';
import { openPrivateRedis } from '../../process/opened-redis.ts';
import { hasData } from '../../process/restored-data.ts';
import type { Rights } from '../../redis/user-rights.ts';
import { clusterSeedsOf, isClusterUrl } from '../../redis/cluster-url.ts';
import { Cluster } from '../../redis/cluster-client.ts';
import { checkDatabase } from '../../redis/connect.ts';
import { DATA_ID_KEY, idIn, foreignId, readId, succeeds } from '../../redis/data/data-id.ts';
import { checkDataAtStart, DATA_VERSION, DATA_VERSION_KEY, readDataVersion, standOfVersion } from '../../redis/data/data-version.ts';
import { refusalsIn } from '../../redis/data/data-refusal.ts';
import { findOlder, textOfOlder } from '../../redis/data/describe-older-data.ts';
import { nameOf } from '../../redis/shard.ts';
import { slotOf, SLOTS } from '../../redis/slots.ts';
import { ForeignValue } from '../../redis/text-key.ts';
import { SERVER_KEYS } from '../../server/identity/server-key-record.ts';
import { neededRights } from '../../serving/needed-rights.ts';
import { examineRights, findUnexamined } from './user-rights.ts';
import { examineBoards } from './boards.ts';
import { BRING_BACK, type Diagnosis } from './diagnosis.ts';
import { examineEvents } from './events.ts';
import { examineAddresses } from './fast-addresses.ts';
import { examineKeys } from './server-keys.ts';
import { examineKernel } from './machine.ts';
import { distanceOf } from './network.ts';
import { examineMemory } from './redis-memory.ts';
import { connectOnce, examineNode, factsOf, KEEP, NoAnswer } from './redis-node.ts';
import { examineDiskGrowth, examineFailedStart, examineRecord } from './private-redis.ts';
import { examineReplicas } from './replicas.ts';
import { anyNodeOf, clientOf, clusterClientOf, quoted } from './shell.ts';

const LEAST_PRIMARIES = 3;

/** Examines the Redis or the Cluster of REDIS_URL, or the private Redis of DATA_DIR. */
export async function examineRedis(config: Config, diagnosis: Diagnosis): Promise<void> {
  const { REDIS_URL, DATA_DIR } = config;
  try {
    if (REDIS_URL !== undefined && isClusterUrl(REDIS_URL)) await examineCluster(REDIS_URL, config, diagnosis);
    else if (REDIS_URL !== undefined) await examineUrl(REDIS_URL, config, diagnosis);
    else if (hasData(DATA_DIR)) await examinePrivate(config, diagnosis);
    else diagnosis.fact('redis', `none yet: the first start of the service makes one in ${DATA_DIR}`);
  } catch (error) {
    if (!(error instanceof SettingError || error instanceof NoAnswer) && !isOfRedis(error as Error)) throw error;
    if (REDIS_URL === undefined && examineFailedStart(DATA_DIR, (error as Error).message, diagnosis)) return;
    const name = REDIS_URL === undefined ? `The private Redis in ${DATA_DIR}` : 'The Redis of REDIS_URL';
    if (REDIS_URL !== undefined && (error as Error).message.startsWith('NOPERM'))
      return findUnexamined((error as Error).message, REDIS_URL, diagnosis);
    diagnosis.fact('redis', 'does not answer');
    diagnosis.find('danger', 'no_redis', {
      text: `${name} does not answer: ${(error as Error).message.replace(/\.$/, '')}.`,
      cost: 'Every request that needs Redis gets 503 store_unavailable.',
      mend: REDIS_URL === undefined ? 'Read the log of the service' : wayTo((error as Error).message),
    });
  }
}

/** The remedy for a Redis that does not answer. @param reason the error of the connection */
function wayTo(reason: string): string {
  return /certificate/.test(reason)
    ? 'NODE_EXTRA_CA_CERTS=/path/to/ca.pem in the environment of the service and of this command, if your own authority signed it; redis-cli takes it as --cacert'
    : 'Start Redis, or correct REDIS_URL: its address, user and password';
}

/** Whether the error comes from Redis, because the connection was lost during the examination or Redis refused a command. */
function isOfRedis(error: Error): boolean {
  return 'code' in error || /^[A-Z]{3,} |^Connection is closed|^Command timed out|^Stream isn't/.test(error.message);
}

async function examineUrl(url: string, config: Config, diagnosis: Diagnosis): Promise<void> {
  const { hostname, host } = new URL(url);
  const redis = await connectOnce({ url });
  try {
    await checkDatabase(redis);
    const use = { isCluster: false, database: redis.options.db ?? 0, waits: config.REDIS_WAIT_REPLICAS > 0 };
    if (!(await examineRights(redis, neededRights(use), url, diagnosis))) return;
    const isOnThisMachine = distanceOf(hostname) === 'loopback';
    await examineOne(redis, config, diagnosis, { name: host, client: clientOf(url), isOnThisMachine, isPrivate: false });
  } finally {
    redis.disconnect();
  }
}

async function examinePrivate(config: Config, diagnosis: Diagnosis): Promise<void> {
  // The doctor changes nothing. If the doctor starts a Redis, this Redis must not rewrite a file, nor truncate a file that ends in the
  // middle of a write.
  const unchanged = ['--auto-aof-rewrite-percentage', '0', '--aof-load-truncated', 'no'];
  examineRecord(config.DATA_DIR, diagnosis);
  const { source, close } = await openPrivateRedis(config, pino({ level: 'silent' }), unchanged);
  const { redis } = source;
  try {
    await examineOne(redis, config, diagnosis, {
      name: `private, in ${config.DATA_DIR}`,
      client: `redis-cli -s ${quoted(redis.options.path!)}`,
      isOnThisMachine: true,
      isPrivate: true,
    });
  } finally {
    await close();
  }
}

interface Named {
  readonly name: string;
  readonly client: string;
  readonly isOnThisMachine: boolean;
  readonly isPrivate: boolean;
}

async function examineOne(redis: Redis, config: Config, diagnosis: Diagnosis, place: Named): Promise<void> {
  const facts = await factsOf(redis, place.client);
  const { info, settings } = facts;
  diagnosis.fact('redis', `${versionOf(info)}, ${place.name}`);
  if (info.get('cluster_enabled') === '1')
    return diagnosis.find('danger', 'cluster_node', {
      text: 'This Redis is a node of a Cluster, but REDIS_URL names it as a single Redis.',
      cost: 'The node refuses most keys: the service is not ready.',
      mend: `REDIS_URL=redis-cluster://${place.name}`,
    });
  diagnosis.fact('durability', durabilityOf(info, settings));
  await examineNode(redis, facts, diagnosis, { isPrivate: place.isPrivate });
  const growth = await examineMemory(redis, facts, diagnosis, place);
  if (place.isPrivate) examineDiskGrowth(config.DATA_DIR, growth, diagnosis);
  examineReplicas(facts, config, diagnosis);
  if (place.isOnThisMachine) examineKernel(facts, diagnosis);
  await examineVersion(redis, diagnosis);
  await examineDataId(redis, () => redis, config, diagnosis);
  await examineKeys(redis, config, diagnosis);
  await examineAddresses(redis, config, Date.now(), diagnosis);
  await examineEvents(() => redis, config, diagnosis);
  await examineBoards(redis, diagnosis, false);
}

function versionOf(info: ReadonlyMap<string, string>): string {
  const valkey = info.get('valkey_version');
  return valkey === undefined ? `Redis ${info.get('redis_version') ?? 'of unknown version'}` : `Valkey ${valkey}`;
}

function durabilityOf(info: ReadonlyMap<string, string>, settings: ReadonlyMap<string, string> | undefined): string {
  if (info.get('aof_enabled') === '1') return `append-only file, appendfsync ${settings?.get('appendfsync') ?? 'unknown'}`;
  const save = settings?.get('save');
  return save === '' ? 'none: neither an append-only file nor snapshots' : `snapshots only${save === undefined ? '' : ` (save ${save})`}`;
}

/** Examines whether Redis has the data that a service with this DATA_DIR knows. */
async function examineDataId(
  source: Redis | Cluster,
  redisOf: (key: string) => Redis | undefined,
  { DATA_DIR }: Config,
  diagnosis: Diagnosis,
): Promise<void> {
  const refusals = await refusalsIn(source);
  if (refusals.length > 0) return findLost(`The services refuse the data: ${refusals.join('; ')}.`, diagnosis);
  const read = async (key: string) => {
    const redis = redisOf(key);
    return redis === undefined ? null : readId(redis, key);
  };
  const [home, id, known] = [redisOf(DATA_ID_KEY), idIn(await read(DATA_ID_KEY)), readDataId(DATA_DIR)];
  const foreign = home === undefined ? undefined : await foreignId(home);
  if (foreign !== undefined) return findLost(foreign.problem, diagnosis, foreign.mend);
  if (known === undefined || (id !== undefined && succeeds(id, known))) return;
  const older = known === id ? await findOlder(id, readNewest(DATA_DIR, id), read) : undefined;
  if (known === id && older === undefined) return;
  const differs = `Redis has ${id === undefined ? 'no data with an id' : `the data ${id}`}, and ${DATA_DIR}/${DATA_ID_FILE} names ${known}.`;
  findLost(older === undefined ? differs : `The data in Redis is ${textOfOlder(older)}.`, diagnosis);
}

function findLost(text: string, diagnosis: Diagnosis, mend = BRING_BACK): void {
  diagnosis.find('danger', 'data_lost', {
    text,
    cost: 'The service is not ready, and all requests of accounts get 503 store_unavailable.',
    mend,
  });
}

async function examineVersion(redis: Redis, diagnosis: Diagnosis): Promise<void> {
  let version: string | null;
  try {
    version = await readDataVersion(redis);
    diagnosis.fact('data', version !== null ? `version ${version}` : (await redis.dbsize()) === 0 ? 'none yet' : 'without a version');
    await checkDataAtStart(redis);
  } catch (error) {
    if (!(error instanceof SettingError)) throw error;
    return findVersion(error, diagnosis);
  }
  if (version === null || standOfVersion(version) === 'current') return;
  diagnosis.find('note', 'data_version', {
    text: `The data has version ${version}, and this coinop writes version ${DATA_VERSION}.`,
    cost: 'The next start upgrades the data, and coin operations get 503 until then.',
    mend: 'Take a backup, then start the service (docs/upgrading.md)',
  });
}

function findVersion(error: SettingError, diagnosis: Diagnosis): void {
  const [text, mend] =
    error instanceof ForeignValue
      ? [error.problem, error.mend]
      : [error.message, 'Start the coinop that wrote the data (docs/upgrading.md)'];
  diagnosis.find('danger', 'data_version', { text, cost: 'This coinop does not start on it.', mend });
}

async function examineCluster(url: string, config: Config, diagnosis: Diagnosis): Promise<void> {
  const { seeds, options } = clusterSeedsOf(url);
  const cluster = new Cluster(seeds, options, 0, pino({ level: 'silent' }));
  try {
    await cluster.opened();
    const { ok, problem, degraded = [] } = await cluster.health();
    const rights = neededRights({ isCluster: true, database: 0, waits: config.REDIS_WAIT_REPLICAS > 0 });
    if (cluster.shards.length === 0) return await examineSeeds(url, rights, problem ?? 'no node tells its slots', diagnosis);
    const isLocal = seeds.every(({ host }) => distanceOf(host) === 'loopback');
    diagnosis.fact('redis', `Cluster of ${cluster.shards.length} primaries`);
    examineShape(cluster, url, ok ? degraded : [problem ?? 'no primary serves'], diagnosis);
    let hasKernel = false;
    for (const { redis, name } of cluster.shards) {
      // A primary that is down is left out, because `examineShape` has reported it.
      if (redis.status !== 'ready' || !(await examineRights(redis, rights, url, diagnosis, name))) continue;
      const facts = await factsOf(redis, clientOf(url));
      diagnosis.fact(name, `${versionOf(facts.info)}, ${durabilityOf(facts.info, facts.settings)}`);
      await examineNode(redis, facts, diagnosis, { node: name });
      await examineMemory(redis, facts, diagnosis, { isOnThisMachine: isLocal, isPrivate: false, node: name });
      if (examineReplicas(facts, config, diagnosis, name) === 0)
        diagnosis.find(
          'warning',
          'no_replica',
          {
            text: 'A primary has no replica.',
            cost: 'If it stops, its accounts, rooms and boards get 503 until it runs again.',
            mend: `${clusterClientOf(url)} add-node <address of the new node> ${anyNodeOf(url)} --cluster-slave`,
          },
          name,
        );
      if (facts.settings?.get('cluster-require-full-coverage') === 'yes')
        diagnosis.find(
          'warning',
          'full_coverage',
          {
            text: 'If one slot lacks a primary, the whole Cluster stops (cluster-require-full-coverage yes).',
            cost: 'If one primary without a replica is down, all accounts get 503 instead of only its own.',
            mend: `${clientOf(url)} CONFIG SET cluster-require-full-coverage no # ${KEEP}`,
          },
          name,
        );
      if (isLocal && !hasKernel) examineKernel(facts, diagnosis);
      hasKernel = true;
      await examineBoards(redis, diagnosis, true, name);
    }
    const keys = cluster.shardOf(slotOf(SERVER_KEYS))?.redis;
    if (keys?.status === 'ready') await examineKeys(keys, config, diagnosis);
    const grown = cluster.shardOf(slotOf(addressGrowthKey('')))?.redis;
    if (grown?.status === 'ready') await examineAddresses(grown, config, Date.now(), diagnosis);
    const home = cluster.shardOf(slotOf(DATA_VERSION_KEY))?.redis;
    if (home?.status === 'ready') diagnosis.fact('data', `version ${(await readDataVersion(home)) ?? 'none yet'}`);
    const redisOf = (key: string): Redis | undefined => {
      const redis = cluster.shardOf(slotOf(key))?.redis;
      return redis?.status === 'ready' ? redis : undefined;
    };
    if (redisOf(DATA_ID_KEY) !== undefined) await examineDataId(cluster, redisOf, config, diagnosis);
    await examineEvents(redisOf, config, diagnosis, Array.from({ length: SLOTS }).keys().toArray());
  } finally {
    cluster.disconnect();
  }
}

/**
 * Finds out why no node answers which primaries serve: the Redis user may lack a right.
 * @throws SettingError with the problem if the user has all rights
 */
async function examineSeeds(url: string, rights: Rights, problem: string, diagnosis: Diagnosis): Promise<void> {
  const { seeds, options } = clusterSeedsOf(url);
  for (const seed of seeds) {
    const redis = await connectOnce(seed, options).catch(() => undefined);
    try {
      if (redis !== undefined && !(await examineRights(redis, rights, url, diagnosis, nameOf(seed)))) return;
    } finally {
      redis?.disconnect();
    }
  }
  throw new SettingError(problem);
}

function examineShape(cluster: Cluster, url: string, problems: readonly string[], diagnosis: Diagnosis): void {
  const served = cluster.shards.reduce((sum, { slots }) => sum + slots.length, 0);
  for (const text of problems)
    diagnosis.find('danger', 'cluster_degraded', {
      text: `${text.replace(/\.$/, '')}.`,
      cost: 'Accounts, rooms and boards of these slots get 503.',
      mend: `Bring the node back; ${clusterClientOf(url)} check ${anyNodeOf(url)} shows what else is wrong`,
    });
  if (served < SLOTS && problems.length === 0)
    diagnosis.find('danger', 'slots_uncovered', {
      text: `${SLOTS - served} slots have no primary.`,
      cost: 'Accounts, rooms and boards of these slots get 503.',
      mend: `${clusterClientOf(url)} fix ${anyNodeOf(url)}`,
    });
  if (cluster.shards.length < LEAST_PRIMARIES)
    diagnosis.find('warning', 'few_primaries', {
      text: `The Cluster has ${cluster.shards.length} primaries.`,
      cost: 'A majority of primaries has to agree on a failover. With fewer than three primaries there is no failover.',
      mend: 'Three primaries at least (docs/scale-out.md#set-it-up)',
    });
}
