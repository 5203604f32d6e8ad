import { Agent, request } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { writtenKeys } from '../../src/features/rooms/list/list-model.ts';
import type { Stand } from './prove-acts.ts';
import { post } from './storm.ts';
import { watchRoom, Watcher } from './watcher.ts';

const GAME = 'killed';
const ROOMS = 500;
const MATCHES = 400;

/** The most rooms, matches or sockets that are being opened at a time. */
const AT_ONCE = 50;

/**
 * Kills every process of a service with 500 public rooms, half of which have a player on a channel, while 400 players ask for matches.
 * Within 15 s none of the rooms is in the list, and no seat stays reserved for a dead request.
 */
export async function proveListKilled({ child, stopAll, forget, commands, report, exactly }: Stand): Promise<void> {
  const doomed = await Promise.all([child(), child()]);
  const open = async (index: number): Promise<void> => {
    const service = doomed[index % 2]!;
    const installId = `list-host-${index}`;
    const { room } = await post(service.url, '/v1/rooms', { installId, game: GAME, public: true, maxPlayers: 4, tags: { mode: 'duel' } });
    if (index % 4 < 2) return;
    const watcher = await watchRoom(service, room.code as string);
    await watcher.hello(installId);
  };
  for (let start = 0; start < ROOMS; start += AT_ONCE)
    await Promise.all(Array.from({ length: AT_ONCE }, (_, index) => open(start + index)));
  const listed = async (url: string): Promise<number> => {
    let count = 0;
    for (let cursor = ''; ;) {
      const reply = await fetch(`${url}/v1/rooms?game=${GAME}&limit=100${cursor}`);
      const { rooms, nextCursor } = (await reply.json()) as { rooms: unknown[]; nextCursor?: string };
      count += rooms.length;
      if (nextCursor === undefined) return count;
      cursor = `&cursor=${nextCursor}`;
    }
  };
  exactly(`rooms listed of ${ROOMS} opened on two processes`, await listed(doomed[0]!.url), ROOMS);
  // These players have a separate game, because otherwise their rooms would not be full.
  const ask = (url: string, index: number): Promise<unknown> =>
    post(url, '/v1/rooms/match', { installId: `list-guest-${index}`, game: `${GAME}-matches`, maxPlayers: 4 });
  const asked = Array.from({ length: MATCHES }, (_, index) =>
    ask(doomed[index % 2]!.url, index).then(
      () => 1,
      () => 0,
    ),
  );
  await Promise.race(asked);
  const killedAt = performance.now();
  await Promise.all(doomed.map((service) => service.stop('SIGKILL')));
  for (const service of doomed) forget(service);
  const answered = (await Promise.all(asked)).reduce<number>((sum, one) => sum + one, 0);
  const { reserved } = writtenKeys(`${GAME}-matches`);
  report(
    `both killed, with ${MATCHES} matches under way: answered; seats still reserved`,
    `${answered}; ${await commands.zcard(reserved)}`,
  );
  const next = await child();
  const watcher = await Watcher.open(next.url, `/v1/lobby/live?game=${GAME}&tag.mode=duel`);
  while ((await listed(next.url)) > 0 && performance.now() - killedAt < 30_000) await delay(100);
  const emptyAfter = (performance.now() - killedAt) / 1000;
  report('  the list is empty after, s', emptyAfter, '<= 15', emptyAfter <= 15);
  await watcher.until((message) => message.type === 'rooms' && message.rooms.length === 0);
  const liveAfter = (performance.now() - killedAt) / 1000;
  report('  and the live list after, s', liveAfter, '<= 15.6', liveAfter <= 15.6);
  await watcher.close();
  // Players with reservations do not come back. Each of these requests ends expired reservations.
  await Promise.all(Array.from({ length: AT_ONCE }, (_, index) => ask(next.url, MATCHES + index)));
  const deadline = performance.now() + 5000;
  while ((await commands.zcard(reserved)) > 0 && performance.now() < deadline) await delay(50);
  exactly('  seats reserved for nobody', await commands.zcard(reserved), 0);
  await stopAll();
}

const PLAYERS = 1000;
const SEATS = 4;

/** A thousand players ask two processes for a match at once. */
export async function proveMatches({ child, stopAll, report, exactly }: Stand): Promise<void> {
  const services = await Promise.all([child(), child()]);
  // The connections are opened before, because the proof does not concern them.
  const agents = services.map(() => new Agent({ keepAlive: true, maxSockets: PLAYERS }));
  const look = (index: number): Promise<unknown> => asked(services[index % 2]!.url, '/health', agents[index % 2]!);
  await Promise.all(Array.from({ length: PLAYERS }, (_, index) => look(index)));
  const match = async (index: number): Promise<{ code: string; ms: number; isSeated: boolean }> => {
    const startedAt = performance.now();
    const body = { installId: `match-player-${index}`, game: 'at-once', maxPlayers: SEATS };
    const { room, you } = (await asked(services[index % 2]!.url, '/v1/rooms/match', agents[index % 2]!, body)) as Matched;
    const isSeated = room.players.some(({ id }) => id === you.playerId);
    return { code: room.code, ms: performance.now() - startedAt, isSeated };
  };
  const seated = await Promise.all(Array.from({ length: PLAYERS }, (_, index) => match(index)));
  const rooms = Map.groupBy(seated, ({ code }) => code);
  const ms = seated.map((each) => each.ms).toSorted((one, other) => one - other);
  const most = Math.floor((PLAYERS / SEATS) * 1.05) + 1;
  report(`${PLAYERS} matches at once into ${SEATS} seats: rooms`, rooms.size, `<= ${most}`, rooms.size <= most);
  exactly('  players without a seat', seated.filter(({ isSeated }) => !isSeated).length, 0);
  exactly('  rooms above their seats', [...rooms.values()].filter(({ length }) => length > SEATS).length, 0);
  const p99 = ms[Math.floor(PLAYERS * 0.99)]!;
  report('  answered after, ms, p99', p99, '<= 1000', p99 <= 1000);
  for (const agent of agents) agent.destroy();
  await stopAll();
}

interface Matched {
  readonly room: { readonly code: string; readonly players: readonly { readonly id: string }[] };
  readonly you: { readonly playerId: string };
}

function asked(url: string, path: string, agent: Agent, body?: object): Promise<unknown> {
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  const options = { method: body === undefined ? 'GET' : 'POST', agent, headers: { 'content-type': 'application/json' } };
  const asking = request(url + path, options, (response) => {
    let text = '';
    response.on('data', (chunk: Buffer) => (text += chunk.toString()));
    response.on('end', () => (response.statusCode === 200 ? resolve(JSON.parse(text)) : reject(new Error(text))));
  });
  asking.on('error', reject);
  asking.end(body === undefined ? undefined : JSON.stringify(body));
  return promise;
}
