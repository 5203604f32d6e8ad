import { encode } from 'uqr';
import { rateLimited } from '../../errors.ts';
import { Encoded, type RequestMeta } from '../../server/http/endpoint.ts';
import { LruCache } from '../../server/lru-cache.ts';
import { pairingUrl } from './model.ts';

/**
 * The width of the light border around the QR code, in modules. Cameras need this border to find the code (ISO/IEC 18004, section 6.3.8).
 */
const QUIET_ZONE = 4;

/** The most images in the cache. An image takes 4 KB for a URL of usual length. */
const MOST_IMAGES = 200;

/**
 * For each pairing, every image after the first counts as this number of requests. Drawing an image takes 2 ms of CPU time, or 4 ms for the
 * longest Host, which is as much as forty coin operations. The first image is free, because the number of pairings is limited. Without
 * PUBLIC_URL a client could ask for images of one pairing for any number of Hosts.
 */
const DRAWING_COSTS = 40;

/** A cache of the QR codes of pairings. */
export class QrImages {
  readonly #images = new Map<string, Encoded>();
  /** The tokens of pairings whose free image has been drawn. They take about 1 MB. */
  readonly #drawn = new LruCache<string, true>(10_000);

  /** The QR code of a pairing. @throws Refusal `rate_limited` if the client has to wait before the image is drawn */
  of(token: string, base: string, meta: Pick<RequestMeta, 'charge'>): Encoded {
    const url = pairingUrl(base, token);
    const known = this.#images.get(url);
    if (known !== undefined) return known;
    const waitMs = this.#drawn.get(token) === undefined ? 0 : meta.charge(DRAWING_COSTS);
    if (waitMs > 0) throw rateLimited(waitMs);
    this.#drawn.set(token, true);
    const image = new Encoded(this.draw(url));
    // The cache is full: drops the oldest image.
    if (this.#images.size === MOST_IMAGES) this.#images.delete(this.#images.keys().next().value!);
    this.#images.set(url, image);
    return image;
  }

  /** Draws a text as a QR code in SVG. Draws neighbouring dark modules of a row as one rectangle, which halves the size of the image. */
  draw(text: string): string {
    // A camera can read a code of error-correction level M in spite of a reflection on the screen. A higher level would make the modules
    // smaller.
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
}
