import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { addressGroup, ClientAddresses } from '../../src/server/address.ts';
import { Sessions } from '../../src/server/identity/sessions.ts';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

const COUNT = 1000;
const PADDING_BYTES = 15_000;

/** The bytes of memory that the results of `make` for the numbers below 1000 keep. */
async function kept(make: (index: number) => unknown): Promise<number> {
  const held: unknown[] = [];
  collect();
  const before = process.memoryUsage().heapUsed;
  for (let index = 0; index < COUNT; index++) held.push(await make(index));
  collect();
  const after = process.memoryUsage().heapUsed;
  return held.length === COUNT ? after - before : Infinity;
}

/** A text of its own, as a header is. */
const header = (text: string): string => Buffer.from(text).toString('latin1');

const claims = { subject: 'account', id: 'id', issuedAt: 0, expiresAt: 1e12, kind: 'login' as const };
const sessions = new Sessions({ verify: () => claims, sign: () => 'token' } as never, { now: () => 1000 });
const addresses = new ClientAddresses(['127.0.0.1']);
const groupOf = (address: string): string =>
  addressGroup(addresses.resolve('127.0.0.1', header(`${'x'.repeat(PADDING_BYTES)}, ${address}`)));

test.each<[string, (index: number) => unknown]>([
  ['an IPv4 address', (index) => groupOf(`203.113.${100 + (index >> 7)}.${100 + (index & 127)}`)],
  ['an IPv6 address', (index) => groupOf(`2001:db8:1234:${index.toString(16)}::1`)],
  ['a session', (index) => sessions.ofCookies(header(`pad=${'x'.repeat(PADDING_BYTES)}; svc_session=${`${index}`.padEnd(222, 's')}`))],
])('%s that the service remembers does not keep the header that it came in', async (_name, make) => {
  expect(await kept(make)).toBeLessThan((COUNT * PADDING_BYTES) / 4);
});
