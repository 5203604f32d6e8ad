import { describe, expect, test } from 'vitest';
import { accountIdOf } from '../../../src/accounts/ids.ts';
import { forFile, freshId, start, type TestReply, type TestService } from '../../harness.ts';
import { eventually } from '../../realtime/watcher.ts';
import { makeServerKey } from '../../server-keys.ts';
import { signInToStore } from '../../store.ts';
import { logged } from '../../operator/parts.ts';

/** `accounts rename`: the name that an operator gives appears everywhere. */

const service = await forFile(start({ settings: { ADMIN_API: 'on' } }));
const other = await forFile(start());
const { redis } = service.service;
const { token: bearer } = await makeServerKey(service, ['admin'], { role: 'support' });

const change = (path: string, body: object): Promise<TestReply> =>
  service.post(`/v1/admin/accounts/${path}`, { reason: 'ticket 4711', ...body }, { bearer });
const submit = (at: TestService, game: string, installId: string, score: number, name = 'Rude') =>
  at.post(`/v1/highscores/${game}`, { installId, score, name });
const namesOn = async (game: string): Promise<string[]> =>
  (await service.get(`/v1/highscores/${game}`)).body.top.map(({ name }: { name: string }) => name);
const freshGame = (): string => freshId('game').toLowerCase();

describe('a player who was renamed', () => {
  test('has the given name on all boards and in rooms at once, and on every process from then on', async () => {
    const [installId, one, two] = [freshId(), freshGame(), freshGame()];
    const accountId = accountIdOf(installId);
    await submit(service, one, installId, 5);
    await submit(service, one, freshId(), 9, 'Ada');
    await submit(service, two, installId, 7);
    const { room } = (await service.post('/v1/rooms', { installId, name: 'Rude' })).body;
    const done = await change(`${accountId}/rename`, { name: ' Player 7 ' });
    expect([done.status, done.body]).toEqual([200, { ok: true, accountId, boards: 2, rooms: 1, logged }]);
    expect([await namesOn(one), await namesOn(two)]).toEqual([['Ada', 'Player 7'], ['Player 7']]);
    expect((await service.get(`/v1/rooms/${room.code}`)).body.room.players[0]).toMatchObject({ id: 'p1', name: 'Player 7', ready: false });
    for (const at of [service, other]) {
      await eventually(async () => {
        await submit(at, one, installId, 5);
        return (await namesOn(one)).includes('Player 7') && !(await namesOn(one)).includes('Rude');
      });
      for (const path of ['/v1/rooms', '/v1/rooms/match']) {
        const { body } = await at.post(path, { installId, name: 'Rude', game: freshGame() });
        expect(body.room.players[0].name).toBe('Player 7');
      }
    }
    const shown = (await service.get(`/v1/admin/accounts/${accountId}`, { bearer })).body;
    expect(shown.givenName).toMatchObject({ name: 'Player 7', reason: 'ticket 4711' });
    const { givenName } = (await service.get(`/v1/account/export?installId=${installId}`)).body;
    expect(givenName).toEqual({ name: 'Player 7', givenAt: shown.givenName.givenAt });
  });

  test('chooses again after unname, and the boards keep the given name until then', async () => {
    const [installId, game] = [freshId(), freshGame()];
    const accountId = accountIdOf(installId);
    await submit(service, game, installId, 5);
    await change(`${accountId}/rename`, { name: 'Player 8' });
    expect((await change(`${accountId}/unname`, {})).body).toEqual({ ok: true, accountId, hadName: true, logged });
    expect((await change(`${accountId}/unname`, {})).body.hadName).toBe(false);
    expect(await namesOn(game)).toEqual(['Player 8']);
    await eventually(async () => {
      await submit(service, game, installId, 5, 'Kind');
      return (await namesOn(game))[0] === 'Kind';
    });
  });

  test('brings the name into a store account, and a deletion erases it', async () => {
    const [installId, game] = [freshId(), freshGame()];
    await submit(service, game, installId, 5);
    await change(`${accountIdOf(installId)}/rename`, { name: 'Player 9' });
    const { body, cookies } = await signInToStore(service, freshId('user'), { installId });
    const index = async (): Promise<(string | null)[]> => redis.hmget('{given-names}', accountIdOf(installId), body.accountId);
    await eventually(async () => JSON.stringify(await index()) === '[null,"Player 9"]');
    await eventually(async () => {
      await service.post(`/v1/highscores/${game}`, { score: 9, name: 'Rude' }, { cookies });
      return (await namesOn(game)).join() === 'Player 9';
    });
    const { token } = await makeServerKey(service, ['admin']);
    await service.post(`/v1/admin/accounts/${body.accountId}/delete`, { reason: 'asked' }, { bearer: token });
    await eventually(async () => JSON.stringify(await index()) === '[null,null]');
  });

  test('also has the given name on scores that a ban hides', async () => {
    const [installId, game] = [freshId(), freshGame()];
    const accountId = accountIdOf(installId);
    await submit(service, game, installId, 5);
    await change(`${accountId}/ban`, {});
    await eventually(async () => (await namesOn(game)).length === 0);
    expect((await change(`${accountId}/rename`, { name: 'Player 10' })).body.boards).toBe(1);
    expect(await namesOn(game)).toEqual([]);
    await change(`${accountId}/unban`, {});
    await eventually(async () => (await namesOn(game)).join() === 'Player 10');
  });

  test('needs a valid name and an account', async () => {
    const accountId = accountIdOf(freshId());
    for (const name of ['', 'x'.repeat(25), 'a\u202eb'])
      expect((await change(`${accountId}/rename`, { name })).body.error).toMatchObject({ code: 'invalid_request', field: 'name' });
    expect((await change(`${accountId}/rename`, { name: 'Ada' })).body.error.code).toBe('account_not_found');
    expect((await change(`${accountId}/unname`, {})).body.error.code).toBe('account_not_found');
  });
});
