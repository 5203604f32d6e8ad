import { describe, expect, test } from 'vitest';
import { addressText, ClientAddresses } from '../../src/server/address.ts';

describe('addressText', () => {
  test.each([
    [[127, 0, 0, 1], '127.0.0.1'],
    [[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 192, 0, 2, 7], '192.0.2.7'],
    [[0x20, 1, 0xd, 0xb8, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2], '2001:db8:0:1:0:0:0:2'],
    [[], 'unknown'],
  ])('the bytes %j read as %s', (bytes, text) => {
    expect(addressText(new Uint8Array(bytes).buffer)).toBe(text);
  });
});

describe('ClientAddresses', () => {
  const addresses = new ClientAddresses(['10.0.0.0/8', '2001:db8:ffff::/48', '127.0.0.1']);

  test.each([
    ['the client is the peer where a trusted proxy sends no X-Forwarded-For', '10.0.0.1', '', '10.0.0.1'],
    ['the client is the leftmost address where all are trusted proxies', '127.0.0.1', '10.0.0.2, 10.0.0.3', '10.0.0.2'],
    ['the port of an address is dropped', '10.0.0.1', '203.0.113.9:4711', '203.0.113.9'],
    ['an IPv6 address in brackets and capitals is written out', '10.0.0.1', '[2001:DB8::5]:443', '2001:db8:0:0:0:0:0:5'],
    ['an IPv4 address mapped into IPv6 is read as IPv4', '10.0.0.1', '::ffff:203.0.113.9', '203.0.113.9'],
    ['an entry that is no address ends the search at the proxy to its right', '10.0.0.1', '203.0.113.9, nonsense, 10.0.0.2', '10.0.0.2'],
  ])('%s', (_name, peer, forwardedFor, expected) => {
    expect(addresses.resolve(peer, forwardedFor)).toBe(expected);
  });
});
