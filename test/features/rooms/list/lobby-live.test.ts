import { expect, test } from 'vitest';
import { forFile, freshId, sleep, start } from '../../../harness.ts';
import { Watcher, type Message } from '../../../realtime/watcher.ts';
import { open, type TestRoom } from '../room.ts';

const service = await forFile(start());
const other = await forFile(start());

const freshGame = (): string => freshId('game').toLowerCase();
const openPublic = (game: string, settings: object = {}, at = service): Promise<TestRoom> =>
  open(at, { game, public: true, maxPlayers: 4, ...settings });
const watch = (query: string, at = service): Promise<Watcher> => Watcher.open(at.url, `/v1/lobby/live?${query}`);
const codesOf = ({ rooms }: Message): string[] => rooms.map(({ code }: Message) => code);
const shows =
  (...codes: string[]) =>
  (message: Message): boolean =>
    codesOf(message).join() === codes.join();

test.concurrent('a watcher gets the list at once, and after what happens on another process', async () => {
  const game = freshGame();
  const watcher = await watch(`game=${game}`, other);
  expect(await watcher.until(() => true)).toEqual({ type: 'rooms', rooms: [] });
  const room = await openPublic(game, { tags: { mode: 'duel' } });
  expect(await watcher.until(shows(room.code))).toEqual({
    type: 'rooms',
    rooms: [{ code: room.code, game, players: 1, maxPlayers: 4, tags: { mode: 'duel' }, createdAt: (await room.read()).createdAt }],
  });
  await room.join();
  await watcher.until(({ rooms }) => rooms[0]?.players === 2);
  await room.act('start', room.host);
  await watcher.until((message) => message === watcher.messages.at(-1) && shows()(message));
  // A later watcher gets the same list as the others.
  const second = await watch(`game=${game}`, other);
  expect(await second.until(() => true)).toEqual({ type: 'rooms', rooms: [] });
  await Promise.all([watcher.close(), second.close()]);
});

test.concurrent('each query gets its rooms, and another spelling of a query is the same one', async () => {
  const game = freshGame();
  const duel = await openPublic(game, { tags: { mode: 'duel', level: 3 } });
  service.advance(5);
  const team = await openPublic(game, { tags: { mode: 'team', level: 3 } });
  const queries = ['', '&tag.mode=duel', '&tag.level=3&tag.mode=team', '&tag.mode=team&tag.level=3', '&tag.mode=none'];
  const watchers = await Promise.all(queries.map((query) => watch(`game=${game}${query}`)));
  const [all, duels, teams, teamsAgain, none] = watchers;
  await all!.until(shows(team.code, duel.code));
  await duels!.until(shows(duel.code));
  await Promise.all([teams!.until(shows(team.code)), teamsAgain!.until(shows(team.code))]);
  expect(codesOf(await none!.until(() => true))).toEqual([]);
  await duel.act('settings', duel.host, { tags: { mode: 'none' } });
  await none!.until(shows(duel.code));
  await duels!.until(shows());
  // A list that did not change for a query is not sent again, though polls go on.
  await sleep(1100);
  expect(teams!.messages.filter(shows(team.code))).toHaveLength(1);
  await Promise.all(watchers.map((watcher) => watcher.close()));
});

test('a bad query is refused', async () => {
  await expect(watch('tag.A=1')).rejects.toThrow('no channel');
});
