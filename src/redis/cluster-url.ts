import type { NodeAddress, NodeOptions } from './shard.ts';

/**
 * The form of a Cluster's URL: `redis-cluster://` or `rediss-cluster://` (TLS), each with optional `user:password@` and one or more
 * `host:port`, separated by commas.
 */
const CLUSTER_URL = /^redis(s?)-cluster:\/\/(?:([^@/]*)@)?([^@/?#]+)\/?$/;

/** One node in the URL: `host`, `host:port` or `[IPv6]:port`. */
const NODE = /^(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9._-]+))(?::(\d{1,5}))?$/;

const DEFAULT_PORT = 6379;

export function isClusterUrl(url: string): boolean {
  return /^rediss?-cluster:/.test(url);
}

/** The nodes to contact first, and the options of the connections to them. @param url checked by `config.ts` */
export function clusterSeedsOf(url: string): { seeds: NodeAddress[]; options: NodeOptions } {
  const [, tls, credentials = '', nodes = ''] = CLUSTER_URL.exec(url) ?? [];
  const seeds = nodes.split(',').map((node) => {
    const [, ipv6, name, port = DEFAULT_PORT] = NODE.exec(node) ?? [];
    return { host: (ipv6 ?? name)!, port: Number(port) };
  });
  const [username = '', password = ''] = credentials.split(/:(.*)/s).map(decodeURIComponent);
  return {
    seeds,
    options: {
      ...(username === '' ? {} : { username }),
      ...(password === '' ? {} : { password }),
      ...(tls === 's' ? { tls: {} } : {}),
    },
  };
}
