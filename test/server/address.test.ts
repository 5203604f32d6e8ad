import { describe, expect, test } from 'vitest';
import { addressGroup, addressText, ClientAddresses } from '../../src/server/address.ts';

describe('addressText', () => {
  test.each([
    [[127, 0, 0, 1], '127.0.0.1'],
    [[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 192, 0, 2, 7], '192.0.2.7'],
    [[0x20, 1, 0xd, 0xb8, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2], '2001:db8:0:1:0:0:0:2'],
    [[], 'unknown'],
  ])('%j is %s', (bytes, text) => {
    expect(addressText(new Uint8Array(bytes).buffer)).toBe(text);
  });
});

test('an IPv6 address counts by its /64, an IPv4 address by itself', () => {
  expect(addressGroup('2001:db8:0:1:0:0:0:2')).toBe('2001:db8:0:1');
  expect(addressGroup('192.0.2.7')).toBe('192.0.2.7');
});

describe('ClientAddresses', () => {
  const addresses = new ClientAddresses(['10.0.0.0/8', '2001:db8:ffff::/48', '127.0.0.1']);

  test.each([
    ['the peer where it is no proxy', '198.51.100.1', '203.0.113.9', '198.51.100.1'],
    ['the peer where the proxy says nothing', '10.0.0.1', '', '10.0.0.1'],
    ['the rightmost that is no proxy', '10.0.0.1', '1.1.1.1, 203.0.113.9, 10.9.9.9', '203.0.113.9'],
    ['the leftmost proxy where all are', '127.0.0.1', '10.0.0.2, 10.0.0.3', '10.0.0.2'],
    ['a port is left off', '10.0.0.1', '203.0.113.9:4711', '203.0.113.9'],
    ['IPv6, compressed and in brackets', '10.0.0.1', '[2001:DB8::5]:443', '2001:db8:0:0:0:0:0:5'],
    ['IPv4 inside IPv6', '10.0.0.1', '::ffff:203.0.113.9', '203.0.113.9'],
    ['nonsense ends the search at the last proxy', '10.0.0.1', '203.0.113.9, nonsense, 10.0.0.2', '10.0.0.2'],
  ])('%s', (_name, peer, forwardedFor, expected) => {
    expect(addresses.resolve(peer, forwardedFor)).toBe(expected);
  });
});
