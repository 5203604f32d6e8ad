import { Cluster as ClusterClient } from 'ioredis';
import { afterAll, afterEach, expect, test } from 'vitest';
import { entryOn } from '../board-entries.ts';
import { accountIdOf } from '../../src/accounts/ids.ts';
import { accountKey } from '../../src/accounts/account-keys.ts';
import { KEY_SECRET } from '../../src/features/coins/secret-keys.ts';
import { ledgerKeys } from '../../src/features/coins/ledger-layout.ts';
import { coinKeys } from '../../src/features/coins/model.ts';
import { boardKeys } from '../../src/features/highscores/model.ts';
import { DATA_VERSION_KEY } from '../../src/redis/data/data-version.ts';
import { queueKeyOf, queueKeys } from '../../src/redis/queue.ts';
import { slotOf, tagOf } from '../../src/redis/slots.ts';
import { startCluster, type TestNode } from '../cluster-nodes.ts';
import { forFile, freshId, start } from '../harness.ts';
import { Watcher } from '../realtime/watcher.ts';
import { audited } from './audited.ts';
import { runAuditCommand } from './command.ts';
import { nameOf } from './damages/mend.ts';

const DAY_MS = 86_400_000;

/** Hashes and sorted sets that are read page by page with few members already. */
const SETTINGS = ['--cluster-node-timeout', '1000', '--hash-max-listpack-entries', '8', '--zset-max-listpack-entries', '8'];

const cluster = await forFile(startCluster({ replicas: 1, settings: SETTINGS }));
const location = { url: cluster.url };
const service = await forFile(start({ redis: location }));
const redis = new ClusterClient(cluster.nodes.map(({ port }) => ({ host: '127.0.0.1', port })));
afterAll(() => redis.disconnect());
const undo: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const each of undo.splice(0)) await each();
});

async function credits(count: number, installId = freshId()): Promise<string> {
  for (let index = 1; index <= count; index++)
    expect((await service.post('/v1/coins/credit', { installId, coins: 5, key: `k${index}` })).status).toBe(200);
  return accountIdOf(installId);
}

async function player(game: string, installId = freshId(), score = 10): Promise<string> {
  expect((await service.post(`/v1/highscores/${game}`, { installId, score, name: 'Ada' })).status).toBe(200);
  return accountIdOf(installId);
}

/** A room with a connected player. @returns its code */
async function room(): Promise<string> {
  const installId = freshId();
  const { body } = await service.post('/v1/rooms', { installId });
  const { code } = body.room as { code: string };
  const watcher = await Watcher.open(service.url, `/v1/rooms/${code}/live`);
  undo.push(async () => watcher.close());
  watcher.send({ type: 'hello', installId });
  await expect.poll(() => redis.exists(`{room:${code}}:leases`)).toBe(1);
  return code;
}

/** The node that serves a key's slot, and another primary. */
async function nodesOf(key: string): Promise<[owner: TestNode, other: TestNode]> {
  const owner = await cluster.primaryOf(slotOf(key));
  return [owner, cluster.nodes.find((node) => node.role === 'primary' && node !== owner)!];
}

test('an audit reports no drift if writes come between any two of its reads', async () => {
  await using ageingService = await start({ redis: location, settings: { LEDGER_RETENTION_DAYS: '1' } });
  // The service's clock runs fast, and must not pass that of Redis.
  ageingService.setClock(-30 * DAY_MS);
  const [ageing, players] = [freshId('ageing'), Array.from({ length: 4 }, () => freshId())];
  let operations = 0;
  // A ledger of two pages that from then on gets an entry, and loses one, with each write.
  const grow = async (): Promise<void> => {
    ageingService.advance(Math.round(DAY_MS / 140));
    await ageingService.post('/v1/coins/credit', { installId: ageing, coins: 1, key: `key ${operations++}` });
  };
  for (let index = 0; index < 150; index++) await grow();
  for (const each of players) await player('crowded', each);
  let reads = 0;
  const before = async (): Promise<void> => {
    await grow();
    if (++reads % 3 === 0) await player('crowded', players[reads % players.length]!, reads);
  };
  const { findings, counts } = await audited(location, { before });
  expect(findings).toEqual([]);
  expect(reads).toBeGreaterThan(100);
  expect(counts.unsettled).toBeLessThan(3);
  const still = await audited(location);
  expect([still.findings, still.counts.unsettled]).toEqual([[], 0]);
});

test('the command reads the keys of all primaries, and finds no drift in what the service has written', async () => {
  await Promise.all(Array.from({ length: 30 }, (_, index) => credits(1 + (index % 3))));
  await room();
  const primaries = cluster.nodes.filter(({ role }) => role === 'primary');
  const accounts = await Promise.all(primaries.map(async (node) => ((await node.call('KEYS', '*:account')) as string[]).length));
  expect(Math.min(...accounts)).toBeGreaterThan(0);
  const { code, out, error } = await runAuditCommand(['--json', '--full-speed'], { REDIS_URL: cluster.url });
  expect([code, error]).toEqual([0, '']);
  // The counters lie in slots of all primaries, and each day that the tests have counted agrees with the ledgers.
  const days = expect.toSatisfy((count: number) => count > 2) as unknown;
  const checked = { accounts: accounts.reduce((sum, count) => sum + count), rooms: 1, 'compared days': days };
  expect(JSON.parse(out)).toMatchObject({ findings: [], isComplete: true, primaries: 3, unsettled: 0, notes: [], unknown: {}, checked });
});

test('damages are found on any primary, and an entry of a queue in another sorted set is none', async () => {
  const [gone, homeless] = await Promise.all([credits(3), credits(3)]);
  for (const id of [gone, homeless]) undo.push(() => redis.del(coinKeys.ledger(id), accountKey(id), ledgerKeys.bucket(id, 0)));
  await redis.lrem(coinKeys.ledger(gone), 1, (await redis.lindex(coinKeys.ledger(gone), 1))!);
  await redis.del(accountKey(homeless));
  const [scoreless, named, unnamed] = [await player('scoreless'), await player('played'), await player('unnamed')];
  undo.push(
    () => redis.del(boardKeys.ofAccount(scoreless)),
    () => redis.srem(boardKeys.ofAccount(named), 'never-played'),
  );
  for (const game of ['scoreless', 'unnamed']) undo.push(() => redis.del(boardKeys.scores(game), boardKeys.players(game)));
  await redis.zrem(boardKeys.scores('scoreless'), (await entryOn(redis, 'scoreless', scoreless))!.member);
  await redis.sadd(boardKeys.ofAccount(named), 'never-played');
  await redis.del(boardKeys.ofAccount(unnamed));
  const [ofRooms, ofPurchases] = [queueKeyOf('rooms:due', 'BBBBB', 64), queueKeyOf('purchases:due', 'no-purchase', 64)];
  await redis.zadd(ofRooms, Date.now() + DAY_MS, 'BBBBB');
  await redis.zadd(ofPurchases, Date.now() + DAY_MS, 'no-purchase');
  undo.push(
    () => redis.zrem(ofRooms, 'BBBBB'),
    () => redis.zrem(ofPurchases, 'no-purchase'),
  );
  const waiting = await room();
  await redis.del(queueKeyOf('rooms:due', waiting, 64));
  // This is no drift: the entry went to another sorted set, because the primary of its own set was down.
  const elsewhere = await room();
  const own = queueKeyOf('rooms:due', elsewhere, 64);
  const other = queueKeys('rooms:due', 64).find((key) => key.startsWith('{') && key !== own)!;
  const due = await redis.zrange(own, '0', '-1', 'WITHSCORES');
  for (let index = 0; index < due.length; index += 2) {
    if (!due[index]!.startsWith(elsewhere)) continue;
    await redis.zadd(other, due[index + 1]!, due[index]!);
    await redis.zrem(own, due[index]!);
  }
  const [secret, version] = [`${tagOf(77)}${KEY_SECRET}`, `${tagOf(9999)}${DATA_VERSION_KEY}`];
  for (const [mark, damaged] of [
    [secret, 'f'.repeat(16)],
    [version, '1'],
  ] as const) {
    const text = (await redis.getset(mark, damaged))!;
    undo.push(() => redis.set(mark, text));
  }

  const { findings } = await audited(location, { marks: true });
  expect(new Set(findings.map(nameOf))).toEqual(
    new Set([
      `broken_chain account ${gone}`,
      `lost_account account ${homeless}`,
      'player_without_score board scoreless',
      'lost_board board never-played',
      `player_without_board account ${unnamed}`,
      'lost_purchase purchase no-purchase',
      `queue_without_document queue ${ofRooms}`,
      'lost_queue queue rooms:due',
      'other_secret slot 77',
      'wrong_version slot 9999',
    ]),
  );
});

test('a secret of the ledgers that was changed is one finding', async () => {
  await Promise.all(Array.from({ length: 10 }, () => credits(2)));
  const secret = (await redis.get(KEY_SECRET))!;
  undo.push(() => redis.set(KEY_SECRET, secret));
  await redis.set(KEY_SECRET, 'f'.repeat(secret.length));
  const { findings } = await audited(location, { marks: true });
  expect(findings.map(nameOf)).toEqual([`changed_key_secret key ${KEY_SECRET}`]);
});

test('while slots move back and forth, an audit reports the drift in them and no false drift', async () => {
  const game = 'travelling';
  const installs = Array.from({ length: 230 }, () => freshId());
  await Promise.all(installs.map((each, index) => player(game, each, index)));
  const lost = (await entryOn(redis, game, accountIdOf(installs[0]!)))!.member;
  await redis.zrem(boardKeys.scores(game), lost);
  const installId = freshId();
  const id = await credits(100, installId);
  const slots = [slotOf(boardKeys.players(game)), slotOf(accountKey(id))];
  let [isMoving, moves, written] = [true, 0, 0];
  const moving = (async () => {
    while (isMoving) {
      for (const slot of slots) {
        const [owner, other] = await nodesOf(tagOf(slot));
        await cluster.moveSlot(slot, isMoving ? other : owner);
        moves++;
      }
    }
  })();
  const writing = (async () => {
    while (isMoving) {
      await service.post(`/v1/highscores/${game}`, { installId: installs[1 + (written % 100)]!, score: 1000 + written, name: 'Ada' });
      await service.post('/v1/coins/credit', { installId, coins: 1, key: `w${written++}` });
    }
  })();
  try {
    for (let audits = 0; audits < 3 || moves < 6; audits++) {
      const { findings, counts } = await audited(location);
      expect(findings).toEqual([{ kind: 'player_without_score', subject: `board ${game}`, text: expect.stringContaining(lost) }]);
      expect([counts.unsettled, counts.primaries]).toEqual([0, 3]);
    }
  } finally {
    isMoving = false;
    await Promise.all([moving, writing]);
    await redis.zadd(boardKeys.scores(game), 0, lost);
  }
  expect(written).toBeGreaterThan(5);
});

test('an unfinished move of a slot is no drift, but keys that a move left behind are', async () => {
  const id = await credits(3);
  const [ledger, bucket] = [coinKeys.ledger(id), ledgerKeys.bucket(id, 0)];
  const slot = slotOf(ledger);
  const [from, to] = await nodesOf(ledger);
  const [here, there] = [`127.0.0.1:${from.port}`, `127.0.0.1:${to.port}`];
  const begin = async (): Promise<void> => {
    await to.call('CLUSTER', 'SETSLOT', slot, 'IMPORTING', from.id);
    await from.call('CLUSTER', 'SETSLOT', slot, 'MIGRATING', to.id);
  };
  const breakOff = async (): Promise<void> => {
    for (const node of [to, from]) await node.call('CLUSTER', 'SETSLOT', slot, 'STABLE');
  };
  undo.push(async () => {
    await to.call('CLUSTER', 'SETSLOT', slot, 'IMPORTING', from.id);
    await to.call('MIGRATE', '127.0.0.1', from.port, '', 0, 5000, 'REPLACE', 'KEYS', ledger, bucket);
    await breakOff();
    await redis.lset(ledger, 0, (await redis.lindex(ledger, 0))!.replace('1:6 ', '1:5 '));
  });
  await redis.lset(ledger, 0, (await redis.lindex(ledger, 0))!.replace('1:5 ', '1:6 '));
  await begin();
  await from.call('MIGRATE', '127.0.0.1', to.port, '', 0, 5000, 'KEYS', ledger, bucket);
  const halfway = await audited(location);
  // Drift in keys that have moved already is found.
  expect(new Set(halfway.findings.map(nameOf))).toEqual(new Set([`wrong_sum account ${id}`]));
  const note = `Slot ${slot} is moving from ${here} to ${there}: requests for its keys wait until its move has ended.`;
  expect([halfway.counts.notes, halfway.counts.unsettled]).toEqual([[note], 0]);

  await breakOff();
  const { findings, counts } = await audited(location);
  const text = expect.stringMatching(
    `^Node ${there} holds 2 of its keys, such as ".+", but node ${here} serves it and has none of them\\. No`,
  );
  expect(findings).toEqual([{ kind: 'misplaced_keys', subject: `slot ${slot}`, text }]);
  expect(counts.notes).toEqual([]);
});

test('an audit continues with the replica that takes over from a primary', async () => {
  const id = await credits(2);
  const bucket = ledgerKeys.bucket(id, 0);
  const { counts: before } = await audited(location);
  await redis.del(bucket);
  const [owner] = await nodesOf(bucket);
  expect(await owner.call('WAIT', 1, 5000)).toBe(1);
  let reads = 0;
  const dies = async (): Promise<void> => {
    if (++reads === 100) await cluster.kill(owner);
  };
  const { findings, counts } = await audited(location, { before: dies });
  expect(new Set(findings.map(nameOf))).toEqual(new Set([`entry_without_key account ${id}`]));
  expect((await nodesOf(bucket))[0]).not.toBe(owner);
  expect(counts).toMatchObject({
    primaries: 3,
    unsettled: 0,
    checked: { accounts: before.checked['accounts'], ledgers: before.checked['ledgers'] },
  });
});
