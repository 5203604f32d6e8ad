import { describe, expect, test } from 'vitest';
import { forFile, freshId, start, type TestReply } from '../harness.ts';
import { eventually } from '../realtime/watcher.ts';
import { makeServerKey, statusWith } from '../server-keys.ts';

/** Server keys that are made in the console. */

const service = await forFile(start({ settings: { ADMIN_API: 'on' } }));
const admin = await makeServerKey(service, ['admin'], { role: 'admin', name: 'Zoë' });

const headers = (says = 'look'): Record<string, string> => ({ origin: service.url, 'sec-fetch-site': 'same-origin', 'x-console': says });

async function cookieOf(token = admin.token): Promise<string> {
  return (await service.post('/console/session', {}, { bearer: token, headers: headers() })).cookies[0]!;
}

const send = async (cookies: string, path: string, body: object, says?: string): Promise<TestReply['body']> =>
  (await service.post(path, body, { cookies, headers: headers(says) })).body;
const ask = (cookies: string, operation: string, input: object) => send(cookies, '/console/ask', { operation, input });

/** Requests the question of a change in the console, and makes the change. */
async function change(cookies: string, operation: string, path: string, body: object, target: object = {}) {
  const asked = await ask(cookies, operation, { ...target, ...body });
  return { asked, reply: await send(cookies, `/console/keys${path}`, body, asked.seen) };
}
const create = async (cookies: string, body: object) => change(cookies, 'keys create', '', body);

const wanted = { name: 'Ada', role: 'support', expiresInDays: 90, reason: 'she starts on Monday' };

describe('a key of the console', () => {
  test('works, and is shown only once, when an admin makes it and has just typed the admin key', async () => {
    const cookies = await cookieOf();
    const { asked, reply } = await create(cookies, wanted);
    const question = 'Make the server key "Ada" for admin:support, for 90 days?';
    expect(asked).toMatchObject({ question, cannotBeUndone: false, needsKey: true });
    const { id, token, expiresAt, logged } = reply;
    expect(Date.parse(expiresAt) - service.now()).toBeGreaterThan(89 * 86_400_000);
    expect(logged).toMatchObject({
      by: `key:${admin.id}`,
      action: 'keys create',
      what: { name: 'Ada', scopes: 'admin', role: 'support', expiresInDays: 90 },
      outcome: { word: 'done', id },
    });
    expect(JSON.stringify(logged)).not.toContain(token);
    await eventually(async () => (await service.get('/console/session', { bearer: token })).body.role === 'support');
    const { keys } = (await service.get('/console/keys', { cookies, headers: headers() })).body;
    expect(keys).toContainEqual(expect.objectContaining({ id, name: 'Ada', role: 'support', state: 'valid' }));
  });

  test('of a server has its game, and a key without a scope or without an end is refused', async () => {
    const cookies = await cookieOf();
    const body = { name: 'shop', scopes: ['coins'], game: 'pebble-drop', expiresInDays: 30, reason: 'the shop' };
    expect((await ask(cookies, 'keys create', body)).question).toBe(
      'Make the server key "shop" for coins of the game pebble-drop, for 30 days?',
    );
    for (const wrong of [{ scopes: [] }, { expiresInDays: 367 }])
      expect((await ask(cookies, 'keys create', { ...body, ...wrong })).error.code).toBe('invalid_request');
  });

  test('can be rotated, with an overlap in which both keys are valid, and its revocation names the keys that it made', async () => {
    const cookies = await cookieOf();
    const chief = (await create(cookies, { ...wanted, role: 'admin', name: freshId('chief') })).reply;
    await eventually(async () => (await statusWith(service.url, chief.token)) === 200);
    const made = (await create(await cookieOf(chief.token), { ...wanted, name: 'made by her' })).reply;
    const rotation = { overlapDays: 2, expiresInDays: 90, reason: 'every quarter' };
    const rotate = () => change(cookies, 'keys rotate', `/${chief.id}/rotate`, rotation, { id: chief.id });
    expect(Math.round((Date.parse((await rotate()).reply.oldEndsAt) - service.now()) / 86_400_000)).toBe(2);
    // Said before the question, and refused to whoever does not ask.
    expect((await rotate()).asked.error).toMatchObject({ code: 'invalid_request', issues: [{ path: 'id' }] });
    const { asked, reply } = await change(cookies, 'keys revoke', `/${chief.id}/revoke`, { reason: 'it leaked' }, { id: chief.id });
    const warning = `It has made keys that stay valid: ${made.id} ("made by her"). If it leaked, revoke them too.`;
    expect(asked).toMatchObject({ question: expect.stringContaining(warning), cannotBeUndone: true, needsKey: true });
    expect(reply.wasRevoked).toBe(false);
    await eventually(async () => (await statusWith(service.url, chief.token)) === 401);
  });
});

describe('nobody else makes a key', () => {
  test('a server key without a session of the console is refused, whatever its role', async () => {
    for (const [path, body] of [
      ['', wanted],
      [`/${admin.id}/revoke`, { reason: 'x' }],
    ] as const)
      expect((await service.post(`/console/keys${path}`, body, { bearer: admin.token })).body.error.code).toBe('forbidden');
    expect(await statusWith(service.url, admin.token)).toBe(200);
  });

  test('neither a lower role nor a key of one game', async () => {
    for (const role of ['viewer', 'support', 'economist'] as const) {
      const { token } = await makeServerKey(service, ['admin'], { role });
      expect((await ask(await cookieOf(token), 'keys create', wanted)).error).toMatchObject({ code: 'forbidden', role: 'admin' });
    }
    const ofGame = await makeServerKey(service, ['admin'], { role: 'admin', game: 'tetris' });
    expect((await ask(await cookieOf(ofGame.token), 'keys create', { ...wanted, game: 'tetris' })).error.code).toBe('forbidden');
  });

  test('a session whose key was typed more than five minutes ago has to send the key', async () => {
    const cookies = await cookieOf();
    service.advance(301_000);
    const { error } = (await create(cookies, wanted)).reply;
    expect(error).toMatchObject({ code: 'forbidden', needs: 'key', message: 'This hands out a secret: type your key once more.' });
    service.advance(-301_000);
  });

  test('a forged request and a request without a confirmed question make no key', async () => {
    const cookies = await cookieOf();
    expect((await send(cookies, '/console/keys', wanted)).error).toMatchObject({ code: 'forbidden', needs: 'confirmation' });
    const crossSite = { cookies, headers: { ...headers(), 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' } };
    expect((await service.post('/console/keys', wanted, crossSite)).status).toBe(403);
  });
});
