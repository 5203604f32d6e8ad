import { get } from 'node:http';
import { encode } from 'uqr';
import { afterAll, describe, expect, test, vi } from 'vitest';
import { QrImages } from '../../../src/features/pairing/qr-images.ts';
import { forFile, start, type TestService } from '../../harness.ts';

const draw = vi.spyOn(QrImages.prototype, 'draw');
afterAll(() => draw.mockRestore());

const service = await forFile(start());

const open = async (from = service): Promise<{ token: string; url: string }> => (await from.post('/v1/pair/new')).body;

/** The status of a GET with a Host that fetch would not send. */
const statusOf = ({ port }: TestService, path: string, host: string): Promise<number> =>
  new Promise((resolve, reject) => {
    get({ host: '127.0.0.1', port, path, headers: { host } }, (response) => resolve(response.resume().statusCode!)).on('error', reject);
  });

/** The modules of the image: true is dark. */
function modulesOf(svg: string): boolean[][] {
  const size = Number(/viewBox="0 0 (\d+) \1"/.exec(svg)![1]);
  const modules = Array.from({ length: size }, () => Array.from({ length: size }, () => false));
  const path = /<path fill="#000" d="([^"]*)"/.exec(svg)![1]!;
  for (const [, x, y, length] of path.matchAll(/M(\d+) (\d+)h(\d+)v1h-\3z/g))
    for (let offset = 0; offset < Number(length); offset++) modules[Number(y)]![Number(x) + offset] = true;
  return modules;
}

describe('GET /v1/pair/qr.svg', () => {
  test("draws the pairing's address, dark on white, with a quiet zone of four modules", async () => {
    const { token, url } = await open();
    const { status, headers, body } = await service.get(`/v1/pair/qr.svg?token=${token}`);
    expect([status, headers.get('content-type'), headers.get('cache-control')]).toEqual([200, 'image/svg+xml', 'no-store']);
    expect(headers.get('content-security-policy')).toBe("default-src 'none'");
    // Websites of any origin may show the image, even with Cross-Origin-Embedder-Policy.
    expect([headers.get('access-control-allow-origin'), headers.get('cross-origin-resource-policy')]).toEqual(['*', 'cross-origin']);
    expect(body).toMatch(/^<svg xmlns="http:\/\/www\.w3\.org\/2000\/svg" [^>]*><path fill="#fff" d="M0 0h(\d+)v\1H0z"\/>/);
    const modules = modulesOf(body);
    expect(modules).toEqual(encode(url, { ecc: 'M', border: 4 }).data);
    expect(modules.slice(0, 4).flat().some(Boolean)).toBe(false);
    // The finder pattern begins after the quiet zone.
    expect(modules[4]!.slice(4, 12)).toEqual([true, true, true, true, true, true, true, false]);
  });

  test('makes the image of a pairing once', async () => {
    const { token } = await open();
    const before = draw.mock.calls.length;
    for (let times = 0; times < 3; times++) expect((await service.get(`/v1/pair/qr.svg?token=${token}`)).status).toBe(200);
    expect(draw.mock.calls.length - before).toBe(1);
  });

  test('charges the client for each of two hundred images of one pairing for different Hosts at once, except the first', async () => {
    await using limited = await start({ settings: { RATE_LIMIT: 'on' }, stoppedClock: true });
    const { token } = await open(limited);
    const before = draw.mock.calls.length;
    const ask = (host: string) => statusOf(limited, `/v1/pair/qr.svg?token=${token}`, host);
    const statuses = await Promise.all(Array.from({ length: 150 }, (_, index) => ask(`${index}.${'a'.repeat(240)}`)));
    // Of the burst of 200 requests, 1 opened the pairing and 150 asked for its image. The other 49 pay for one more image.
    expect([statuses.filter((status) => status === 200).length, draw.mock.calls.length - before]).toEqual([2, 2]);
    expect(new Set(statuses)).toEqual(new Set([200, 429]));
  });

  test('with PUBLIC_URL the Host makes no difference: one image is drawn', async () => {
    await using other = await start({ settings: { PUBLIC_URL: 'https://play.example' } });
    const { token } = await open(other);
    const before = draw.mock.calls.length;
    for (const host of ['one.example', 'two.example']) expect(await statusOf(other, `/v1/pair/qr.svg?token=${token}`, host)).toBe(200);
    const drawn = draw.mock.calls.slice(before);
    expect(drawn.map(([text]) => text)).toEqual([`https://play.example/pair?token=${token}`]);
  });

  test('thirty browsers behind one address open a pairing each, and all get their image', async () => {
    await using limited = await start({ settings: { RATE_LIMIT: 'on' }, stoppedClock: true });
    for (let count = 0; count < 30; count++)
      expect((await limited.get(`/v1/pair/qr.svg?token=${(await open(limited)).token}`)).status).toBe(200);
  });

  test('a pairing keeps its image as long as its status', async () => {
    await using moving = await start();
    const { token } = await open(moving);
    for (const [wait, status] of [
      [0, 200],
      [779_000, 200],
      [2_000, 404],
    ] as const) {
      moving.advance(wait);
      expect((await moving.get(`/v1/pair/qr.svg?token=${token}`)).status).toBe(status);
    }
  });
});
