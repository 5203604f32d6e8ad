import type { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { accountKey, accountKeyPattern } from '../../src/accounts/account-keys.ts';
import { heldFields, isoTime } from '../../src/accounts/fields.ts';
import { heldParts } from '../../src/accounts/held-keys.ts';
import type { Holding } from '../../src/accounts/holdings.ts';
import { accountIdOf } from '../../src/accounts/ids.ts';
import { allAuditors } from '../../src/auditors.ts';
import { coinKeys } from '../../src/features/coins/model.ts';
import { Refusal } from '../../src/errors.ts';
import { holdings as listed } from '../../src/holdings.ts';
import { showWith } from '../../src/operator/show.ts';
import { ScriptRunner } from '../../src/redis/script-runner.ts';
import { audited } from '../consistency/audited.ts';
import { freshId, signIn, start, type TestService } from '../harness.ts';
import { openParts } from '../operator/parts.ts';
import { startRedis, type OwnRedis } from '../own-redis.ts';
import { provision, signInToStore } from '../store.ts';
import { useEverything } from './use-everything.ts';

const holdings: readonly Holding[] = listed;

/** The holdings of a made-up feature: the name of a pet with the time of naming, and a set of toys. */
const pets: Holding = {
  name: 'pets',
  fields: [heldFields('later', 'petNamedAt', 'petName')],
  keys: [{ name: 'toys', type: 'set', whenMoved: 'joins', whenDeleted: 'goes' }],
  exported: {
    shape: { pet: z.object({ name: z.string(), namedAt: z.iso.datetime() }).optional(), toys: z.array(z.string()).optional() },
    first: ({ fields: { petName, petNamedAt } }) => (petName === undefined ? {} : { pet: { name: petName, namedAt: isoTime(petNamedAt) } }),
    pages: {
      letter: 't',
      first: '',
      isPlace: (text) => text === '',
      read: async ({ accountId }, _, { scripts }) => ({ lists: { toys: await toysOf(accountId, scripts) }, next: undefined, looks: 1 }),
    },
  },
  shown: { shape: { petName: z.string().optional() }, show: ({ fields }) => ({ petName: fields['petName'] }) },
  auditors: () => [
    {
      keys: [
        {
          pattern: accountKeyPattern('toys'),
          counted: 'accounts with toys',
          check: async ([id], look) => {
            const isBroken = (await look.ask('SISMEMBER', `{${id}}:toys`, 'broken')) === 1;
            return isBroken ? [{ kind: 'broken_toy', subject: `account ${id}`, text: 'One of its toys is broken.' }] : [];
          },
        },
      ],
    },
  ],
};

async function toysOf(accountId: string, scripts: ScriptRunner): Promise<string[]> {
  const toys: string[] = [];
  for await (const { words } of heldParts(accountId, 'toys', scripts)) toys.push(...words);
  return toys;
}

let own: OwnRedis;
let service: TestService;
let redis: Redis;

beforeAll(async () => {
  own = await startRedis();
  service = await start({ redis: own.location, holdings: [...holdings, pets], settings: { ADMIN_API: 'on', EVENTS: 'on' } });
  ({ redis } = service.service);
});
afterAll(async () => {
  await service[Symbol.asyncDispose]();
  await own[Symbol.asyncDispose]();
});

describe('the table of holdings', () => {
  test('has each field, each fixed key and each letter of a cursor once', () => {
    const fields = holdings.flatMap((each) => (each.fields ?? []).flatMap(({ names }) => names));
    const keys = holdings.flatMap((each) => (each.keys ?? []).map(({ name }) => String(name)));
    const letters = holdings.flatMap(({ exported }) => exported?.pages?.letter ?? []);
    for (const list of [fields, keys, letters, holdings.map(({ name }) => name)]) expect(list).toEqual([...new Set(list)]);
  });

  test('has a function for each word: handOver for handed_over, erase for erased, names for a pattern that is removed', () => {
    for (const { keys = [], handOver, erase } of holdings)
      for (const { name, namesAt, whenMoved, whenDeleted } of keys) {
        if (whenMoved === 'handed_over') expect([name, handOver]).toEqual([name, expect.any(Function)]);
        if (whenDeleted === 'erased') expect([name, erase]).toEqual([name, expect.any(Function)]);
        if (typeof name !== 'string' && (whenMoved === 'goes' || whenDeleted.startsWith('goes')))
          expect([name, namesAt]).toEqual([name, expect.any(Function)]);
      }
  });
});

test('every key and every field of an account that the service writes belongs to one holding', async () => {
  await useEverything(service);
  const keys = await redis.keys('*');
  const ofAccounts = keys.filter((key) => /^\{[^}:]{22}\}:/.test(key));
  expect(ofAccounts.length).toBeGreaterThan(20);
  const owners = (key: string): string[] =>
    holdings.flatMap((each) =>
      (each.keys ?? []).flatMap(({ name }) => (accountKeyPattern(name).test(key) ? `${each.name}: ${String(name)}` : [])),
    );
  expect(ofAccounts.filter((key) => owners(key).length !== 1)).toEqual([]);
  const names = new Set((await Promise.all(ofAccounts.filter((key) => key.endsWith(':account')).map((key) => redis.hkeys(key)))).flat());
  const declared = holdings.flatMap((each) => (each.fields ?? []).flatMap((group) => group.names));
  expect([...names].toSorted()).toEqual(declared.toSorted());
  // The other keys belong to no account, and the audit knows them.
  const patterns = allAuditors().flatMap((auditor) => auditor.keys.map(({ pattern }) => pattern));
  expect(keys.filter((key) => !patterns.some((pattern) => pattern.test(key)))).toEqual([]);
});

describe('a made-up holding', () => {
  const keep = async (accountId: string, petName: string, at: number, ...toys: string[]): Promise<void> => {
    await redis.hset(accountKey(accountId), { petName, petNamedAt: at });
    await redis.sadd(`{${accountId}}:toys`, ...toys);
  };
  // Not by `service.get`, because it compares the answer with the declared holdings.
  const exportOf = async (cookie: string): Promise<unknown> =>
    (await fetch(`${service.url}/v1/account/export`, { headers: { cookie } })).json();

  test('moves with a guest: the later name stays, and the toys are merged', async () => {
    const [subject, guest] = [freshId(), freshId()];
    const { body } = await signInToStore(service, subject, {});
    await signIn(service, guest);
    await service.post('/v1/coins/credit', { installId: guest, coins: 1, key: 'k' });
    await keep(body.accountId, 'Rex', 1000, 'ball', 'bone');
    await keep(accountIdOf(guest), 'Fido', 2000, 'ball', 'rope');
    const moved = await provision(service, subject, { installId: guest });
    expect(moved.body).toMatchObject({ ok: true, accountId: body.accountId });
    expect(await redis.hget(accountKey(body.accountId), 'petName')).toBe('Fido');
    expect((await redis.smembers(`{${body.accountId}}:toys`)).toSorted()).toEqual(['ball', 'bone', 'rope']);
    expect(await redis.exists(`{${accountIdOf(guest)}}:toys`, accountKey(accountIdOf(guest)))).toBe(0);
  });

  test('does not prevent the move of the other holdings of a guest if its own key cannot be merged', async () => {
    const [subject, installId] = [freshId(), freshId()];
    const [accountId, guestId] = [(await signInToStore(service, subject, {})).body.accountId, accountIdOf(installId)];
    await service.post('/v1/coins/credit', { installId, coins: 1, key: 'k' });
    await redis.sadd(`{${guestId}}:toys`, 'ball');
    await redis.set(`{${accountId}}:toys`, 'no set');
    expect((await provision(service, subject, { installId })).body).toMatchObject({ moved: true, movedCoins: 1 });
    await expect.poll(() => redis.exists(coinKeys.ledger(guestId))).toBe(0);
    expect(await redis.smembers(`{${guestId}}:toys`)).toEqual(['ball']);
    await redis.del(`{${accountId}}:toys`, `{${guestId}}:toys`);
  });

  test('is exported, shown to an operator, and erased', async () => {
    const installId = freshId();
    const cookies = await signIn(service, installId);
    const accountId = accountIdOf(installId);
    await keep(accountId, 'Rex', 1000, 'ball');
    expect(await exportOf(cookies)).toMatchObject({ pet: { name: 'Rex', namedAt: '1970-01-01T00:00:01.000Z' }, toys: ['ball'] });

    using operator = openParts(service);
    const shown = await showWith([pets]).prepare({ accountId } as never, operator.parts, { by: 'test' } as never);
    expect(shown instanceof Refusal ? shown.code : shown).toEqual({ reply: { accountId, movedFrom: undefined, petName: 'Rex' } });

    const { confirm } = (await service.post('/v1/account/delete', { installId })).body;
    expect((await service.post('/v1/account/delete', { installId, confirm })).body).toMatchObject({ deleted: true });
    expect(await redis.exists(`{${accountId}}:toys`, accountKey(accountId))).toBe(0);
  });

  test('is part of the audit, which counts it, reports the findings of its check, and knows its key', async () => {
    const installId = freshId();
    await signIn(service, installId);
    await service.post('/v1/coins/credit', { installId, coins: 1, key: 'k' });
    await keep(accountIdOf(installId), 'Rex', 1000, 'broken');
    const { findings, counts } = await audited(own.location, { holdings: [...holdings, pets] });
    expect(findings).toEqual([{ kind: 'broken_toy', subject: `account ${accountIdOf(installId)}`, text: 'One of its toys is broken.' }]);
    expect(counts.checked['accounts with toys']).toBeGreaterThan(0);
    expect(counts.unknown).toEqual({});
  });
});
