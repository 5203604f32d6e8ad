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

const send = (cookies: string, path: string, body: object, says?: string): Promise<TestReply> =>
  service.post(path, body, { cookies, headers: headers(says) });

/** Requests the question of a change in the console, and makes the change. */
async function change(cookies: string, operation: string, path: string, body: object, target: object = {}) {
  const asked = await send(cookies, '/console/ask', { operation, input: { ...target, ...body } });
  expect(asked.body.error).toBeUndefined();
  return { asked: asked.body, reply: await send(cookies, `/console/keys${path}`, body, asked.body.seen) };
}

const wanted = { name: 'Ada', role: 'support', expiresInDays: 90, reason: 'she starts on Monday' };

describe('a key of the console', () => {
  test('works, and is shown only once, when an admin makes it and has just typed the admin key', async () => {
    const cookies = await cookieOf();
    const { asked, reply } = await change(cookies, 'keys create', '', wanted);
    expect(asked).toMatchObject({
      question: 'Make the server key "Ada" for admin:support, for 90 days?',
      cannotBeUndone: false,
      needsKey: true,
    });
    const { id, token, expiresAt, logged } = reply.body;
    expect(reply.status).toBe(200);
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
    expect(keys.find((key: { id: string }) => key.id === id)).toMatchObject({ name: 'Ada', role: 'support', state: 'valid' });
  });

  test('of a server has its scopes and its game, and a key without a scope is refused', async () => {
    const cookies = await cookieOf();
    const body = { name: 'shop', scopes: ['coins'], game: 'pebble-drop', expiresInDays: 30, reason: 'the shop' };
    const { asked, reply } = await change(cookies, 'keys create', '', body);
    expect(asked.question).toBe('Make the server key "shop" for coins of the game pebble-drop, for 30 days?');
    expect(reply.status).toBe(200);
    const bare = await send(cookies, '/console/ask', { operation: 'keys create', input: { ...body, scopes: [] } });
    expect(bare.body.error).toMatchObject({ code: 'invalid_request', issues: [{ path: 'scopes' }] });
    const endless = await send(cookies, '/console/ask', { operation: 'keys create', input: { ...body, expiresInDays: 367 } });
    expect(endless.body.error.code).toBe('invalid_request');
  });

  test('can be rotated, with an overlap in which both keys are valid, and its revocation names the keys that it made', async () => {
    const cookies = await cookieOf();
    const chief = (await change(cookies, 'keys create', '', { ...wanted, role: 'admin', name: freshId('chief') })).reply.body;
    await eventually(async () => (await statusWith(service.url, chief.token)) === 200);
    const hers = await cookieOf(chief.token);
    const made = (await change(hers, 'keys create', '', { ...wanted, name: 'made by her' })).reply.body;
    const rotation = { overlapDays: 2, expiresInDays: 90, reason: 'every quarter' };
    const rotated = (await change(cookies, 'keys rotate', `/${chief.id}/rotate`, rotation, { id: chief.id })).reply.body;
    expect(Math.round((Date.parse(rotated.oldEndsAt) - service.now()) / 86_400_000)).toBe(2);
    const again = await send(cookies, '/console/ask', { operation: 'keys rotate', input: { id: chief.id, ...rotation } });
    expect(again.status).toBe(200);
    const twice = await send(cookies, `/console/keys/${chief.id}/rotate`, rotation, again.body.seen);
    expect(twice.body.error).toMatchObject({ code: 'invalid_request', issues: [{ path: 'id' }] });
    const revoked = await change(cookies, 'keys revoke', `/${chief.id}/revoke`, { reason: 'it leaked' }, { id: chief.id });
    expect(revoked.asked).toMatchObject({ cannotBeUndone: true, needsKey: true });
    expect(revoked.asked.question).toContain(
      `It has made keys that stay valid: ${made.id} ("made by her"). If it leaked, revoke them too.`,
    );
    expect(revoked.reply.body.wasRevoked).toBe(false);
    await eventually(async () => (await statusWith(service.url, chief.token)) === 401);
  });
});

describe('nobody else makes a key', () => {
  test('a server key without a session of the console is refused, whatever its role', async () => {
    expect((await service.post('/console/keys', wanted, { bearer: admin.token })).body.error.code).toBe('forbidden');
    const revoke = await service.post(`/console/keys/${admin.id}/revoke`, { reason: 'x' }, { bearer: admin.token });
    expect(revoke.body.error.code).toBe('forbidden');
    expect(await statusWith(service.url, admin.token)).toBe(200);
  });

  test.each(['viewer', 'support', 'economist'] as const)('neither the role %s nor a key of one game', async (role) => {
    const { token } = await makeServerKey(service, ['admin'], { role });
    const asked = await send(await cookieOf(token), '/console/ask', { operation: 'keys create', input: wanted });
    expect(asked.body.error).toMatchObject({ code: 'forbidden', role: 'admin' });
    const ofGame = await makeServerKey(service, ['admin'], { role: 'admin', game: 'tetris' });
    const game = { operation: 'keys create', input: { ...wanted, game: 'tetris' } };
    expect((await send(await cookieOf(ofGame.token), '/console/ask', game)).body.error.code).toBe('forbidden');
  });

  test('a session whose key was typed more than five minutes ago has to send the key', async () => {
    const cookies = await cookieOf();
    service.advance(301_000);
    const asked = await send(cookies, '/console/ask', { operation: 'keys create', input: wanted });
    const { error } = (await send(cookies, '/console/keys', wanted, asked.body.seen)).body;
    expect(error).toMatchObject({ code: 'forbidden', needs: 'key', message: 'This hands out a secret: type your key once more.' });
    service.advance(-301_000);
  });

  test('a forged request and a request without a confirmed question make no key', async () => {
    const cookies = await cookieOf();
    expect((await send(cookies, '/console/keys', wanted)).body.error).toMatchObject({ code: 'forbidden', needs: 'confirmation' });
    const crossSite = { cookies, headers: { ...headers(), 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' } };
    expect((await service.post('/console/keys', wanted, crossSite)).status).toBe(403);
  });
});
