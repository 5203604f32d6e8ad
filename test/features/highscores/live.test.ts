import { expect, test } from 'vitest';
import { forFile, freshId, sleep, start } from '../../harness.ts';
import { Watcher, type Message } from '../../realtime/watcher.ts';

const service = await forFile(start());
const other = await forFile(start());

const freshGame = (): string => freshId('game').toLowerCase();
const watch = (game: string, at = service): Promise<Watcher> => Watcher.open(at.url, `/v1/highscores/${game}/live`);
const scoresOf = ({ top }: Message): number[] => top.map(({ score }: Message) => score);
const submit = (game: string, score: number, installId = freshId(), name = 'Ada') =>
  service.post(`/v1/highscores/${game}`, { installId, score, name });

test.concurrent('a watcher gets the top ten at once, and after changes through another process', async () => {
  const game = freshGame();
  const watcher = await watch(game, other);
  expect(await watcher.until(() => true)).toEqual({ type: 'board', version: 0, top: [] });
  const { body } = await submit(game, 7);
  expect((await watcher.until(({ version }) => version === 1)).top).toEqual(body.top);
  const second = await watch(game, other);
  expect((await second.until(() => true)).top).toEqual(body.top);
  await Promise.all([watcher.close(), second.close()]);
});

test.concurrent('a score below the top ten sends nothing, and a new name in it sends the list', async () => {
  const game = freshGame();
  const first = freshId();
  await submit(game, 100, first);
  for (let score = 1; score <= 10; score++) await submit(game, score);
  const watcher = await watch(game);
  await watcher.until(() => true);
  await submit(game, 0.5);
  await sleep(1200);
  expect(watcher.messages).toHaveLength(1);
  await submit(game, 0, first, 'renamed');
  expect((await watcher.until(({ top }) => top[0].name === 'renamed')).top).toHaveLength(10);
  await watcher.close();
});

test.concurrent('of faster changes each watcher gets the latest, at most twice a second', async () => {
  const game = freshGame();
  const watchers = await Promise.all(Array.from({ length: 20 }, (_, index) => watch(game, index % 2 === 0 ? service : other)));
  const installId = freshId();
  const startedAt = performance.now();
  let score = 0;
  while (performance.now() < startedAt + 2000) await submit(game, ++score, installId);
  await Promise.all(watchers.map((watcher) => watcher.until((message) => scoresOf(message)[0] === score)));
  const mostMessages = 2 + Math.ceil((performance.now() - startedAt) / 500);
  for (const { messages } of watchers) {
    expect(messages.length).toBeLessThanOrEqual(mostMessages);
    const versions = messages.map(({ version }) => version);
    expect(versions).toEqual(versions.toSorted((one, next) => one - next));
  }
  await Promise.all(watchers.map((watcher) => watcher.close()));
});
