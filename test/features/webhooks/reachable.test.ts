import { describe, expect, test } from 'vitest';
import { urlProblem } from '../../../src/features/webhooks/hook-url.ts';
import { isReachable } from '../../../src/features/webhooks/reachable.ts';

describe('an address', () => {
  test.each(['1.1.1.1', '8.8.8.8', '100.63.255.255', '172.32.0.1', '192.167.1.1', '223.255.255.255', '2606:4700::1111', '2a00:1450::1'])(
    '%s is public',
    (address) => expect(isReachable(address, false)).toBe(true),
  );

  test.each([
    ['loopback', '127.0.0.1', '127.255.255.254', '::1'],
    ['private', '10.0.0.1', '172.16.0.1', '172.31.255.255', '192.168.255.1', 'fc00::1', 'fd12:3456::1'],
    ["of a carrier's NAT", '100.64.0.1', '100.127.255.255'],
    ['of documentation or benchmarks', '192.0.2.1', '198.51.100.1', '203.0.113.255', '198.18.0.1', '2001:db8::1', '3fff::1'],
    ['of a range that nobody has yet', '4000::1', 'a000::1', '100::1'],
  ])('%s needs WEBHOOKS_PRIVATE=on', (_, ...addresses) => {
    for (const address of addresses)
      expect([address, isReachable(address, false), isReachable(address, true)]).toEqual([address, false, true]);
  });

  test.each([
    ['unspecified', '0.0.0.0', '0.1.2.3', '::'],
    ['of the link', '169.254.1.1', 'fe80::1', 'fe80::1%eth0'],
    ['of metadata', '169.254.169.254', '100.100.100.200', '168.63.129.16', '192.0.0.192', 'fd00:ec2::254'],
    ['multicast', '224.0.0.1', '239.255.255.255', 'ff02::1'],
    ['reserved', '240.0.0.1', '255.255.255.255'],
    ['of a gateway to any IPv4 address', '2002:7f00:1::', '64:ff9b::7f00:1', '64:ff9b:1::1', '2001::1'],
    ['no address', '', 'localhost', '127.1', '1.2.3.4.5', '0x7f000001'],
  ])('%s is never reached', (_, ...addresses) => {
    for (const address of addresses)
      expect([address, isReachable(address, false), isReachable(address, true)]).toEqual([address, false, false]);
  });

  test('of IPv4 that is written as IPv6 follows the same rules', () => {
    for (const address of ['::ffff:127.0.0.1', '::ffff:10.0.0.1', '::ffff:8.8.8.8', '::127.0.0.1', '::ffff:a9fe:a9fe'])
      expect([address, isReachable(address, false)]).toEqual([address, false]);
    expect(isReachable('::ffff:169.254.169.254', true)).toBe(false);
  });
});

describe('the URL of a hook', () => {
  test.each(['https://play.example/coinop', 'https://play.example:8443/?a=1', 'https://8.8.8.8/', 'https://[2606:4700::1111]/'])(
    '%s is taken',
    (url) => expect(urlProblem(url, false)).toBeUndefined(),
  );

  test.each([
    ['play.example', 'must be a URL such as https://play.example/coinop'],
    ['http://play.example/', 'must begin with https://: http:// needs WEBHOOKS_PRIVATE=on'],
    ['ftp://play.example/', 'must begin with https://'],
    ['https://ada:secret@play.example/', 'must hold no user and no password'],
    ['https://play.example/#top', 'must hold no #'],
    ['https://play.example:25/', 'must have the port 80, 443, or one from 1024 on'],
    [`https://play.example/${'a'.repeat(1024)}`, 'must have at most 1024 characters'],
    ['https://127.0.0.1/', 'must not lead to 127.0.0.1, a private address, without WEBHOOKS_PRIVATE=on'],
    ['https://2130706433/', 'must not lead to 127.0.0.1, a private address, without WEBHOOKS_PRIVATE=on'],
    ['https://0x7f.1/', 'must not lead to 127.0.0.1, a private address, without WEBHOOKS_PRIVATE=on'],
    ['https://[::1]/', 'must not lead to ::1, a private address, without WEBHOOKS_PRIVATE=on'],
    ['https://169.254.169.254/latest', 'must not lead to 169.254.169.254'],
  ])('%s is refused: %s', (url, problem) => expect(urlProblem(url, false)).toBe(problem));

  test('may be of a private address, and without TLS, with WEBHOOKS_PRIVATE=on', () => {
    for (const url of ['http://localhost:4000/hook', 'http://127.0.0.1:4000/', 'https://10.0.0.1/', 'http://[::1]:4000/'])
      expect([url, urlProblem(url, true)]).toEqual([url, undefined]);
    expect(urlProblem('http://169.254.169.254/latest', true)).toBe('must not lead to 169.254.169.254');
  });
});
