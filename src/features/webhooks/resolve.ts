import { lookup, Resolver } from 'node:dns/promises';

/**
 * The addresses of a host name, in the order in which they are tried.
 * @throws Error if it has none
 */
export type Resolve = (hostname: string) => Promise<readonly string[]>;

/** A request has ten seconds in all. A name server that is down must leave time for the next one. */
const RESOLVER = { timeout: 2000, tries: 2 };

/**
 * By DNS alone. The system's own look-up would take one of the four threads that files and all other look-ups share: names of a few dead
 * endpoints would hold up everybody.
 */
export function resolvePublic(resolver = new Resolver(RESOLVER)): Resolve {
  return async (hostname) => {
    const found = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
    const addresses = found.flatMap((each) => (each.status === 'fulfilled' ? each.value : []));
    if (addresses.length === 0) throw (found[0] as PromiseRejectedResult).reason as Error;
    return addresses;
  };
}

/** As the system does, /etc/hosts included: the names of private networks may stand there only. */
export const resolvePrivate: Resolve = async (hostname) =>
  (await lookup(hostname, { all: true, order: 'verbatim' })).map(({ address }) => address);
