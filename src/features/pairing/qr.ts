import { encode } from 'uqr';
import { z } from 'zod';
import { rateLimited, refuse } from '../../errors.ts';
import { Encoded, Reply, type RequestMeta } from '../../server/http/endpoint.ts';
import { LruCache } from '../../server/lru-cache.ts';
import { endpoint, type Services } from '../../declare.ts';
import { mayBePairToken, pairingUrl, PairToken } from './model.ts';

/** Light modules around the code, so that cameras find it (ISO/IEC 18004, section 6.3.8). */
const QUIET_ZONE = 4;

export const pairingQrCode = endpoint({
  method: 'GET',
  path: '/v1/pair/qr.svg',
  operationId: 'drawPairing',
  caller: 'none',
  summary: "A pairing's QR code as an image, so that a website needs no library for it.",
  description:
    'It holds the `url` of `POST /v1/pair/new`: dark on white with its quiet zone, for light and dark pages alike. Show it at least 160 ' +
    'CSS pixels wide. A token that does not exist counts as a miss. A pairing that has ended keeps its image as long as its status.',
  query: z.object({ token: PairToken }),
  reply: z.object({}),
  mediaType: 'image/svg+xml',
  anyOrigin: true,
  errors: ['pair_not_found'],
  misses: ['pair_not_found'],
  example:
    `token=$(curl -s -X POST $base/v1/pair/new -H 'content-type: application/json' | sed 's/.*"token":"\\([^"]*\\)".*/\\1/'); ` +
    `curl -s "$base/v1/pair/qr.svg?token=$token"`,
  async handle({ query: { token }, meta }, { config, feeds }: Pick<Services, 'config' | 'feeds'>) {
    if (!mayBePairToken(token)) return refuse('pair_not_found');
    const [pairing] = await feeds.pair.fetch([{ id: token, state: undefined }]);
    if (pairing === undefined) return refuse('pair_not_found');
    return new Reply(imageOf(token, config.PUBLIC_URL ?? meta.origin, meta), { headers: SVG_HEADERS });
  },
});

/** The image is opened on its own too: it holds nothing that a browser could run or fetch. */
const SVG_HEADERS = [
  ['content-security-policy', "default-src 'none'"],
  ['referrer-policy', 'no-referrer'],
] as const;

/** The most images that are kept, of 4 KB each for an address of usual length. */
const MOST_IMAGES = 200;

const images = new Map<string, Encoded>();

/**
 * To draw an image takes 2 ms of CPU time, and 4 ms for the longest Host: as much as forty coin operations. The first one of a pairing is
 * free, because pairings are limited. Each further one counts as so many requests. Without PUBLIC_URL a client could have an image of
 * one pairing drawn for any number of Hosts.
 */
const DRAWING_COSTS = 40;

/** Pairings with a drawn image. About 1 MB. */
const drawn = new LruCache<string, true>(10_000);

/** @throws Refusal `rate_limited` if the client has to wait for one more drawing */
function imageOf(token: string, base: string, meta: RequestMeta): Encoded {
  const url = pairingUrl(base, token);
  const known = images.get(url);
  if (known !== undefined) return known;
  const waitMs = drawn.get(token) === undefined ? 0 : meta.charge(DRAWING_COSTS);
  if (waitMs > 0) throw rateLimited(waitMs);
  drawn.set(token, true);
  const image = new Encoded(qrSvg(url));
  // The oldest image goes.
  if (images.size === MOST_IMAGES) images.delete(images.keys().next().value!);
  images.set(url, image);
  return image;
}

/** An SVG image with one unit a module. Runs of dark modules are one rectangle each, which halves its size. */
function qrSvg(text: string): string {
  // Level M survives a reflection on the screen. A higher level would make the modules smaller.
  const { data, size } = encode(text, { ecc: 'M', border: QUIET_ZONE });
  const runs = data.flatMap((row, y) =>
    [
      ...row
        .map((isDark) => (isDark ? '#' : ' '))
        .join('')
        .matchAll(/#+/g),
    ].map(({ 0: { length }, index }) => `M${index} ${y}h${length}v1h-${length}z`),
  );
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${size} ${size}" width="${size * 8}" height="${size * 8}" shape-rendering="crispEdges" role="img" aria-label="QR code">` +
    `<path fill="#fff" d="M0 0h${size}v${size}H0z"/><path fill="#000" d="${runs.join('')}"/></svg>`
  );
}
