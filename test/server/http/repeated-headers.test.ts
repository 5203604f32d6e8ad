import { expect, test } from 'vitest';
import { forFile, freshId, signIn, start } from '../../harness.ts';
import { sendRaw } from '../../raw.ts';

const service = await forFile(start());

const bodyOf = (text: string) => JSON.parse(text.split('\r\n\r\n')[1]!) as { authenticated: boolean };

// A proxy that speaks HTTP/2 to the client may pass the cookies on as it got them, a field each (RFC 9113, section 8.2.3).
test.each(['first', 'last'])('cookies in several fields are one list: the session in the %s', async (place) => {
  const fields = ['cookie: theme=dark', `cookie: ${await signIn(service, freshId())}`, 'cookie: lang=en'];
  if (place === 'first') fields.unshift(...fields.splice(1, 1));
  else fields.push(...fields.splice(1, 1));
  const { text } = await sendRaw(service.port, `GET /v1/session HTTP/1.1\r\nhost: x\r\n${fields.join('\r\n')}\r\n\r\n`);
  expect(bodyOf(text).authenticated).toBe(true);
});

test('X-Forwarded-For in several fields is one list: the last untrusted address counts', async () => {
  await using proxied = await start({
    settings: { TRUSTED_PROXIES: '127.0.0.1,192.0.2.0/24', RATE_LIMIT: 'on', RATE_LIMIT_PER_SECOND: '1', RATE_LIMIT_BURST: '1' },
    stoppedClock: true,
  });
  const statusFrom = async (...addresses: string[]): Promise<string> => {
    const fields = addresses.map((address) => `x-forwarded-for: ${address}\r\n`).join('');
    const { text } = await sendRaw(proxied.port, `GET /v1/session HTTP/1.1\r\nhost: x\r\n${fields}\r\n`);
    return text.slice(0, 12);
  };
  expect(await statusFrom('198.51.100.1', '203.0.113.1')).toBe('HTTP/1.1 200');
  // The client wrote the first field itself: another address in it is the same client.
  expect(await statusFrom('198.51.100.2', '203.0.113.1')).toBe('HTTP/1.1 429');
  expect(await statusFrom('198.51.100.1', '203.0.113.2')).toBe('HTTP/1.1 200');
  // Two proxies in a row, a field each.
  expect(await statusFrom('203.0.113.3', '192.0.2.7')).toBe('HTTP/1.1 200');
  expect(await statusFrom('203.0.113.4', '192.0.2.7')).toBe('HTTP/1.1 200');
  expect(await statusFrom('203.0.113.4', '192.0.2.8')).toBe('HTTP/1.1 429');
});
