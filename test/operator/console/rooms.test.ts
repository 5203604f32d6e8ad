import { expect, test } from 'vitest';
import { accountIdOf } from '../../../src/accounts/ids.ts';
import { freshId, start } from '../../harness.ts';
import { openToolRedis, runAdmin } from './command.ts';

test(
  'rooms show has what single players see with --private alone, for a reason, and the log says who looked',
  { timeout: 60_000 },
  async () => {
    await using tool = await openToolRedis();
    await using service = await start({ redis: { url: tool.settings.REDIS_URL } });
    const installId = freshId();
    const { code } = (await service.post('/v1/rooms', { installId, name: 'Ann' })).body.room;
    await service.post(`/v1/rooms/${code}/private`, { installId, seats: { p1: ['hearts-7\u202e'] } });
    const admin = (...words: string[]) => runAdmin(words, tool.settings);

    const usual = await admin('rooms', 'show', code);
    expect([usual.code, usual.out.includes(accountIdOf(installId)), usual.out.includes('hearts')]).toEqual([0, true, false]);
    const without = await admin('rooms', 'show', code, '--private');
    expect([without.code, without.out, without.error]).toEqual([1, '', expect.stringContaining('reason: Is needed')]);
    expect((await admin('log')).out).toContain('The log has no such entry.');

    const shown = await admin('rooms', 'show', code, '--private', '--reason', 'ticket 12', '--by', 'ada');
    expect([shown.code, shown.error]).toEqual([0, '']);
    expect(shown.out).toContain('p1 alone sees: ["hearts-7\\u{202e}"]');
    const json = await admin('rooms', 'show', code, '--private', '--reason', 'ticket 12', '--json');
    expect(JSON.parse(json.out).seats).toEqual([{ playerId: 'p1', accountId: accountIdOf(installId), private: ['hearts-7\u202e'] }]);
    const { entries } = JSON.parse((await admin('log', '--json')).out);
    const entry = { action: 'rooms show', what: { room: code, private: 'shown' }, why: 'ticket 12', outcome: { word: 'done' } };
    expect(entries).toMatchObject([entry, { ...entry, by: expect.stringMatching(/^ada as /) }]);
    expect((await admin('rooms', '--help')).out).toMatch(/--private {9}also what single players see/);
  },
);
