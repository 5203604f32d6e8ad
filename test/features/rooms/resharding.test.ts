import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { roomKeys } from '../../../src/features/rooms/model.ts';
import { startCluster, type TestCluster } from '../../cluster-nodes.ts';
import { start, type TestService } from '../../harness.ts';
import { watchRoom, type Message, type Watcher } from '../../realtime/watcher.ts';
import { open, type TestRoom } from './room.ts';

let cluster: TestCluster;
let services: [TestService, TestService];

beforeAll(async () => {
  cluster = await startCluster();
  services = [await start({ redis: { url: cluster.url } }), await start({ redis: { url: cluster.url } })];
});

afterAll(async () => {
  for (const service of services) await service[Symbol.asyncDispose]();
  await cluster[Symbol.asyncDispose]();
});

const ACTS = 60;

/** Refusals after which a client tries again. */
const PASSING = ['store_unavailable', 'rate_limited', 'overloaded'];

/** A tab of a player: sends each act again until it is `acted`, on a new connection if the old one was closed. */
class Tab {
  readonly heard: Message[] = [];
  readonly #room: TestRoom;
  readonly #installId: string;
  readonly #at: TestService;
  #watcher: Watcher | undefined;

  constructor(room: TestRoom, installId: string, at: TestService) {
    this.#room = room;
    this.#installId = installId;
    this.#at = at;
  }

  async play(): Promise<void> {
    for (let order = 1; order <= ACTS; order++) {
      const act = order % 2 === 0 ? { action: 'message', data: order } : { action: 'data', merge: { [`k${order % 7}`]: order } };
      while (!(await this.#isActed({ type: 'act', order, ...act }))) await pause(20);
    }
  }

  async close(): Promise<void> {
    await this.#watcher?.close();
    this.#keep();
  }

  /** Keeps the messages of the connection. */
  #keep(): void {
    this.heard.push(...this.#watcher!.messages.filter(({ type }) => type === 'message' || type === 'missed'));
    this.#watcher = undefined;
  }

  async #isActed(act: { type: 'act'; order: number }): Promise<boolean> {
    try {
      const watcher = (this.#watcher ??= await this.#open());
      const from = watcher.messages.length;
      watcher.send(act);
      const { error } = await watcher.until(
        (message) => message.type === 'acted' && message.order === act.order && watcher.messages.indexOf(message) >= from,
      );
      if (error !== undefined) expect(PASSING).toContain(error.code);
      return error === undefined;
    } catch (error) {
      if (this.#watcher?.isClosed !== true) throw error;
      this.#keep();
      return false;
    }
  }

  /** A channel after its `welcome`. */
  async #open(): Promise<Watcher> {
    for (; ; await pause(50)) {
      const watcher = await watchRoom(this.#at, this.#room.code);
      const { type, error } = await watcher.hello(this.#installId, 'tab').catch(async (cause: unknown) => {
        if (!watcher.isClosed) throw cause;
        return { type: 'closed' };
      });
      if (type === 'welcome') return watcher;
      if (error !== undefined) expect(PASSING).toContain(error.code);
      if (!watcher.isClosed) await watcher.close();
    }
  }
}

test('acts in a room whose slot moves back and forth are each done once, and messages told as missed never come', async () => {
  const room = await open(services[0]);
  const players = [room.host, await room.join(), await room.join(), await room.join()];
  const slot = cluster.slotOf(roomKeys.room(room.code));
  const tabs = players.map((installId, index) => new Tab(room, installId, services[index % 2]!));
  const moves = await cluster.moveWhile(Promise.all(tabs.map((tab) => tab.play())), slot, 100);
  for (const tab of tabs) await tab.close();

  // There and back.
  expect(moves).toBeGreaterThan(1);
  // The number of the next message is one more than the number of `acted` messages.
  const watcher = await watchRoom(services[0], room.code);
  await room.act('message', room.host, { data: 'last' });
  expect((await watcher.until(({ type }) => type === 'message')).n).toBe((players.length * ACTS) / 2 + 1);
  await watcher.close();
  for (const { data } of (await room.read()).players) expect(data).toEqual({ k0: 49, k1: 57, k2: 51, k3: 59, k4: 53, k5: 47, k6: 55 });
  for (const { heard } of tabs) {
    const numbers = heard.filter(({ type }) => type === 'message').map(({ n }) => n);
    expect(numbers).toEqual([...new Set(numbers)]);
    const missed = heard.filter(({ type }) => type === 'missed');
    expect(numbers.filter((n) => missed.some(({ from, to }) => from <= n && n <= to))).toEqual([]);
  }
});
