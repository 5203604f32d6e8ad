import { describe, expect, test } from 'vitest';
import { pino } from 'pino';
import { openMetricsPort } from '../../../src/process/metrics-port.ts';
import { ServedHosts, servedHosts } from '../../../src/server/identity/served-hosts.ts';
import { testConfig } from '../../environment.ts';
import { forFile, start } from '../../harness.ts';
import { sendRaw, statusesIn } from '../../raw.ts';

/** Host headers by the status with which a service on 127.0.0.1 in development answers. */
const HOSTS: Readonly<Record<number, string>> = {
  200:
    'localhost LocalHost:3000 localhost.:3000 coinop.localhost:3000 127.0.0.1:3000 127.8.9.10:3000 [::1]:3000 [0:0:0:0:0:0:0:1]:3000 ' +
    '[::ffff:127.0.0.1]:3000 PLAY.example.:8080 app.example:8443 192.168.0.7:3000',
  403:
    'evil.example:3000 localhost.evil.example:3000 127.0.0.1.evil.example:3000 sub.play.example loc%61lhost 0.0.0.0:3000 ' +
    '192.168.0.8:3000 [::2]:3000',
};

const settings = {
  TRUSTED_PROXIES: '',
  PUBLIC_URL: 'http://play.example:3000',
  ALLOWED_ORIGINS: 'https://app.example,http://192.168.0.7:5173',
};

const service = await forFile(start({ settings }));

const answerTo = async (line: string, hosts: readonly string[], lines: readonly string[] = [], port = service.port) => {
  const head = [line, ...hosts.map((host) => `host: ${host}`), ...lines, 'connection: close', '', ''];
  return (await sendRaw(port, head.join('\r\n'))).text;
};
const statusOf = async (...of: Parameters<typeof answerTo>) => statusesIn(await answerTo(...of));

describe('in development on a loopback address', () => {
  test.each(Object.entries(HOSTS).flatMap(([status, hosts]) => hosts.split(' ').map((host) => [host, Number(status)] as const)))(
    'the Host %s is answered %i',
    async (host, status) => expect(await statusOf('GET /health HTTP/1.1', [host])).toEqual([status]),
  );

  test('a foreign Host is refused on every path, and the message says what to set', async () => {
    const upgrade = ['upgrade: websocket', 'sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==', 'sec-websocket-version: 13'];
    for (const [line, ...lines] of [
      ...['GET /health', 'HEAD /health', 'GET /ready', 'GET /metrics', 'GET /', 'GET /client.js', 'GET /nowhere'].map((line) => [line]),
      ...['DELETE /v1/coins', 'OPTIONS /v1/coins/credit'].map((line) => [line]),
      ['POST /v1/coins/credit', 'content-type: application/json', 'content-length: 2'],
      ['GET /v1/balance', 'x-install-id: install-0001'],
      ['GET /v1/balance', 'authorization: Bearer coinop_sk_nosuchid_00000000000000000000000000000000'],
      ['GET /v1/account/live', ...upgrade],
      ['GET /v1/rooms/BCDFG/live', ...upgrade],
    ])
      expect([line, await statusOf(`${line} HTTP/1.1`, ['evil.example:3000'], lines)]).toEqual([line, [403]]);
    const text = await answerTo('GET /v1/session HTTP/1.1', ['evil.example:3000'], ['origin: http://evil.example:3000']);
    expect(text).not.toMatch(/access-control-allow-origin/i);
    const { error } = JSON.parse(text.slice(text.indexOf('{')));
    expect(error).toMatchObject({ code: 'forbidden', field: 'host' });
    for (const word of ['PUBLIC_URL', 'ALLOWED_ORIGINS', 'TRUSTED_PROXIES']) expect(error.message).toContain(word);
  });

  test('a target in absolute form does not stand for the Host', async () => {
    expect(await statusOf('GET http://localhost/health HTTP/1.1', ['evil.example'])).not.toContain(200);
  });

  test('METRICS_PORT refuses a foreign Host too', async () => {
    const port = await openMetricsPort(
      { METRICS_HOST: '127.0.0.1', METRICS_PORT: 0 },
      async () => 'coinop_text 1\n',
      pino({ level: 'silent' }),
      new ServedHosts([]),
    );
    const status = (line: string, ...hosts: string[]) => statusOf(line, hosts, [], port.port);
    try {
      expect(await status('GET /metrics HTTP/1.1', `localhost:${port.port}`)).toEqual([200]);
      for (const line of ['GET /metrics', 'HEAD /metrics', 'GET /nowhere'])
        expect([line, await status(`${line} HTTP/1.1`, 'evil.example')]).toEqual([line, [403]]);
      expect(await status('GET /metrics HTTP/1.1', 'localhost', 'evil.example')).toEqual([403]);
    } finally {
      port.close();
    }
  });
});

test.each<[string, Record<string, string>, boolean]>([
  ['on 127.0.0.1', {}, false],
  ['on ::1', { HOST: '::1' }, false],
  ['on localhost', { HOST: 'localhost' }, false],
  ['on all addresses, for a phone', { HOST: '0.0.0.0' }, true],
  ['on an address of the network', { HOST: '192.168.0.2' }, true],
  ['behind a trusted proxy', { TRUSTED_PROXIES: '127.0.0.1' }, true],
  [
    'in production',
    { NODE_ENV: 'production', PUBLIC_URL: 'https://play.example', SESSION_KEYS: `k:${'A'.repeat(43)}`, STORE: 'off' },
    true,
  ],
])('a service %s serves a foreign Host as its settings say', (_where, given, isServed) => {
  const config = testConfig(given);
  expect(servedHosts(config.HOST, config)?.serves('evil.example:3000') ?? true).toBe(isServed);
});
