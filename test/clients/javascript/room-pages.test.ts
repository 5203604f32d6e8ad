import { afterEach, describe, expect, test, vi } from 'vitest';
import { WebSocket as WsSocket } from 'ws';
import { lastSeat, playRoom } from '../../../src/clients/javascript/rooms.ts';
import { forFile, sleep, start } from '../../harness.ts';
import { openRoom, seat } from './played.ts';
import { player, stubSessionStorage, TestStore } from './player.ts';

const service = await forFile(start());
afterEach(() => vi.unstubAllGlobals());

/** A browser tab: its sessionStorage, and the pages that it loads one after the other. */
class Tab {
  readonly kept: Map<string, string>;
  readonly store: TestStore;
  window = new EventTarget();
  /** Messages that the pages sent over their sockets. */
  readonly sent: { type: string; tab?: string; order?: number; action?: string }[] = [];
  /** Whether the page's messages or their answers are lost. */
  fault: 'none' | 'lost' | 'unanswered' = 'none';

  constructor(store: TestStore, kept: Iterable<[string, string]> = []) {
    this.store = store;
    this.kept = new Map(kept);
  }

  /** As in a browser, the new tab gets a copy of the current storage. */
  duplicate(): Tab {
    return new Tab(this.store, this.kept);
  }

  #enter(): void {
    stubSessionStorage(this.kept);
    vi.stubGlobal('document', Object.assign(new EventTarget(), { hidden: false }));
    for (const name of ['addEventListener', 'removeEventListener'] as const) vi.stubGlobal(name, this.window[name].bind(this.window));
  }

  /** Loads a page that plays in the room. */
  load(code: string) {
    this.window = new EventTarget();
    this.#enter();
    const tab = this;
    class Recorded extends WsSocket {
      override send(text: string): void {
        const message = JSON.parse(text) as (typeof tab.sent)[number];
        tab.sent.push(message);
        const isAct = message.type === 'act';
        if (isAct && tab.fault === 'unanswered') this.onmessage = null;
        if (!isAct || tab.fault !== 'lost') super.send(text);
      }
    }
    const client = player(service.url, { WebSocket: Recorded as never }, this.store);
    const room = playRoom(client, code);
    return { client, room, last: () => (this.#enter(), lastSeat(client)) };
  }

  /** Loads a page, and waits until it is Bob's. */
  async seated(code: string) {
    const page = this.load(code);
    await expect.poll(() => page.room.me?.id).toBe('p2');
    return page;
  }

  /** Unloads the page, as a reload or another address does. */
  unload({ client }: { client: { close(): void } }): void {
    this.#enter();
    this.window.dispatchEvent(new Event('pagehide'));
    client.close();
  }
}

/** Ada's room, in which Bob has a seat. A second connection keeps Bob connected, so that only his acts raise `seq`. */
async function table() {
  const ada = player(service.url);
  const store = new TestStore();
  const steady = player(service.url, {}, store);
  const code = await openRoom(ada);
  await seat(steady, code);
  const [ofAda, other] = [playRoom(ada, code), playRoom(steady, code)];
  await expect.poll(() => ofAda.players.map(({ connected }) => connected)).toEqual([true, true]);
  expect(other.code).toBe(code);
  return { code, ada: ofAda, tab: new Tab(store), [Symbol.dispose]: () => [ada, steady].forEach((client) => client.close()) };
}

const flips = (room: ReturnType<typeof playRoom>, count: number) =>
  Array.from({ length: count }, (_, n) => room.act(n % 2 === 0 ? 'ready' : 'unready'));

describe('a reloaded page', () => {
  test.each(['lost', 'unanswered'] as const)('finishes the acts of the page before once, and then goes on (acts %s)', async (fault) => {
    using at = await table();
    const { code, tab, ada } = at;
    const first = await tab.seated(code);
    const before = ada.room!.seq;
    tab.fault = fault;
    void flips(first.room, 6);
    void first.room.set('last words');
    await expect.poll(() => tab.sent.some(({ type }) => type === 'act')).toBe(true);
    tab.unload(first);
    tab.fault = 'none';
    const second = tab.load(code);
    expect(second.last()).toMatchObject({ code, playerId: 'p2' });
    // Its own data shows before the service has it.
    await expect.poll(() => second.room.me?.data).toBe('last words');
    expect(await second.room.act('ready')).toMatchObject({ ok: true });
    await expect.poll(() => ada.room!.seq).toBe(before + 8);
    expect(ada.players[1]).toMatchObject({ ready: true, data: 'last words' });
    expect([...tab.kept.keys()].filter((key) => key.includes(':acts:'))).toEqual([]);
    second.client.close();
  });

  test('finds its seats in several rooms, and the last one that it entered', async () => {
    using at = await table();
    using other = await table();
    const first = await at.tab.seated(at.code);
    const second = playRoom(first.client, other.code);
    await first.client.rooms.join({ code: other.code });
    await expect.poll(() => second.me?.id).toBe('p3');
    expect(first.last()).toMatchObject({ code: other.code, playerId: 'p3' });
    expect(await second.act('leave')).toMatchObject({ ok: true });
    expect(first.last()).toMatchObject({ code: at.code, playerId: 'p2' });
    first.client.close();
  });

  test('sends no acts of a seat that the player no longer has', async () => {
    using at = await table();
    const { code, tab, ada } = at;
    const first = await tab.seated(code);
    tab.fault = 'lost';
    void first.room.set('of p2');
    tab.unload(first);
    tab.fault = 'none';
    const { installId } = JSON.parse(tab.store.kept.get('coinop:me')!) as { installId: string };
    for (const action of ['leave', 'join']) await service.post(`/v1/rooms/${code}/${action}`, { installId });
    const second = tab.load(code);
    await expect.poll(() => second.room.me?.id).toBe('p3');
    expect(await second.room.act('ready')).toMatchObject({ ok: true });
    expect(ada.players[1]).toMatchObject({ id: 'p3', data: null });
    second.client.close();
  });

  test.each(['[1,null]', '{'])('continues although its storage is damaged or full (%s)', async (damage) => {
    using at = await table();
    const { code, tab } = at;
    tab.kept.set('coinop:seat', '{');
    tab.kept.set(`coinop:acts:${code}`, damage);
    const first = tab.load(code);
    expect(await first.room.set(1)).toMatchObject({ ok: true });
    tab.kept.set = () => {
      throw new Error('QuotaExceededError');
    };
    tab.unload(first);
    const second = tab.load(code);
    expect(await second.room.set(2)).toMatchObject({ ok: true });
    second.client.close();
  });
});

describe('a tab that is duplicated', () => {
  test('during play numbers its acts separately: both pages act, and no act counts as a repetition', async () => {
    using at = await table();
    const { code, tab, ada } = at;
    const page = await tab.seated(code);
    expect(await page.room.set(1)).toMatchObject({ ok: true });
    const copy = tab.duplicate();
    const other = await copy.seated(code);
    const before = ada.room!.seq;
    const results = [];
    for (let n = 0; n < 10; n++) results.push(await page.room.act('ready'), await other.room.act('unready'));
    expect(results).toEqual(results.map(() => ({ ok: true, seq: expect.any(Number) })));
    await expect.poll(() => ada.room!.seq).toBe(before + 20);
    const names = [tab, copy].map(({ sent }) => new Set(sent.map((message) => message.tab)));
    expect([names.map(({ size }) => size), new Set(names.flatMap((each) => [...each])).size]).toEqual([[1, 1], 2]);
    page.client.close();
    other.client.close();
  });

  test('with unfinished acts of an earlier page sends them once, also if the copy of the page sends first', async () => {
    using at = await table();
    const { code, tab, ada } = at;
    const first = await tab.seated(code);
    const before = ada.room!.seq;
    tab.fault = 'lost';
    void flips(first.room, 5);
    tab.unload(first);
    tab.fault = 'none';
    const copies = [tab, tab.duplicate(), tab.duplicate()];
    const pages = copies.map((each) => each.load(code));
    await expect.poll(() => pages.map(({ room }) => room.unanswered)).toEqual([0, 0, 0]);
    // No act may follow that ran before.
    await sleep(100);
    await expect.poll(() => [ada.room!.seq, ada.players[1]!.ready]).toEqual([before + 5, true]);
    const own = copies.map(({ sent }) => sent.filter(({ type }) => type === 'hello').at(-1)!.tab);
    expect(new Set(own).size).toBe(3);
    for (const { client } of pages) client.close();
  });
});

test('a page that the browser kept in memory continues where it stopped', async () => {
  using at = await table();
  const { code, tab, ada } = at;
  const page = await tab.seated(code);
  tab.window.dispatchEvent(new Event('pagehide'));
  tab.window.dispatchEvent(new Event('pageshow'));
  expect(await page.room.set('back')).toMatchObject({ ok: true });
  await expect.poll(() => ada.players[1]!.data).toBe('back');
  page.client.close();
});
