import { expect, test } from 'vitest';
import { urlProblem } from '../../../src/features/webhooks/hook-url.ts';
import { isAllowedAddress } from '../../../src/features/webhooks/allowed-addresses.ts';

const PUBLIC = { reached: true, withPrivate: true };
const PRIVATE = { reached: false, withPrivate: true };
const NEVER = { reached: false, withPrivate: false };

test.each([
  ['is public', PUBLIC, '1.1.1.1 8.8.8.8 100.63.255.255 172.32.0.1 192.167.1.1 223.255.255.255 2606:4700::1111 2a00:1450::1'],
  ['is loopback', PRIVATE, '127.0.0.1 127.255.255.254 ::1'],
  ['is private', PRIVATE, '10.0.0.1 172.16.0.1 172.31.255.255 192.168.255.1 fc00::1 fd12:3456::1'],
  ["is of a carrier's NAT", PRIVATE, '100.64.0.1 100.127.255.255'],
  ['is of documentation or benchmarks', PRIVATE, '192.0.2.1 198.51.100.1 203.0.113.255 198.18.0.1 2001:db8::1 3fff::1'],
  ['is of a range that nobody has yet', PRIVATE, '4000::1 a000::1 100::1'],
  ['is of IPv4, written as IPv6', PRIVATE, '::ffff:127.0.0.1 ::ffff:10.0.0.1'],
  ['is unspecified', NEVER, '0.0.0.0 0.1.2.3 ::'],
  ['is of the link', NEVER, '169.254.1.1 fe80::1 fe80::1%eth0'],
  ['is of metadata', NEVER, '169.254.169.254 100.100.100.200 168.63.129.16 192.0.0.192 fd00:ec2::254 ::ffff:169.254.169.254'],
  ['is multicast', NEVER, '224.0.0.1 239.255.255.255 ff02::1'],
  ['is reserved', NEVER, '240.0.0.1 255.255.255.255'],
  ['is of a gateway to any IPv4 address', NEVER, '2002:7f00:1:: 64:ff9b::7f00:1 64:ff9b:1::1 2001::1'],
  ['is none', NEVER, ' localhost 127.1 1.2.3.4.5 0x7f000001'],
])('an address that %s is reached by the rules: %o', (_, expected, addresses) => {
  for (const address of addresses.split(' '))
    expect([address, isAllowedAddress(address, false), isAllowedAddress(address, true)]).toEqual([
      address,
      expected.reached,
      expected.withPrivate,
    ]);
});

test('no IPv4 address that is written as IPv6 counts as public', () => {
  for (const address of ['::ffff:8.8.8.8', '::127.0.0.1', '::ffff:a9fe:a9fe'])
    expect([address, isAllowedAddress(address, false)]).toEqual([address, false]);
});

test.each([
  ['https://play.example/coinop', undefined],
  ['https://play.example:8443/?a=1', undefined],
  ['https://[2606:4700::1111]/', undefined],
  ['play.example', 'must be a URL such as https://play.example/coinop'],
  ['http://play.example/', 'must begin with https://: http:// needs WEBHOOKS_PRIVATE=on'],
  ['ftp://play.example/', 'must begin with https://'],
  ['https://ada:secret@play.example/', 'must hold no user and no password'],
  ['https://play.example/#top', 'must hold no #'],
  ['https://play.example:25/', 'must have the port 80, 443, or one from 1024 on'],
  [`https://play.example/${'a'.repeat(1024)}`, 'must have at most 1024 characters'],
  ['https://2130706433/', 'must not lead to 127.0.0.1, a private address, without WEBHOOKS_PRIVATE=on'],
  ['https://0x7f.1/', 'must not lead to 127.0.0.1, a private address, without WEBHOOKS_PRIVATE=on'],
  ['https://[::1]/', 'must not lead to ::1, a private address, without WEBHOOKS_PRIVATE=on'],
  ['https://localhost:4000/', 'must not lead to 127.0.0.1, a private address, without WEBHOOKS_PRIVATE=on'],
  ['https://hooks.localhost./', 'must not lead to 127.0.0.1, a private address, without WEBHOOKS_PRIVATE=on'],
  ['https://localhost.example/', undefined],
  ['https://169.254.169.254/latest', 'must not lead to 169.254.169.254'],
])('the URL %s of a hook: %s', (url, problem) => expect(urlProblem(url, false)).toBe(problem));

test('with WEBHOOKS_PRIVATE=on a hook may have a private address, and no TLS', () => {
  for (const url of ['http://localhost:4000/hook', 'http://127.0.0.1:4000/', 'https://10.0.0.1/', 'http://[::1]:4000/'])
    expect([url, urlProblem(url, true)]).toEqual([url, undefined]);
  expect(urlProblem('http://169.254.169.254/latest', true)).toBe('must not lead to 169.254.169.254');
});
