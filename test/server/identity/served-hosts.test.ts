import { describe, expect, test } from 'vitest';
import { pino } from 'pino';
import { openMetricsPort } from '../../../src/process/metrics-port.ts';
import { ServedHosts, servedHosts } from '../../../src/server/identity/served-hosts.ts';
import { testConfig } from '../../environment.ts';
import { forFile, start } from '../../harness.ts';
import { sendRaw, statusesIn } from '../../raw.ts';

/** A Host header, and whether a service on 127.0.0.1 in development serves it. */
const HOSTS: readonly (readonly [host: string, isServed: boolean])[] = [
  ['localhost', true],
  ['LocalHost:3000', true],
  ['localhost.:3000', true],
  ['coinop.localhost:3000', true],
  ['127.0.0.1:3000', true],
  ['127.8.9.10:3000', true],
  ['[::1]:3000', true],
  ['[0:0:0:0:0:0:0:1]:3000', true],
  ['[::ffff:127.0.0.1]:3000', true],
  ['PLAY.example.:8080', true],
  ['app.example:8443', true],
  ['192.168.0.7:3000', true],
  ['evil.example:3000', false],
  ['localhost.evil.example:3000', false],
  ['127.0.0.1.evil.example:3000', false],
  ['sub.play.example', false],
  ['loc%61lhost', false],
  ['0.0.0.0:3000', false],
  ['192.168.0.8:3000', false],
  ['[::2]:3000', false],
];

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
  test.each(HOSTS)('the Host %s is served: %s', async (host, isServed) => {
    expect(await statusOf('GET /health HTTP/1.1', [host])).toEqual([isServed ? 200 : 403]);
  });

  test('a foreign Host is refused on every path, and the message says what to set', async () => {
    const upgrade = ['upgrade: websocket', 'sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==', 'sec-websocket-version: 13'];
    for (const [line, lines] of [
      ['GET /health HTTP/1.1', []],
      ['HEAD /health HTTP/1.1', []],
      ['GET /ready HTTP/1.1', []],
      ['GET /metrics HTTP/1.1', []],
      ['GET / HTTP/1.1', []],
      ['GET /client.js HTTP/1.1', []],
      ['GET /nowhere HTTP/1.1', []],
      ['DELETE /v1/coins HTTP/1.1', []],
      ['OPTIONS /v1/coins/credit HTTP/1.1', []],
      ['POST /v1/coins/credit HTTP/1.1', ['content-type: application/json', 'content-length: 2']],
      ['GET /v1/balance HTTP/1.1', ['x-install-id: install-0001']],
      ['GET /v1/account/live HTTP/1.1', upgrade],
      ['GET /v1/rooms/BCDFG/live HTTP/1.1', upgrade],
      ['GET /v1/balance HTTP/1.1', ['authorization: Bearer coinop_sk_nosuchid_00000000000000000000000000000000']],
    ] as const)
      expect([line, await statusOf(line, ['evil.example:3000'], lines)]).toEqual([line, [403]]);
    const text = await answerTo('GET /v1/session HTTP/1.1', ['evil.example:3000'], ['origin: http://evil.example:3000']);
    expect(text).not.toMatch(/access-control-allow-origin/i);
    const { error } = JSON.parse(text.slice(text.indexOf('{')));
    expect(error).toMatchObject({ code: 'forbidden', field: 'host' });
    for (const word of ['PUBLIC_URL', 'ALLOWED_ORIGINS', 'TRUSTED_PROXIES']) expect(error.message).toContain(word);
  });

  test('several Host headers and none are refused as before', async () => {
    expect(await statusOf('GET /health HTTP/1.1', ['localhost', 'evil.example'])).toEqual([400]);
    expect(await statusOf('GET /health HTTP/1.1', ['evil.example', 'localhost'])).toEqual([400]);
    expect(await statusOf('GET /health HTTP/1.1', [])).toEqual([400]);
    for (const version of ['1.0', '1.1']) expect(await statusOf(`GET /health HTTP/${version}`, [''])).not.toContain(200);
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
      expect(await status('GET /metrics HTTP/1.0')).toEqual([200]);
      expect(await status('GET /metrics HTTP/1.1', 'evil.example')).toEqual([403]);
      expect(await status('HEAD /metrics HTTP/1.1', 'evil.example')).toEqual([403]);
      expect(await status('GET /nowhere HTTP/1.1', 'evil.example')).toEqual([403]);
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
    {
      NODE_ENV: 'production',
      PUBLIC_URL: 'https://play.example',
      SESSION_KEYS: `a:${Buffer.alloc(32, 1).toString('base64url')}`,
      STORE: 'off',
    },
    true,
  ],
])('a service %s serves a foreign Host as its settings say', (_where, given, isServed) => {
  const config = testConfig(given);
  expect(servedHosts(config.HOST, config)?.serves('evil.example:3000') ?? true).toBe(isServed);
});
