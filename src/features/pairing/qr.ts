import { z } from 'zod';
import { refuse } from '../../errors.ts';
import { Reply } from '../../server/http/endpoint.ts';
import { endpoint, type Services } from '../../declare.ts';
import { mayBePairToken, PairToken } from './model.ts';
import { QrImages } from './qr-images.ts';

const images = new QrImages();

export const pairingQrCode = endpoint({
  method: 'GET',
  path: '/v1/pair/qr.svg',
  operationId: 'drawPairing',
  caller: 'none',
  summary: "A pairing's QR code as an image, so that a website needs no library for it.",
  description:
    'It holds the `url` of `POST /v1/pair/new`: dark on white with its quiet zone, for light and dark pages alike. Show it at least 160 ' +
    'CSS pixels wide. A token that does not exist counts against the limit of wrong tokens (RATE_LIMIT_MISSES_PER_MINUTE). ' +
    'After a pairing has ended, its image can be read for as long as its status.',
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
    return new Reply(images.of(token, config.PUBLIC_URL ?? meta.origin, meta), { headers: SVG_HEADERS });
  },
});

/** The headers of the image. A browser may open the image as a page of its own, and must not run or fetch anything from there. */
const SVG_HEADERS = [
  ['content-security-policy', "default-src 'none'"],
  ['referrer-policy', 'no-referrer'],
] as const;
