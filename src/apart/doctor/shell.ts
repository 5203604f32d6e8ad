import { clusterSeedsOf, isClusterUrl } from '../../redis/cluster-url.ts';
import { nameOf } from '../../redis/shard.ts';

/**
 * The command with which an operator calls the Redis of REDIS_URL in a shell, to be copied from a finding: `redis-cli -h 10.0.0.5 -p 6379
 * --askpass`, or `redis-cli --cluster call 10.0.0.5:6379` for all nodes of a Cluster. The command does not contain the password, because
 * redis-cli asks for it.
 */
export function clientOf(url: string): string {
  if (isClusterUrl(url)) return `${clusterClientOf(url)} call ${anyNodeOf(url)}`;
  const { hostname, port } = new URL(url);
  return ['redis-cli', '-h', hostname.replaceAll(/^\[|\]$/g, ''), '-p', port === '' ? '6379' : port, ...wayIn(url)].join(' ');
}

/** The beginning of a command that concerns the whole Cluster: `redis-cli --cluster`, with the user of REDIS_URL. */
export function clusterClientOf(url: string): string {
  return ['redis-cli', ...wayIn(url), '--cluster'].join(' ');
}

/** The address of the Cluster's node that REDIS_URL names first: `10.0.0.5:6379`. */
export function anyNodeOf(url: string): string {
  return nameOf(clusterSeedsOf(url).seeds[0]!);
}

/** The Redis user that REDIS_URL names. */
export function userOf(url: string): string {
  return (isClusterUrl(url) ? clusterSeedsOf(url).options.username : decodeURIComponent(new URL(url).username)) || 'default';
}

function wayIn(url: string): string[] {
  const password = isClusterUrl(url) ? (clusterSeedsOf(url).options.password ?? '') : new URL(url).password;
  const user = userOf(url);
  return [
    ...(url.startsWith('rediss') ? ['--tls'] : []),
    ...(user === 'default' ? [] : ['--user', quoted(user)]),
    ...(password === '' ? [] : ['--askpass']),
  ];
}

/** The text, quoted as one word for a shell. */
export function quoted(word: string): string {
  return /^[\w./:@=-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
