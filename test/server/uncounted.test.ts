import { describe, expect, test } from 'vitest';
import { start, type TestService } from '../harness.ts';
import { eventually } from '../realtime/watcher.ts';
import { Lines, roomy, statusOf, type Line } from './connection-lines.ts';

/** Ten at once, then five a second. */
const settings = { ...roomy, RATE_LIMIT_UNCOUNTED_PER_SECOND: '5' };

const FLOODING = '127.0.0.5';

/** Sends requests one after the other on one connection, until the service closes it. @returns how many were answered */
async function answeredOf(service: TestService, request: string, from = FLOODING): Promise<number> {
  using lines = new Lines(service);
  const line = await lines.open(from);
  const answers = (): number => line.received.split('HTTP/1.1 ').length - 1;
  for (let sent = 1; sent <= 100; sent++) {
    line.socket.write(request);
    await eventually(() => line.isClosed || answers() === sent);
    if (line.isClosed) return answers();
  }
  return answers();
}

const request = (start: string, lines = ''): string => `${start} HTTP/1.1\r\nhost: a\r\n${lines}\r\n`;
const HEALTH = request('GET /health');
const REPEATED = request('GET /v1/balance', 'origin: http://a.example\r\norigin: http://a.example\r\n');

/** The statuses of 30 requests, each on a new connection; NaN for one that was closed without an answer. */
async function statusesOf30(lines: Lines, text: string): Promise<number[]> {
  const statuses: number[] = [];
  for (let sent = 0; sent < 30; sent++) {
    const line: Line = await lines.open(FLOODING);
    line.socket.write(text);
    await eventually(() => line.isClosed || line.received !== '');
    statuses.push(statusOf(line));
  }
  return statuses;
}

describe('RATE_LIMIT_UNCOUNTED_PER_SECOND', () => {
  test.each([
    ['GET /health', HEALTH],
    ['HEAD /health', request('HEAD /health')],
    ['the sandbox store', request('GET /sandbox/androidpublisher/androidpublisher/v3/applications/a/purchases/subscriptionsv2/tokens/a')],
  ])('an address that sends too many requests to %s has its connections closed, and another one is served', async (_, text) => {
    await using service = await start({ settings });
    using lines = new Lines(service);
    // The connection itself counts too. On a slow machine some come back meanwhile.
    const answered = await answeredOf(service, text);
    expect(answered).toBeGreaterThanOrEqual(9);
    expect(answered).toBeLessThan(50);
    expect((await service.get('/health')).status).toBe(200);
    service.advance(2000);
    expect(await lines.ask(FLOODING)).toBe(200);
  });

  test.each([
    ['past the limit of requests', { RATE_LIMIT_PER_SECOND: '1', RATE_LIMIT_BURST: '1' }, request('GET /v1/balance'), 429],
    ['with a repeated header', {}, REPEATED, 400],
  ])('refusals of requests %s count, and past the bound there is no answer', async (_, more, text, status) => {
    await using service = await start({ settings: { ...settings, ...more }, stoppedClock: true });
    using lines = new Lines(service);
    const statuses = await statusesOf30(lines, text);
    expect(statuses).toContain(status);
    expect(statuses.at(-1)).toBeNaN();
    const { body } = await service.get('/metrics');
    expect(body).toMatch(/coinop_refusals_total\{code="rate_limited"\} [1-9]/);
  });

  test.each([
    ['requests to /health', HEALTH, 429],
    ['requests with a repeated header', REPEATED, 400],
  ])('a trusted proxy gets an answer for all %s of a client, and other clients are served through it', async (_, text, status) => {
    await using service = await start({ settings: { ...settings, TRUSTED_PROXIES: FLOODING }, stoppedClock: true });
    using lines = new Lines(service);
    const of = (client: string, asked: string): string => asked.replace('\r\n\r\n', `\r\nx-forwarded-for: ${client}\r\n\r\n`);
    const statuses = await statusesOf30(lines, of('203.0.113.1', text));
    expect(statuses).not.toContain(NaN);
    expect(statuses.at(-1)).toBe(status);
    const other = await lines.open(FLOODING);
    other.socket.write(of('203.0.113.2', HEALTH));
    await eventually(() => other.received !== '');
    expect(statusOf(other)).toBe(200);
  });
});
