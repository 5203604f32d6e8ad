import { lookup, Resolver } from 'node:dns/promises';

/**
 * The addresses of a host name, in the order in which they are tried.
 * @throws Error if it has none
 */
export type Resolve = (hostname: string) => Promise<readonly string[]>;

/** A request has ten seconds in all. If a name server is down, there must be time left for the next one. */
const RESOLVER = { timeout: 2000, tries: 2 };

/**
 * Uses DNS only. The system's look-up would occupy one of the four threads that all look-ups and file accesses share: the names of a few
 * dead endpoints would block all of them.
 */
export function resolvePublic(resolver = new Resolver(RESOLVER)): Resolve {
  return async (hostname) => {
    const found = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
    const addresses = found.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
    if (addresses.length === 0) throw (found[0] as PromiseRejectedResult).reason as Error;
    return addresses;
  };
}

/** Uses the system's look-up, which includes /etc/hosts: names of private networks may be only there. */
export const resolvePrivate: Resolve = async (hostname) =>
  (await lookup(hostname, { all: true, order: 'verbatim' })).map(({ address }) => address);
