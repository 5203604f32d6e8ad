import { pino } from 'pino';
import { describe, expect, test } from 'vitest';
import { Origins } from '../../../src/server/identity/origin.ts';
import { RefusedOrigins } from '../../../src/server/identity/refused-origins.ts';
import { signIn, start } from '../../harness.ts';
import { open } from '../../features/rooms/room.ts';
import { RawSocket } from '../../realtime/raw-socket.ts';
import { eventually } from '../../realtime/watcher.ts';

function logOf(origins: Origins): { refused: RefusedOrigins; lines: string[]; advance: (milliseconds: number) => void } {
  const lines: string[] = [];
  let now = 0;
  const log = pino({}, { write: (line: string) => void lines.push(line) });
  return { refused: new RefusedOrigins(origins, log, () => now), lines, advance: (milliseconds) => void (now += milliseconds) };
}

const host = 'coinop.example';

describe('RefusedOrigins', () => {
  test.each([
    [[], 'https://game.example', 'pages of this origin are refused: ALLOWED_ORIGINS=https://game.example lets them call'],
    [
      ['https://one.example', 'https://two.example'],
      'https://game.example',
      'pages of this origin are refused: ALLOWED_ORIGINS=https://game.example,https://one.example,https://two.example lets them call',
    ],
    [[], 'null', 'a page without an origin (a file, or a sandboxed frame) is refused: serve it over http'],
    [[], 'capacitor://localhost', 'pages of this origin are refused: only origins of http and https can be allowed'],
  ])('beside the allowed origins %j logs %s once, with the setting that would allow it', (allowed, origin, msg) => {
    const { refused, lines } = logOf(new Origins(allowed));
    for (let count = 0; count < 5; count++) refused.answered({ origin, host });
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([{ level: 40, origin, msg }]);
  });

  test('logs no origin that may call', () => {
    const { refused, lines } = logOf(new Origins(['https://one.example'], 'https://coinop.example', true));
    for (const origin of ['https://one.example', 'https://coinop.example', 'http://coinop.example', 'http://localhost:5173'])
      refused.answered({ origin, host });
    expect(lines).toEqual([]);
  });

  test.each([
    ...['\u001b[2J', '\u0007', '\r\nlevel: 60', '\u202e', '/path'].map((end) => `https://game.example${end}`),
    ...['https://gäme.example', 'https://GAME.example', `https://${'a'.repeat(1_000_000)}`, 'nonsense', ' '],
  ])('writes nothing about %j, which no browser sends as an origin', (origin) => {
    const { refused, lines } = logOf(new Origins([]));
    refused.answered({ origin, host });
    expect(lines).toEqual([]);
  });

  test('writes ten lines a minute at most, and logs an origin that was left out or forgotten when it comes again', () => {
    const { refused, lines, advance } = logOf(new Origins([]));
    const come = (first: number, last = first) => {
      for (let count = first; count <= last; count++) refused.answered({ origin: `https://game-${count}.example`, host });
      return lines.length;
    };
    expect(come(0, 99)).toBe(10);
    advance(60_000);
    expect(come(50)).toBe(11);
    advance(-120_000);
    expect(come(60)).toBe(12);
    // More than a thousand others make the service forget the oldest.
    for (let count = 100; count < 2100; count++) {
      advance(60_000);
      come(count);
    }
    expect([lines.length, come(2099), come(50)]).toEqual([2012, 2012, 2013]);
  });
});

describe('through the server', () => {
  const refusedIn = (lines: readonly string[]): string[] =>
    lines
      .map((line) => JSON.parse(line) as { origin?: string; msg: string })
      .flatMap(({ origin, msg }) => (msg.includes('refused') ? (origin ?? []) : []));

  test('a preflight, a request with cookies, an upgrade and a read of a foreign origin each log it', async () => {
    const logLines: string[] = [];
    await using service = await start({ logLines });
    const { code, host: installId } = await open(service);
    const cookies = await signIn(service, installId);
    const from = (name: string) => ({ headers: { origin: `https://${name}.example` } });
    await service.get('/v1/coins/credit', { method: 'OPTIONS', ...from('preflight') });
    await service.post('/v1/coins/credit', { coins: 1, key: 'a' }, { cookies, ...from('cookies') });
    (await RawSocket.open(service.port, `/v1/rooms/${code}/live`, from('upgrade').headers)).destroy();
    await service.get('/v1/highscores/tetris', from('read'));
    await service.get('/v1/highscores/tetris', from('read'));
    await eventually(() => refusedIn(logLines).length === 4);
    expect(refusedIn(logLines)).toEqual(['preflight', 'cookies', 'upgrade', 'read'].map((name) => `https://${name}.example`));
  });
});
