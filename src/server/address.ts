import { BlockList, isIP } from 'node:net';
import { detached } from './detached-text.ts';

/**
 * Finds a client's address. It is the address of the peer; if the peer is a trusted proxy, it is the rightmost address in X-Forwarded-For
 * that is not a trusted proxy. A client can write any addresses it likes into the header, but only to the left of the address that a
 * trusted proxy appends.
 */
export class ClientAddresses {
  readonly #trusted: BlockList | undefined;

  constructor(trustedProxies: string[]) {
    if (trustedProxies.length === 0) return;
    this.#trusted = new BlockList();
    for (const proxy of trustedProxies) {
      const [address = '', bits] = proxy.split('/');
      const family = isIP(address) === 6 ? 'ipv6' : 'ipv4';
      this.#trusted.addSubnet(address, bits === undefined ? (family === 'ipv6' ? 128 : 32) : Number(bits), family);
    }
  }

  isTrusted(address: string): boolean {
    const family = isIP(address);
    return family !== 0 && this.#trusted !== undefined && this.#trusted.check(address, family === 6 ? 'ipv6' : 'ipv4');
  }

  resolve(peer: string, forwardedFor: string): string {
    if (forwardedFor === '' || !this.isTrusted(peer)) return peer;
    let client = peer;
    // The header is read from the right, without `split`: clients can send 16 KiB of commas, and splitting them would take a third of a
    // millisecond.
    for (let end = forwardedFor.length, start = 0; start >= 0; end = start) {
      start = end === 0 ? -1 : forwardedFor.lastIndexOf(',', end - 1);
      const hop = canonicalAddress(forwardedFor.slice(start + 1, end).trim());
      if (hop === undefined) return client;
      client = hop;
      if (!this.isTrusted(hop)) return hop;
    }
    return client;
  }
}

/**
 * The text of an address whose bytes a socket reports: 4 bytes are IPv4, 16 are IPv6 (an IPv4-mapped address becomes IPv4 text). For a
 * closed socket, which reports no bytes, the text is `unknown`.
 */
export function addressText(bytes: ArrayBuffer): string {
  const view = new Uint8Array(bytes);
  if (view.length === 4) return `${view[0]}.${view[1]}.${view[2]}.${view[3]}`;
  if (view.length !== 16) return 'unknown';
  const words = Array.from({ length: 8 }, (_, index) => (view[2 * index]! << 8) | view[2 * index + 1]!);
  if (words.slice(0, 5).every((word) => word === 0) && words[5] === 0xffff) return `${view[12]}.${view[13]}.${view[14]}.${view[15]}`;
  return words.map((word) => word.toString(16)).join(':');
}

/** Turns an address that another program wrote into the one spelling that `addressText` uses; undefined if the text is not an address. */
export function canonicalAddress(text: string): string | undefined {
  const bare = text.replace(/^\[(.*)\](:\d+)?$/, '$1').replace(/^(\d+\.\d+\.\d+\.\d+):\d+$/, '$1');
  const family = isIP(bare);
  // The result is a copy: the limits remember 100,000 addresses, and V8 would keep the whole header of each in memory if they were slices
  // of it.
  if (family === 4) return detached(bare);
  if (family === 0) return undefined;
  // URL gives the canonical form of IPv6 (RFC 5952). The form is then expanded to eight groups, because `addressGroup` takes the first
  // four.
  const [head = '', tail] = new URL(`http://[${bare.replace(/%.*$/, '')}]`).hostname.slice(1, -1).split('::');
  const left = head === '' ? [] : head.split(':');
  const right = tail === undefined || tail === '' ? [] : tail.split(':');
  const groups = tail === undefined ? left : [...left, ...Array<string>(8 - left.length - right.length).fill('0'), ...right];
  if (groups.slice(0, 5).every((group) => group === '0') && groups[5] === 'ffff') {
    const [high = 0, low = 0] = groups.slice(6).map((group) => parseInt(group, 16));
    return `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`;
  }
  return groups.join(':');
}

/**
 * The unit by which all limits count clients: an IPv4 address, or the first 64 bits of an IPv6 address. An IPv6 client can choose the other
 * bits itself.
 */
export function addressGroup(address: string): string {
  return address.includes(':') ? address.split(':', 4).join(':') : address;
}

/** The URL at which a program on this machine reaches a server that listens on the given host. */
export function urlOnThisMachine(listening: string, port: number): string {
  const host = listening === '0.0.0.0' ? '127.0.0.1' : listening === '::' ? '::1' : listening;
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}
