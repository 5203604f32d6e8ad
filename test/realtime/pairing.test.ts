import { expect, test } from 'vitest';
import { freshId, type TestService } from '../harness.ts';
import { twoProcesses } from './own.ts';
import { watchPairing } from './watcher.ts';

const { redis, here, there } = await twoProcesses();

const pair = async (service: TestService): Promise<{ token: string; cookies: string[] }> => {
  const { body, cookies } = await service.post('/v1/pair/new');
  return { token: body.token, cookies };
};
const step = (service: TestService, token: string, installId: string, word?: string) =>
  service.post('/v1/pair/claim', { token, installId, step: word });
const pending = { type: 'pair', status: 'pending' };

test('a claim reaches watchers on every process at once and closes them with 4501, and the browser fetches its cookie', async () => {
  const { token, cookies } = await pair(here);
  const watchers = [await watchPairing(here, token), await watchPairing(there, token)];
  await Promise.all(watchers.map((watcher) => watcher.until(({ status }) => status === 'pending')));
  const installId = freshId();
  expect((await step(there, token, installId)).status).toBe(200);
  for (const watcher of watchers) {
    expect(await watcher.closed).toEqual({ code: 4501, reason: 'finished' });
    expect(watcher.messages).toEqual([pending, { type: 'pair', status: 'claimed' }]);
  }
  const fetched = await there.get(`/v1/pair/status?token=${token}`, { cookies });
  expect(fetched.body).toEqual({ ok: true, status: 'claimed', claimedBy: {} });
  expect(fetched.cookies.filter((cookie) => cookie.startsWith('svc_session='))).toHaveLength(1);
});

test('a watcher is sent scanned once, then denied, which is final', async () => {
  const { token } = await pair(here);
  const watcher = await watchPairing(there, token);
  const installId = freshId();
  for (const word of ['scan', 'scan', 'deny']) {
    await step(here, token, installId, word);
    await watcher.until(({ status }) => status === (word === 'scan' ? 'scanned' : 'denied'));
  }
  expect((await watcher.closed).code).toBe(4501);
  expect(watcher.messages.map(({ status }) => status)).toEqual(['pending', 'scanned', 'denied']);
});

test('a watcher never misses the final status, however soon it follows the scan', async () => {
  for (let times = 0; times < 5; times++) {
    const { token } = await pair(here);
    const watcher = await watchPairing(there, token);
    const installId = freshId();
    await step(here, token, installId, 'scan');
    await step(here, token, installId, 'confirm');
    expect((await watcher.closed).code).toBe(4501);
    expect(watcher.messages.at(-1)).toEqual({ type: 'pair', status: 'claimed' });
    expect(watcher.messages[0]).toEqual(pending);
  }
});

test.each([
  ['was not scanned', 'pending'],
  ['was scanned', 'scanned'],
])('a watcher of a pairing that %s is sent expired when the time is up, though no client asks', async (_, first) => {
  await using brief = await redis.start();
  const { token } = await pair(brief);
  if (first === 'scanned') await step(brief, token, freshId(), 'scan');
  const watcher = await watchPairing(brief, token);
  await watcher.until(({ status }) => status === first);
  brief.advance(180_000);
  expect((await watcher.closed).code).toBe(4501);
  expect(watcher.messages.map(({ status }) => status)).toEqual([first, 'expired']);
});

test('a watcher that connects after the end gets the final status and 4501, and ten minutes later 404', async () => {
  await using service = await redis.start();
  const { token } = await pair(service);
  await step(service, token, freshId());
  const late = await watchPairing(service, token);
  expect((await late.closed).code).toBe(4501);
  expect(late.messages).toEqual([{ type: 'pair', status: 'claimed' }]);
  service.advance(781_000);
  await expect(watchPairing(service, token)).rejects.toThrow('no channel');
});

test('a watcher is sent only the status, and every message that it sends is refused', async () => {
  const { token } = await pair(here);
  const watcher = await watchPairing(here, token);
  const installId = freshId();
  watcher.send({ type: 'hello', installId });
  expect((await watcher.until(({ type }) => type === 'error')).error.code).toBe('invalid_request');
  await step(here, token, installId);
  await watcher.closed;
  expect(JSON.stringify(watcher.messages)).not.toContain(installId);
  expect(watcher.messages.map(({ type }) => type)).toEqual(['pair', 'error', 'pair']);
});
