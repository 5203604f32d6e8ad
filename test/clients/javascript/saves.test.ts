import { describe, expect, test } from 'vitest';
import type { Fetch } from '../../../src/clients/javascript/request.ts';
import { savesOf, type SavedData, type SavesOptions } from '../../../src/clients/javascript/saves.ts';
import { forFile, freshId, start } from '../../harness.ts';
import { issue } from '../../store.ts';
import { done, player, TestStore } from './player.ts';

const service = await forFile(start({ settings: { STORE: 'sandbox' } }));

const SLOT = { game: 'tetris', name: 'slot' } as const;

/** A fetch that loses saves before the service gets them, or their answers, until the test says `never`. */
function losing(when: 'before' | 'after' | 'never') {
  const send = async (...[url, init]: Parameters<Fetch>) => {
    if (init.method === 'GET' && losses.when === 'before') throw new TypeError('offline');
    if (init.method === 'GET' || !url.includes('/v1/saves/')) return fetch(url, init);
    losses.sent.push((JSON.parse(init.body!) as { data: unknown }).data);
    if (losses.when === 'before') throw new TypeError('offline');
    const answer = await fetch(url, init);
    if (losses.when === 'after') throw new TypeError('the answer is lost');
    return answer;
  };
  const losses = Object.assign(send, { when, sent: [] as unknown[] });
  return losses;
}

/** A device of a player, with the conflicts that its game has seen. */
function device(installId = freshId(), fetch: Fetch = losing('never'), store = new TestStore(), more: SavesOptions = {}) {
  const client = player(service.url, { installId, fetch }, store);
  const conflicts: [mine: SavedData, theirs: SavedData][] = [];
  const saves = savesOf(client, {
    device: 'phone',
    onConflict: (mine, theirs) => (conflicts.push([mine, theirs]), `${String(theirs.data)}+${String(mine.data)}`),
    ...more,
  });
  const save = (data: unknown) => saves.save({ ...SLOT, data });
  return { ...saves, client, conflicts, installId, store, save, load: () => saves.load(SLOT), [Symbol.dispose]: () => client.close() };
}

const stands = async (installId: string) => {
  const { body } = await service.get('/v1/saves/tetris/slot', { headers: { 'x-install-id': installId } });
  return [body.version, body.data];
};

describe('saves', () => {
  test('are read and written, each version after the one before', async () => {
    using one = device();
    expect(await one.load()).toMatchObject({ ok: false, error: { code: 'save_not_found' } });
    expect(await one.save('a')).toMatchObject({ ok: true, version: 1, data: 'a' });
    expect(await one.save('b')).toMatchObject({ version: 2 });
    expect(await one.load()).toMatchObject({ ok: true, version: 2, data: 'b', device: 'phone' });
    expect(await Promise.all(['c', 'd', 'e'].map((data) => one.save(data)))).toMatchObject([{ ok: true }, { ok: true }, { ok: true }]);
    expect([(await stands(one.installId))[1], one.conflicts]).toEqual(['e', []]);
  });

  test('of two devices meet in `onConflict`, once each, and both devices end with the merge', async () => {
    const installId = freshId();
    using one = device(installId);
    using other = device(installId);
    await one.save('a');
    await other.load();
    await one.save('b');
    expect(await other.save('c')).toMatchObject({ ok: true, version: 3, data: 'b+c' });
    expect(other.conflicts).toMatchObject([[{ data: 'c' }, { data: 'b', version: 2 }]]);
    using fresh = device(installId);
    expect(await fresh.save('x')).toMatchObject({ version: 4, data: 'b+c+x' });
    expect(await one.load()).toMatchObject({ version: 4, data: 'b+c+x' });
    expect(await one.save('d')).toMatchObject({ version: 5 });
    expect(one.conflicts).toEqual([]);
  });

  test('without `onConflict` keep this device’s data', async () => {
    const installId = freshId();
    using one = device(installId);
    await one.save('a');
    using other = device(installId, undefined, undefined, { onConflict: undefined as never });
    expect(await other.save('b')).toMatchObject({ ok: true, version: 2, data: 'b' });
  });

  test('survive a crash while the service is away: the next start sends the newest only', async () => {
    const store = new TestStore();
    const installId = freshId();
    const send = losing('never');
    {
      using crashed = device(installId, send, store);
      await crashed.save('a');
      send.when = 'before';
      for (const data of ['b', 'c', 'd']) expect(await crashed.save(data)).toMatchObject({ ok: false, pending: true });
      expect(await crashed.load()).toMatchObject({ ok: true, data: 'd', pending: true });
    }
    const later = losing('never');
    using next = device(installId, later, store);
    await expect.poll(() => stands(installId)).toEqual([2, 'd']);
    expect([later.sent, next.conflicts]).toEqual([['d'], []]);
    expect(await next.save('e')).toMatchObject({ version: 3 });
  });

  test('that are on their way when the client is closed are sent by the next start', async () => {
    const [store, installId] = [new TestStore(), freshId()];
    const under = Promise.withResolvers<void>();
    const send: Fetch = (url, init) => {
      if (init.method === 'GET') return fetch(url, init);
      under.resolve();
      return new Promise((_, reject) => init.signal.addEventListener('abort', () => reject(new Error('aborted'))));
    };
    const closed = device(installId, send, store);
    const saving = closed.save('a');
    await under.promise;
    closed.client.close();
    expect(await saving).toMatchObject({ ok: false, pending: true });
    using next = device(installId, undefined, store);
    await expect.poll(() => stands(installId)).toEqual([1, 'a']);
    expect(next.conflicts).toEqual([]);
  });

  test('of a start that has not read the current version do not replace it', async () => {
    const [store, installId] = [new TestStore(), freshId()];
    {
      using first = device(installId, undefined, store);
      await first.save('a');
    }
    const send = losing('before');
    using next = device(installId, send, store);
    expect(await next.load()).toMatchObject({ ok: false });
    expect(await next.save('b')).toMatchObject({ pending: true });
    send.when = 'never';
    expect(await next.load()).toMatchObject({ ok: true, version: 2, data: 'a+b' });
    expect(next.conflicts).toMatchObject([[{ data: 'b' }, { data: 'a', version: 1 }]]);
  });

  test('whose answers were lost are no conflict with the ones after them', async () => {
    const send = losing('never');
    using one = device(freshId(), send);
    await one.save('a');
    send.when = 'after';
    expect(await one.save('b')).toMatchObject({ ok: false, pending: true });
    expect(await stands(one.installId)).toEqual([2, 'b']);
    expect(await one.save('c')).toMatchObject({ ok: false, pending: true });
    send.when = 'never';
    expect(await one.save('d')).toMatchObject({ ok: true, version: 3, data: 'd' });
    expect(one.conflicts).toEqual([]);
  });

  test('that are made during a merge are merged too, because the game made them without it', async () => {
    const installId = freshId();
    using one = device(installId);
    await one.save('a');
    const [asked, answer] = [Promise.withResolvers<void>(), Promise.withResolvers<string>()];
    const onConflict = ({ data }: SavedData, theirs: SavedData) =>
      data === 'b' ? (asked.resolve(), answer.promise) : `${String(theirs.data)}+${String(data)}`;
    using other = device(installId, undefined, undefined, { onConflict });
    const first = other.save('b');
    await asked.promise;
    const second = other.save('c');
    await expect.poll(() => [...other.store.kept.values()].some((kept) => kept.includes(String.raw`"text":"\"c\""`))).toBe(true);
    answer.resolve('a+b');
    expect([await first, await second]).toMatchObject([
      { version: 2, data: 'a+c' },
      { version: 2, data: 'a+c' },
    ]);
  });

  test('that were merged later than their call are merged with the next save of a game that did not hear of it', async () => {
    for (const onSaved of [undefined, () => {}]) {
      const [installId, send] = [freshId(), losing('never')];
      using one = device(installId);
      using other = device(installId, send, undefined, { onSaved: onSaved as never });
      await one.save('a');
      await other.load();
      send.when = 'before';
      expect(await other.save('b')).toMatchObject({ pending: true });
      await one.save('c');
      send.when = 'never';
      other.wake();
      await expect.poll(() => stands(installId)).toEqual([3, 'c+b']);
      expect(await other.save('d')).toMatchObject({ ok: true, version: 4, data: onSaved ? 'd' : 'c+b+d' });
      expect(other.conflicts.map(([, { version }]) => version)).toEqual(onSaved ? [2] : [2, 3]);
      expect(await other.save('e')).toMatchObject({ ok: true, version: 5, data: 'e' });
    }
  });

  test('that wait as a merge are given to the game, which goes on with them', async () => {
    const [installId, send] = [freshId(), losing('never')];
    using one = device(installId);
    const onConflict = (mine: SavedData, { data }: SavedData) => ((send.when = 'before'), `${String(data)}+${String(mine.data)}`);
    using other = device(installId, send, undefined, { onConflict });
    await one.save('a');
    expect(await other.save('b')).toMatchObject({ ok: false, pending: true, data: 'a+b' });
    send.when = 'never';
    expect(await other.save('a+b+c')).toMatchObject({ ok: true, version: 2, data: 'a+b+c' });
    expect(send.sent).toEqual(['b', 'a+b', 'a+b+c']);
  });

  test('that wait are read before the service has any save', async () => {
    const send: Fetch = (url, init) => (init.method === 'GET' ? fetch(url, init) : Promise.reject(new TypeError('offline')));
    using one = device(freshId(), send);
    expect(await one.save('a')).toMatchObject({ ok: false, pending: true });
    expect(await one.load()).toMatchObject({ ok: true, data: 'a', pending: true });
  });

  test('of a guest that moves into an account are handed to the game by the next load', async () => {
    const { token } = await issue(service, { kind: 'id_token', subject: freshId('subject') });
    using account = device();
    await done(account.client.store.provision({ token }));
    await account.save('a');
    using guest = device();
    await guest.save('g');
    expect(await done(guest.client.store.provision({ token }))).toMatchObject({ moved: true });
    expect(await guest.load()).toMatchObject({ ok: true, version: 4, data: 'g+a' });
    expect(guest.conflicts).toMatchObject([
      [
        { data: 'a', version: 3 },
        { data: 'g', version: 2 },
      ],
    ]);
    expect(await account.load()).toMatchObject({ version: 4, data: 'g+a' });
  });

  test('end with a final refusal', async () => {
    const results: unknown[] = [];
    using one = device(freshId(), undefined, undefined, { onSaved: (of, { ok }) => void results.push([of, ok]) });
    expect(await one.save('a'.repeat(70_000))).toMatchObject({ ok: false, error: { code: 'save_limit' } });
    expect([...one.store.kept.values()].join('')).not.toContain('aaaa');
    expect(results).toEqual([[SLOT, false]]);
    expect(await one.save('b')).toMatchObject({ ok: true, version: 1 });
  });

  test('wait for the player who made them', async () => {
    const [ada, bob] = [freshId('subject'), freshId('subject')];
    const tokenOf = async (subject: string) => (await issue(service, { kind: 'id_token', subject })).token as string;
    const send = losing('never');
    const client = player(service.url, { fetch: send });
    using _ = client;
    const saves = savesOf(client);
    const signIn = async (subject: string) => done(client.store.provision({ token: await tokenOf(subject) }));
    await signIn(ada);
    await saves.save({ ...SLOT, data: 'first' });
    send.when = 'before';
    expect(await saves.save({ ...SLOT, data: 'late' })).toMatchObject({ pending: true });
    send.when = 'never';
    await done(client.sessions.logout());
    await signIn(bob);
    expect(await saves.load(SLOT)).toMatchObject({ ok: false, error: { code: 'save_not_found' } });
    expect(await saves.save({ ...SLOT, data: 'of bob' })).toMatchObject({ ok: true, version: 1 });
    saves.wake();
    using other = device();
    await done(other.client.store.provision({ token: await tokenOf(ada) }));
    expect(await other.load()).toMatchObject({ data: 'first' });
    await done(client.sessions.logout());
    await signIn(ada);
    saves.wake();
    await expect.poll(() => other.load()).toMatchObject({ version: 2, data: 'late' });
  });
});
