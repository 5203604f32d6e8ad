import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { accountIdOf } from '../../src/accounts/ids.ts';
import { accountKey } from '../../src/accounts/account-keys.ts';
import { slotOf } from '../../src/redis/slots.ts';
import { startCluster } from '../cluster-nodes.ts';
import { open } from '../features/rooms/room.ts';
import { forFile, freshId, start } from '../harness.ts';
import { reaches, watchAccount } from '../features/account-watch/watching.ts';
import { eventually, watchRoom, type Watcher } from './watcher.ts';

const MOVING_MS = 5000;
const MOVE_INTERVAL_MS = 300;
/** A machine under load may need seconds for what takes milliseconds. */
const PATIENCE_MS = 30_000;

const nodes = await forFile(startCluster({ replicas: 1, settings: ['--cluster-node-timeout', '1000'] }));
/** Two services on one Cluster. They stand for two processes. */
const here = await forFile(start({ redis: { url: nodes.url } }));
const there = await forFile(start({ redis: { url: nodes.url } }));

/**
 * Moves the slot of a key from primary to primary while `work` is repeated, for MOVING_MS and until there were four moves and `hasEnough`.
 */
async function whileMoving(key: string, work: (round: number) => Promise<unknown>, hasEnough = () => true): Promise<void> {
  const slot = slotOf(key);
  const primaries = nodes.nodes.filter(({ role }) => role === 'primary');
  const until = performance.now() + MOVING_MS;
  let moves = 0;
  const isOver = (): boolean => performance.now() >= until && moves >= 4 && hasEnough();
  const moving = (async () => {
    while (!isOver()) {
      // For a moment after a move no node may claim the slot. Then the next move follows.
      await nodes.moveSlot(slot, primaries[moves++ % primaries.length]!).catch(() => {});
      await pause(MOVE_INTERVAL_MS);
    }
  })();
  for (let round = 0; !isOver(); round++) await work(round);
  await moving;
}

test('watchers of both processes end with the last state while the slot of the room moves back and forth', async () => {
  const room = await open(here);
  const watchers: Watcher[] = [];
  for (const service of [here, there, here, there]) watchers.push(await watchRoom(service, room.code));
  await whileMoving(`{room:${room.code}}`, async (round) => {
    await room.act('state', room.host, { state: round });
    // Other watchers connect while the slot moves.
    if (round % 20 === 0 && watchers.length < 12) watchers.push(await watchRoom(round % 40 === 0 ? here : there, room.code));
    await pause(10);
  });
  await room.act('state', room.host, { state: 'last' });
  const { seq } = await room.read();
  for (const watcher of watchers) {
    expect((await watcher.reaches(seq, PATIENCE_MS)).state).toBe('last');
    expect([watcher.faults, watcher.isClosed]).toEqual([[], false]);
  }
  await Promise.all(watchers.map((watcher) => watcher.close()));
});

test('watchers of an account on both processes end with the last balance while its slot moves back and forth', async () => {
  const installId = freshId();
  await here.post('/v1/login', { installId });
  const watchers = [await watchAccount(here, installId), await watchAccount(there, installId)];
  let credited = 0;
  const credit = async (round: number): Promise<void> => {
    const { status } = await here.post('/v1/coins/credit', { installId, coins: 1, key: `k${round}` });
    if (status === 200) credited++;
    await pause(10);
  };
  await whileMoving(accountKey(accountIdOf(installId)), credit, () => credited > 50);
  await eventually(async () => (await here.post('/v1/coins/credit', { installId, coins: 1, key: 'last' })).status === 200);
  const { balanceCoins } = (await here.get(`/v1/balance?installId=${installId}`)).body;
  for (const watcher of watchers) await reaches(watcher, balanceCoins);
});

test('while the slot of a board moves, a reader on another process sees each submission that was already answered', async () => {
  const game = `board-${Date.now()}`;
  const path = `/v1/highscores/${game}`;
  const [services, installs] = [
    [here, there],
    [freshId(), freshId()],
  ];
  let stale = 0;
  let submissions = 0;
  const submit = async (round: number): Promise<void> => {
    const [writer, reader] = [services[round % 2]!, services[(round + 1) % 2]!];
    // The reader has the board cached.
    await reader.get(path);
    const submitted = await writer.post(path, { installId: installs[round % 2], score: round + 1, name: 'Ada' });
    if (submitted.status !== 200) return;
    submissions++;
    const { status, body } = await reader.get(path);
    if (status === 200 && body.top[0].score !== round + 1) stale++;
  };
  await whileMoving(`{board:${game}}`, submit, () => submissions > 50);
  expect(stale).toBe(0);
});

test('watchers of a primary that fails keep their sockets, and those of the others notice nothing', async () => {
  const room = await open(here);
  const victim = await nodes.primaryOf(slotOf(`{room:${room.code}}`));
  // The other room and its host's account must be on other primaries than the victim.
  const isConcerned = async ({ code, host }: typeof room): Promise<boolean> => {
    const keys = [`{room:${code}}`, accountKey(accountIdOf(host))];
    return (await Promise.all(keys.map((key) => nodes.primaryOf(slotOf(key))))).includes(victim);
  };
  let other = await open(there);
  while (await isConcerned(other)) other = await open(there);
  const watchers = await Promise.all([here, there].map((service) => watchRoom(service, room.code)));
  let installId = freshId();
  while ((await nodes.primaryOf(slotOf(accountKey(accountIdOf(installId))))) !== victim) installId = freshId();
  const ofAccount = await watchAccount(here, installId);
  const unconcerned = await watchRoom(here, other.code);
  await room.act('state', room.host, { state: 'before' });
  await nodes.kill(victim);
  await other.act('state', other.host, { state: 'meanwhile' });
  await unconcerned.until((message) => message.room?.state === 'meanwhile', PATIENCE_MS);
  await nodes.untilFailedOver(victim);
  await expect.poll(async () => (await here.get(`/v1/rooms/${room.code}`)).status, { timeout: PATIENCE_MS }).toBe(200);
  await room.act('state', room.host, { state: 'after' });
  for (const watcher of watchers) await watcher.until((message) => message.room?.state === 'after', PATIENCE_MS);
  const credit = () => there.post('/v1/coins/credit', { installId, coins: 7, key: 'after' });
  await eventually(async () => (await credit()).status === 200);
  await reaches(ofAccount, 7);
  for (const watcher of [...watchers, unconcerned]) {
    expect([watcher.faults, watcher.isClosed]).toEqual([[], false]);
    await watcher.close();
  }
});
