import { BlockList, isIP } from 'node:net';
import { isLoopback } from '../../config.ts';

/** How far from this machine an address is. `name`: the host is a name, which the doctor does not resolve. */
export type Distance = 'loopback' | 'private' | 'name' | 'public';

/** The private networks: RFC 1918, RFC 6598 (shared), RFC 3927 and RFC 4291 (link-local), RFC 4193 (unique local). */
const PRIVATE = new BlockList();
for (const [net, bits] of [
  ['10.0.0.0', 8],
  ['172.16.0.0', 12],
  ['192.168.0.0', 16],
  ['100.64.0.0', 10],
  ['169.254.0.0', 16],
] as const)
  PRIVATE.addSubnet(net, bits, 'ipv4');
PRIVATE.addSubnet('fc00::', 7, 'ipv6');
PRIVATE.addSubnet('fe80::', 10, 'ipv6');

/** How far from this machine a host is. @param host an address, with or without brackets, or a name */
export function distanceOf(host: string): Distance {
  if (isLoopback(host)) return 'loopback';
  const address = host.replaceAll(/^\[|\]$/g, '');
  const version = isIP(address);
  if (version === 0) return 'name';
  return PRIVATE.check(address, version === 4 ? 'ipv4' : 'ipv6') ? 'private' : 'public';
}
