import { describe, expect, test } from 'vitest';
import { accountIdOf } from '../../src/accounts/ids.ts';
import { listOf, pair } from '../features/sessions/paired.ts';
import { freshId, signIn } from '../harness.ts';
import { twoProcesses } from './own.ts';
import { Watcher } from './watcher.ts';

const { here, there } = await twoProcesses();

const end = (id: string, cookies: string) => here.post('/v1/sessions/end', { id }, { cookies });
const ownId = async (cookies: string): Promise<string> => (await listOf(here, cookies)).find(({ current }) => current).id;

describe('a player on the live channel of a room', () => {
  /** A player on a process other than the one that the requests of the test go to. */
  async function seated(cookies: string, installId?: string) {
    const { room } = (await here.post('/v1/rooms', { name: 'Ada' }, { cookies })).body;
    const watcher = await Watcher.open(there.url, `/v1/rooms/${room.code}/live`, installId === undefined ? { cookies } : {});
    if (installId !== undefined) watcher.send({ type: 'hello', installId });
    await watcher.until(({ type }) => type === 'welcome');
    await watcher.until((message) => message.room?.players[0].connected === true);
    return watcher;
  }
  const isAway = (watcher: Watcher) => expect.poll(() => watcher.last.room.players[0].connected).toBe(false);

  // The renewal of leases notices the end too, within three seconds. So the test compares the messages of the processes.
  test.each<[string, (session: { phone: string; browser: string; id: string }) => Promise<unknown>]>([
    ['is ended by another', ({ phone, id }) => end(id, phone)],
    ['ends itself', ({ browser, id }) => end(id, browser)],
    ['signs out', ({ browser }) => here.post('/v1/logout', {}, { cookies: browser })],
    ['signs out everywhere', ({ phone }) => here.post('/v1/logout', { everywhere: true }, { cookies: phone })],
  ])('loses its player on every process at once when its session %s', async (_, happens) => {
    const installId = freshId();
    const phone = await signIn(here, installId);
    const browser = (await pair(here, { installId })).cookies;
    const watcher = await seated(browser);
    const told: string[] = [];
    const subscriber = here.service.redis.duplicate({ enableOfflineQueue: true });
    subscriber.on('pmessage', (_pattern, _channel, accountId) => told.push(accountId));
    await subscriber.psubscribe('*standings*');
    await happens({ phone, browser, id: await ownId(browser) });
    const { error } = await watcher.until(({ type }) => type === 'error');
    expect(error.code).toBe('session_required');
    await expect.poll(() => told).toEqual([accountIdOf(installId)]);
    await isAway(watcher);
    // The connection goes on, and takes another credential.
    watcher.send({ type: 'hello', installId });
    await watcher.until(() => watcher.last.room.players[0].connected === true);
    subscriber.disconnect();
  });

  test('keeps its player by the installId when a session of its account ends', async () => {
    const installId = freshId();
    const phone = await signIn(here, installId);
    const browser = (await pair(here, { installId })).cookies;
    const watcher = await seated(phone, installId);
    await end(await ownId(browser), phone);
    await end(await ownId(phone), phone);
    // Longer than the time after which a player counts as disconnected.
    await expect(watcher.until(({ type }) => type === 'error', 500)).rejects.toThrow(/not within/);
    expect(watcher.last.room.players[0].connected).toBe(true);
  });
});
