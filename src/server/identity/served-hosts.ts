import { allowsLoopbackOrigins, isLoopback, type Config } from '../../config.ts';
import { refuse, type Refusal } from '../../errors.ts';

/**
 * The host names under which a service in development answers: the names of this machine, and the hosts in PUBLIC_URL and ALLOWED_ORIGINS.
 *
 * A page of another site can point its own name to 127.0.0.1 (DNS rebinding). The browser then takes the service for the page's own origin,
 * and the page can read every answer. But the Host header still has the page's name, so such requests can be refused.
 */
export class ServedHosts {
  readonly #names: ReadonlySet<string>;
  /**
   * The Host header of the last request that was served. Most requests come from one page and have this Host, so they need no further
   * check.
   */
  #lastServed: string | undefined;

  /** @param urls the URLs whose hosts are served besides the names of this machine */
  constructor(urls: readonly string[]) {
    this.#names = new Set(urls.flatMap((url) => (URL.canParse(url) ? nameIn(new URL(url).hostname) : [])));
  }

  /** Whether requests with this Host header are served. @param host at most 259 characters, with or without a port */
  serves(host: string): boolean {
    if (host === this.#lastServed) return true;
    const name = nameIn(host.replace(/:\d*$/, ''));
    if (!isLoopback(name) && !this.#names.has(name)) return false;
    this.#lastServed = host;
    return true;
  }

  refusalOf(host: string): Refusal<'forbidden'> | undefined {
    return this.serves(host) ? undefined : refuse('forbidden', { message: FOREIGN_HOST, field: 'host' });
  }
}

/** The host name as browsers write it: in small letters, and without the dot at the end of a fully qualified name. */
const nameIn = (host: string): string => host.toLowerCase().replace(/\.$/, '');

export const FOREIGN_HOST =
  'In development with a loopback HOST the service answers only under names of this machine, such as localhost. For another name set ' +
  'PUBLIC_URL to its address, add its origin to ALLOWED_ORIGINS, or set TRUSTED_PROXIES if a proxy sends it.';

/**
 * The hosts that a service with these settings serves.
 * @param listening the address of the port
 * @returns undefined if requests with every Host are served: in production, for other machines, and behind a proxy
 */
export function servedHosts(
  listening: string,
  { production, TRUSTED_PROXIES, PUBLIC_URL, ALLOWED_ORIGINS }: Config,
): ServedHosts | undefined {
  if (TRUSTED_PROXIES.length > 0 || !allowsLoopbackOrigins({ production, HOST: listening })) return undefined;
  return new ServedHosts([...(PUBLIC_URL === undefined ? [] : [PUBLIC_URL]), ...ALLOWED_ORIGINS]);
}
