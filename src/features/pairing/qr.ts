import { encode } from 'uqr';
import { z } from 'zod';
import { refuse } from '../../errors.ts';
import { Encoded, Reply } from '../../server/http/endpoint.ts';
import { endpoint } from '../../declare.ts';
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
  async handle({ query: { token }, meta }, { config, feeds }) {
    if (!mayBePairToken(token)) return refuse('pair_not_found');
    const [pairing] = await feeds.pair.fetch([{ id: token, position: 0 }]);
    if (pairing === undefined) return refuse('pair_not_found');
    return new Reply(imageOf(pairingUrl(config.PUBLIC_URL ?? meta.origin, token)), { headers: SVG_HEADERS });
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
 * The image of an address, kept because to make it takes 1 ms of CPU time, as much as twenty coin operations. Without this a client
 * could ask for the image of one pairing without end. New pairings are limited.
 */
function imageOf(url: string): Encoded {
  const known = images.get(url);
  if (known !== undefined) return known;
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
