import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { roomKeys } from '../../src/features/rooms/model.ts';
import { runAuditCommand } from '../consistency/command.ts';
import { startProxiedCluster, type ProxiedCluster } from '../cluster-proxy.ts';
import type { Child } from '../realtime/child.ts';
import { Client } from './client.ts';
import { reportAudit, type Stand } from './coins.ts';
import { now, type History } from './history.ts';
import { Processes } from './processes.ts';

const ROOMS = 200;

/** Every tenth room changes 20 times a second at the default rate, the others once. */
const BUSY_EVERY = 10;
const BUSY_SHARE = 20 / 1500;
const QUIET_SHARE = 1 / 1500;

const CHANGING_MS = 24_000;
const RESHARD_AFTER_MS = 3000;
const RESHARDING_MS = 7000;
const KILL_AFTER_MS = 12_000;

/** The delay of replication. Delayed changes are lost with the primary, so some rooms go back. */
const LAG_MS = 20;

/** A hub compares what it sent with Redis every 3 s. */
const CATCH_UP_MS = 15_000;

/** The close code of a channel whose room went back to an earlier state: `src/server/live/close-codes.ts`. */
const WENT_BACK = 4009;

const SEQ = /^\{"type":"room","seq":(\d+)/;

/** A watcher of a room. It opens its channel again after a close. */
class RoomWatcher {
  readonly closeCodes: number[] = [];
  /** Messages of one connection whose `seq` did not rise. */
  faults = 0;
  messages = 0;
  /** The last message. */
  last = '';
  readonly #process: Child;
  readonly #code: string;
  readonly #history: History;
  #socket: WebSocket | undefined;
  #isClosed = false;

  constructor(process: Child, code: string, history: History) {
    [this.#process, this.#code, this.#history] = [process, code, history];
  }

  /** Resolves with the first state. */
  async open(): Promise<void> {
    const socket = new WebSocket(`${this.#process.url.replace('http', 'ws')}/v1/rooms/${this.#code}/live`);
    this.#socket = socket;
    let seq = 0;
    await new Promise<void>((resolve, reject) => {
      socket.addEventListener('message', ({ data }) => {
        const found = Number(SEQ.exec(data as string)?.[1]);
        if (!(found > seq)) this.faults++;
        seq = found;
        this.messages++;
        this.last = data as string;
        resolve();
      });
      socket.addEventListener('error', () => reject(new Error(`no channel of room ${this.#code}`)));
      socket.addEventListener('close', ({ code }) => {
        reject(new Error(`closed with ${code} before the first state`));
        if (this.#isClosed || seq === 0) return;
        this.closeCodes.push(code);
        this.#history.note({ closed: this.#code, process: this.#process.port, code, seq });
        void this.#reopen();
      });
    });
  }

  close(): void {
    this.#isClosed = true;
    this.#socket?.close();
  }

  async #reopen(): Promise<void> {
    while (!this.#isClosed) {
      await pause(200);
      // The upgrade is refused while the room's primary is down.
      if (
        await this.open().then(
          () => true,
          () => false,
        )
      )
        return;
    }
  }
}

interface WatchedRoom {
  readonly code: string;
  readonly installId: string;
  readonly watchers: readonly RoomWatcher[];
}

/** Rooms with watchers on two processes change, while their slots move and a primary is killed. */
export async function proveSubscriptions({ folder, run, rate, history, figures, closing }: Stand): Promise<void> {
  const cluster = await startProxiedCluster({ replicas: 1 });
  closing.push(() => cluster[Symbol.asyncDispose]());
  const processes = await Processes.open(2, { DATA_DIR: folder, REDIS_URL: cluster.url, SOCKETS_PER_ADDRESS: '100000' });
  closing.push(async () => history.log(await processes.stop()));
  const client = new Client(() => processes.url());
  closing.push(() => client.close());
  const rooms: WatchedRoom[] = [];
  closing.push(() => rooms.forEach(({ watchers }) => watchers.forEach((watcher) => watcher.close())));
  for (let index = 0; index < ROOMS; index++) {
    const installId = `prove-${randomBytes(8).toString('hex')}`;
    const { status, body } = await client.post('/v1/rooms', { installId });
    if (status !== 200) throw new Error(`no room: ${status}`);
    const { code } = body.room as { code: string };
    const watchers = processes.running.map((process) => new RoomWatcher(process, code, history));
    await Promise.all(watchers.map((watcher) => watcher.open()));
    rooms.push({ code, installId, watchers });
  }

  const startedAt = now();
  const endAt = startedAt + CHANGING_MS;
  const changes = rooms.map((room, index) => change(client, room, rate * (index % BUSY_EVERY === 0 ? BUSY_SHARE : QUIET_SHARE), endAt));
  await pause(RESHARD_AFTER_MS);
  const target = cluster.nodes.filter(({ role }) => role === 'primary')[run % 3]!;
  const moves = await reshard(cluster, target.index, rooms, now() + RESHARDING_MS, history);
  await cluster.lag(target, LAG_MS);
  await pause(Math.max(500, startedAt + KILL_AFTER_MS - now()));
  history.event(`SIGKILL for the primary of port ${target.port}`);
  await cluster.kill(target);
  const heir = await cluster.untilFailedOver(target);
  history.event(`the node of port ${heir.port} took over`);
  const made = await Promise.all(changes);

  const last = await Promise.all(rooms.map((room) => setLast(client, room)));
  const watchers = rooms.flatMap((room, index) => room.watchers.map((watcher) => ({ watcher, end: last[index]! })));
  const settledAt = now();
  const behind = (): number => watchers.filter(({ watcher, end }) => !isAt(watcher, end)).length;
  while (behind() > 0 && now() - settledAt < CATCH_UP_MS) await pause(20);

  const codes = watchers.flatMap(({ watcher }) => watcher.closeCodes);
  figures.report('rooms; watchers over two processes', `${ROOMS}; ${watchers.length}`);
  figures.report(
    'changes',
    made.reduce((sum, { done }) => sum + done, 0),
  );
  figures.report(
    'changes refused',
    made.reduce((sum, { refused }) => sum + refused, 0),
  );
  figures.report(
    'states received',
    watchers.reduce((sum, { watcher }) => sum + watcher.messages, 0),
  );
  figures.atLeast('moves of slots of rooms', moves, 1);
  figures.exactly('watchers that did not end with the last state', behind(), 0);
  figures.report('milliseconds until the last one had it', now() - settledAt);
  figures.exactly(
    'states whose seq did not rise within a connection',
    watchers.reduce((sum, { watcher }) => sum + watcher.faults, 0),
    0,
  );
  figures.report('connections closed with 4009', codes.filter((code) => code === WENT_BACK).length);
  figures.exactly('connections closed with another code', codes.filter((code) => code !== WENT_BACK).length, 0);
  figures.atMost('most closes of one watcher', Math.max(...watchers.map(({ watcher }) => watcher.closeCodes.length)), 1);
  for (const {
    code,
    watchers: [one, other],
  } of rooms)
    history.note({ room: code, last: [one!.last, other!.last] });
  reportAudit(figures, await runAuditCommand(['--full-speed', '--list', '5'], { REDIS_URL: cluster.url }));
}

/** Changes the room's state at a rate, one change at a time. */
async function change(
  client: Client,
  { code, installId }: WatchedRoom,
  perSecond: number,
  endAt: number,
): Promise<{ done: number; refused: number }> {
  let [done, refused] = [0, 0];
  await pause((1000 * Math.random()) / perSecond);
  while (now() < endAt) {
    const sentAt = now();
    const { status } = await client.post(`/v1/rooms/${code}/state`, { installId, state: { change: done } });
    if (status === 200) done++;
    else refused++;
    await pause(Math.max(status === 200 ? 0 : 200, sentAt + 1000 / perSecond - now()));
  }
  return { done, refused };
}

/** Moves the slots of the target's rooms to another primary and back. @returns the number of moves */
async function reshard(
  cluster: ProxiedCluster,
  targetIndex: number,
  rooms: readonly WatchedRoom[],
  endAt: number,
  history: History,
): Promise<number> {
  const [target, other] = [
    cluster.nodes[targetIndex]!,
    cluster.nodes.find(({ role, index }) => role === 'primary' && index !== targetIndex)!,
  ];
  const isOfTarget = (slot: number): boolean => target.slots.some(([first, last]) => first <= slot && slot <= last);
  const slots = rooms.map(({ code }) => cluster.slotOf(roomKeys.room(code))).filter(isOfTarget);
  history.event(`moving ${slots.length} slots of rooms`);
  let moves = 0;
  // Every second slot stays with the other primary, so that the failover hits rooms of both kinds.
  for (const to of [other, target]) {
    for (const [index, slot] of slots.entries()) {
      if (now() > endAt || (to === target && index % 2 === 1)) continue;
      await cluster.moveSlot(slot, to);
      moves++;
    }
  }
  history.event(`moved ${moves} times`);
  return moves;
}

/** Sets a unique state. @returns its `seq` and its text */
async function setLast(client: Client, { code, installId }: WatchedRoom): Promise<{ seq: number; state: string }> {
  const state = `last of ${code}`;
  for (let attempt = 1; ; attempt++) {
    const { status, body } = await client.post(`/v1/rooms/${code}/state`, { installId, state });
    if (status === 200) return { seq: body.room.seq, state };
    if (attempt === 40) throw new Error(`room ${code}: ${status} ${JSON.stringify(body)}`);
    await pause(250);
  }
}

function isAt({ last }: RoomWatcher, { seq, state }: { seq: number; state: string }): boolean {
  if (last === '') return false;
  const message = JSON.parse(last) as { seq: number; room: { state: unknown } };
  // The end of a player's connection may have changed the room since, so its seq can be higher.
  return message.seq >= seq && message.room.state === state;
}
