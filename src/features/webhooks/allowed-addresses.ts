import { BlockList, isIP } from 'node:net';

/**
 * The addresses to which webhooks may be sent. A person who may add a hook must not be able to send webhooks to an address that only this
 * machine can reach: its own services, its network, and its cloud's metadata service.
 *
 * Sources: the IANA registries of special-purpose addresses (RFC 6890 and its updates), RFC 6598 (carriers' NAT), RFC 4193 (local IPv6).
 */

/** Ranges of addresses in CIDR notation, by family. */
type Ranges = Readonly<Record<'ipv4' | 'ipv6', readonly string[]>>;

/**
 * Unspecified, reserved, multicast and link-local addresses, and the metadata services of clouds. No webhook is sent to these addresses,
 * not even with WEBHOOKS_PRIVATE=on.
 */
const NEVER: Ranges = {
  ipv4: [
    '0.0.0.0/8', // "this network": Linux connects 0.0.0.0 to itself
    '100.100.100.200/32', // metadata of Alibaba's cloud
    '168.63.129.16/32', // metadata of Azure: a public address that only its machines reach
    '169.254.0.0/16', // the link, and most clouds' metadata
    '192.0.0.0/24', // protocol assignments, and metadata of Oracle's cloud
    '224.0.0.0/4', // multicast
    '240.0.0.0/4', // reserved, and broadcast
  ],
  ipv6: [
    '::/128', // unspecified
    '64:ff9b::/96', // NAT64, which reaches any IPv4 address
    '64:ff9b:1::/48',
    '2001::/23', // protocol assignments, such as Teredo
    '2002::/16', // 6to4, which reaches any IPv4 address
    'fd00:ec2::254/128', // metadata of AWS
    'fe80::/10', // the link
    'fec0::/10', // the site, no longer in use
    'ff00::/8', // multicast
  ],
};

/** Addresses of private networks, documentation and benchmarks. Webhooks are sent to these addresses only with WEBHOOKS_PRIVATE=on. */
const PRIVATE: Ranges = {
  ipv4: [
    '10.0.0.0/8',
    '100.64.0.0/10', // carriers' NAT
    '127.0.0.0/8',
    '172.16.0.0/12',
    '192.0.2.0/24', // documentation, as 198.51.100.0 and 203.0.113.0
    '192.88.99.0/24', // relays of 6to4
    '192.168.0.0/16',
    '198.18.0.0/15', // benchmarks
    '198.51.100.0/24',
    '203.0.113.0/24',
  ],
  ipv6: [
    '2001:db8::/32', // documentation
    '3fff::/20',
  ],
};

/**
 * The public unicast addresses of IPv6. All other addresses are special (RFC 4291, section 2.4), so webhooks are sent to them only with
 * WEBHOOKS_PRIVATE=on.
 */
const GLOBAL_IPV6 = '2000::/3';

const never = listOf(NEVER);
const notPublic = listOf(PRIVATE);
const globalIpv6 = listOf({ ipv4: [], ipv6: [GLOBAL_IPV6] });

/**
 * Whether a webhook may be sent to the address. False for a text that is not an address. `BlockList` treats an IPv4-mapped IPv6 address as
 * the IPv4 address. So the lists must not have the range of all mapped addresses, because it would match every IPv4 address.
 */
export function isAllowedAddress(address: string, allowsPrivate: boolean): boolean {
  const version = isIP(address);
  // Only link-local addresses have a zone, such as %eth0.
  if (version === 0 || address.includes('%')) return false;
  const family = version === 6 ? 'ipv6' : 'ipv4';
  if (never.check(address, family)) return false;
  if (allowsPrivate) return true;
  return !notPublic.check(address, family) && (family === 'ipv4' || globalIpv6.check(address, family));
}

function listOf(ranges: Ranges): BlockList {
  const list = new BlockList();
  for (const family of ['ipv4', 'ipv6'] as const) {
    for (const range of ranges[family]) {
      const [address = '', bits] = range.split('/');
      list.addSubnet(address, Number(bits), family);
    }
  }
  return list;
}
