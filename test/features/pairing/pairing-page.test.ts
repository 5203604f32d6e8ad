import { expect, test } from 'vitest';
import { start } from '../../harness.ts';

test('GET /pair is the same page for every token, of its own files alone, and no cache keeps it', async () => {
  await using service = await start();
  const { status, headers, body } = await service.get('/pair?token=%3Cscript%3Ealert(1)%3C/script%3E');
  expect([status, headers.get('cache-control'), headers.get('referrer-policy')]).toEqual([200, 'no-store', 'no-referrer']);
  expect(headers.get('content-security-policy')).toMatch(/^default-src 'none'; script-src 'self';/);
  expect(body).toMatch(/data-playground="on"\s+data-app-link=""/);
  expect(body).not.toContain('alert(1)');
  expect((await service.get('/pair')).body).toBe(body);
  expect((await service.get('/pair', { method: 'HEAD' })).status).toBe(200);
});

test('GET /pair knows the settings APP_LINK and PLAYGROUND', async () => {
  await using service = await start({ settings: { APP_LINK: 'https://play.example/open?a="b"&pair={token}', PLAYGROUND: 'off' } });
  const { body } = await service.get('/pair');
  expect(body).toContain('data-playground="off"');
  expect(body).toContain('data-app-link="https://play.example/open?a=&#34;b&#34;&#38;pair={token}"');
});
