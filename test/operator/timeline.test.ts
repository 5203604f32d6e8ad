import { describe, expect, test } from 'vitest';
import { accountIdOf } from '../../src/accounts/ids.ts';
import { forFile, freshId, isOnCluster } from '../harness.ts';
import { startRedis } from '../own-redis.ts';
import { eventually } from '../realtime/watcher.ts';
import { openDesk } from './parts.ts';

/** Questions about a time: what happened in an account, to the second. */
const own = isOnCluster() ? undefined : await forFile(startRedis());
// The list of accounts by day reads all accounts, and other files leave broken ones in the shared Redis.
const desk = await forFile(openDesk({ ...(own && { redis: own.location }), settings: { EVENTS: 'on' } }));
const { service } = desk;
const installId = freshId();
const accountId = accountIdOf(installId);
const SECOND_MS = 1000;
const iso = (): string => new Date(service.now()).toISOString();
const credit = async (coins: number, key: string): Promise<string> => {
  await service.post('/v1/coins/credit', { installId, coins, key });
  return iso();
};
const read = async (path: string, query: Record<string, string> = {}) =>
  (await desk.read(`/accounts/${accountId}${path}?${new URLSearchParams(query)}`)).body;

// A life of an hour: a credit a minute, a correction, a ban and its end.
const begin = service.now();
for (let minute = 0; minute < 10; minute++) {
  await credit(minute + 1, `minute-${minute}`);
  service.advance(60 * SECOND_MS);
}
await desk.change(`/accounts/${accountId}/adjust`, { coins: -5, key: 'ticket-1', reason: 'one too many' });
service.advance(60 * SECOND_MS);
await desk.change(`/accounts/${accountId}/ban`, { reason: 'rude' });
service.advance(60 * SECOND_MS);
await desk.change(`/accounts/${accountId}/unban`, { reason: 'sorry' });

const at = (minutes: number, seconds = 0): string => new Date(begin + (minutes * 60 + seconds) * SECOND_MS).toISOString();

interface Moment {
  readonly at: string;
  readonly kind: string;
  readonly text: string;
}

test('a life is one list, newest first, of coins, acts of operators, events and what the account has', async () => {
  await eventually(async () => (await read('/timeline', { kind: 'event' })).moments.length >= 2);
  const { moments } = (await read('/timeline', { limit: '100' })) as { moments: Moment[] };
  expect(moments.map((moment) => moment.at)).toEqual(
    moments
      .map((moment) => moment.at)
      .toSorted()
      .toReversed(),
  );
  const texts = moments.map(({ kind, text }) => `${kind}: ${text}`);
  for (const text of [
    /^operator: accounts unban .*\(done\): sorry$/,
    /^operator: accounts ban .*\(done\): rude$/,
    /^event: account\.banned/,
    /^coins: adjust ticket-1: one too many$/,
    /^coins: credit minute-0$/,
    /^event: account\.created/,
    /^account: created$/,
  ])
    expect([text, texts.filter((each) => text.test(each)).length]).toEqual([text, 1]);
  // The ledger has the coins, with more figures.
  expect(texts.filter((text) => text.includes('coins.changed'))).toEqual([]);
  expect(moments.find(({ text }) => text === 'credit minute-9')).toMatchObject({ coins: 10, balanceAfterCoins: 55 });
});

test('a span to the second has what happened in it, and its pages have each moment once', async () => {
  const span = { from: at(2, -5), to: at(4, 5) };
  const { moments } = await read('/timeline', { ...span, kind: 'coins' });
  expect(moments.map(({ text }: Moment) => text)).toEqual(['credit minute-4', 'credit minute-3', 'credit minute-2']);
  const seen: string[] = [];
  for (let to: string | undefined = ''; to !== undefined;) {
    const page = await read('/timeline', { limit: '3', ...(to === '' ? {} : { to }) });
    expect(page.moments.length).toBeGreaterThan(0);
    seen.push(...page.moments.map(({ kind, text, at: when }: Moment) => `${when} ${kind} ${text}`));
    to = page.nextTo;
  }
  const whole = (await read('/timeline', { limit: '100' })).moments.map(({ kind, text, at: when }: Moment) => `${when} ${kind} ${text}`);
  expect(seen.toSorted()).toEqual(whole.toSorted());
});

describe('filters', () => {
  test('of the ledger, the log and the timeline take a day, whose end belongs to it', async () => {
    const day = at(0).slice(0, 10);
    const next = new Date(Date.parse(day) + 86_400_000).toISOString().slice(0, 10);
    // The hour may go over midnight.
    const both = { from: day, to: at(13).slice(0, 10) };
    expect((await read('/history', { ...both, limit: '100' })).entries).toHaveLength(11);
    expect((await read('/timeline', { ...both, kind: 'coins' })).moments).toHaveLength(11);
    const { entries } = (await desk.read(`/log?${new URLSearchParams({ ...both, account: accountId })}`)).body;
    expect(entries).toHaveLength(3);
    if (at(13).slice(0, 10) === day) expect((await read('/history', { from: next, to: next })).entries).toEqual([]);
    const accounts = async (createdFrom: string, createdTo: string): Promise<string[]> => {
      const found: string[] = [];
      for (let cursor: string | undefined = ''; cursor !== undefined;) {
        const query = new URLSearchParams({ createdFrom, createdTo, limit: '100', ...(cursor === '' ? {} : { cursor }) });
        const { body } = await desk.read(`/accounts?${query}`);
        found.push(...body.accounts.map((account: { accountId: string }) => account.accountId));
        cursor = body.nextCursor;
      }
      return found;
    };
    expect(await accounts(day, day)).toContain(accountId);
    expect(await accounts(next, next)).not.toContain(accountId);
  });

  test('of the ledger find an amount, added, removed or either, and refuse what is no time', async () => {
    const typesOf = async (coins: string) => (await read('/history', { coins })).entries.map(({ type }: { type: string }) => type);
    expect(await typesOf('5')).toEqual(['adjust', 'credit']);
    expect(await typesOf('-5')).toEqual(['adjust']);
    expect(await typesOf('+5')).toEqual(['credit']);
    for (const from of ['2026-02-30', 'yesterday', '2026-11-22T12:00', '2026-11-22 12:00:00'])
      expect([from, (await read('/timeline', { from })).error.code]).toEqual([from, 'invalid_request']);
  });

  test('begin at their time also in a long ledger', async () => {
    const busy = freshId();
    const busyId = accountIdOf(busy);
    await service.post('/v1/coins/credit', { installId: busy, coins: 7, key: 'old' });
    const then = service.now();
    service.advance(3_600_000);
    // More entries than a search reads for one page.
    const { redis } = service.service;
    const ledger = `{${busyId}}:ledger`;
    const [first = ''] = await redis.lrange(ledger, 0, 0);
    const later = (service.now() - 1000).toString(36);
    const [, rest = ''] = /^\d+:-?\d+(.*)$/.exec(first)!;
    const lines = Array.from({ length: 3000 }, (_, index) =>
      `${index + 2}:7${rest}`.replace(then.toString(36).slice(0, 4), later.slice(0, 4)),
    );
    expect(first).toContain(then.toString(36).slice(0, 4));
    await redis.rpush(ledger, ...lines);
    const query = new URLSearchParams({ to: new Date(then + 1000).toISOString() });
    const { body } = await desk.read(`/accounts/${busyId}/history?${query}`);
    expect(body.entries.map(({ key }: { key: string }) => key)).toEqual(['old']);
    await redis.del(ledger);
  });
});
