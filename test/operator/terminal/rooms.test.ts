import { expect, test } from 'vitest';
import { freshId, start } from '../../harness.ts';
import { openToolRedis, runAdmin } from './command.ts';

test('rooms show has what single players see with --private alone, for a reason, and the log says who looked', async () => {
  await using tool = await openToolRedis();
  await using service = await start({ redis: { url: tool.settings.REDIS_URL } });
  const installId = freshId();
  const { code } = (await service.post('/v1/rooms', { installId, name: 'Ann' })).body.room;
  await service.post(`/v1/rooms/${code}/private`, { installId, seats: { p1: ['hearts-7\u202e'] } });
  const show = (...flags: string[]) => runAdmin(['rooms', 'show', code, ...flags], tool.settings);

  expect((await show()).out).not.toContain('hearts');
  const without = await show('--private');
  expect([without.code, without.out, without.error]).toEqual([1, '', expect.stringContaining('reason: Is needed')]);
  const shown = await show('--private', '--reason', 'ticket 12', '--by', 'ada');
  expect([shown.code, shown.out]).toEqual([0, expect.stringContaining('p1 alone sees: ["hearts-7\\u{202e}"]')]);
  const json = await show('--private', '--reason', 'ticket 12', '--json');
  expect(JSON.parse(json.out).seats).toMatchObject([{ playerId: 'p1', private: ['hearts-7\u202e'] }]);
  const entry = { action: 'rooms show', what: { room: code, private: 'shown' }, why: 'ticket 12', outcome: { word: 'done' } };
  const { entries } = JSON.parse((await runAdmin(['log', '--json'], tool.settings)).out);
  expect(entries).toMatchObject([entry, { ...entry, by: expect.stringMatching(/^ada as /) }]);
});
