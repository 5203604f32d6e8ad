import { lookup, Resolver } from 'node:dns/promises';

/**
 * Gives the addresses of a host name, in the order in which they are tried.
 * @throws Error if the name has no address
 */
export type Resolve = (hostname: string) => Promise<readonly string[]>;

/**
 * How long to wait for a name server's answer, in milliseconds, and the number of attempts. A webhook request may take ten seconds in all.
 * If a name server is down, there must be time left for the next name server.
 */
const RESOLVER = { timeout: 2000, tries: 2 };

/**
 * Resolves names by DNS only. The system's lookup would occupy one of the four threads that all lookups and file accesses share, so the
 * names of a few dead endpoints would block all four.
 */
export function resolvePublic(resolver = new Resolver(RESOLVER)): Resolve {
  return async (hostname) => {
    const found = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
    const addresses = found.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
    if (addresses.length === 0) throw (found[0] as PromiseRejectedResult).reason as Error;
    return addresses;
  };
}

/** Resolves names by the system's lookup, which also reads /etc/hosts, because names of private networks may be only there. */
export const resolvePrivate: Resolve = async (hostname) =>
  (await lookup(hostname, { all: true, order: 'verbatim' })).map(({ address }) => address);
