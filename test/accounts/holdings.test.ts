import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { accountKey, accountKeyPattern } from '../../src/accounts/account-keys.ts';
import { heldFields, isoTime } from '../../src/accounts/merge-rules.ts';
import type { Holding } from '../../src/accounts/holdings.ts';
import { accountIdOf } from '../../src/accounts/ids.ts';
import { allAuditors } from '../../src/auditors.ts';
import { coinKeys } from '../../src/features/coins/model.ts';
import { holdings as listed } from '../../src/holdings.ts';
import { showWith } from '../../src/operator/show-account.ts';
import { audited } from '../consistency/audited.ts';
import { forFile, freshId, start } from '../harness.ts';
import { openParts } from '../operator/parts.ts';
import { startRedis } from '../own-redis.ts';
import { issue, provision, signInToStore } from '../store.ts';
import { useEverything } from './use-everything.ts';

const holdings: readonly Holding[] = listed;

/** The holdings of a made-up feature: the name of a pet with the time of naming, and a set of toys. */
const pets: Holding = {
  name: 'pets',
  fields: [heldFields('later', 'petNamedAt', 'petName')],
  keys: [{ name: 'toys', type: 'set', whenMoved: 'joins', whenDeleted: 'goes' }],
  exported: {
    shape: { pet: z.object({ name: z.string(), namedAt: z.iso.datetime() }).optional() },
    firstPage: ({ fields: { petName, petNamedAt } }) =>
      petName === undefined ? {} : { pet: { name: petName, namedAt: isoTime(petNamedAt) } },
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

const own = await forFile(startRedis());
const { redis } = own;
const settings = { ADMIN_API: 'on', EVENTS: 'on' };
const service = await forFile(start({ redis: own.location, holdings: [...holdings, pets], settings }));

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
  async function guestAndOwner() {
    const [subject, installId] = [freshId(), freshId()];
    const owner = await signInToStore(service, subject, {});
    await service.post('/v1/coins/credit', { installId, coins: 1, key: 'k' });
    const move = async () => (await provision(service, subject, { installId })).body;
    return { subject, cookie: owner.cookies, accountId: owner.body.accountId as string, guestId: accountIdOf(installId), move };
  }
  const keep = async (id: string, petName: string, at: number, ...toys: string[]): Promise<void> => {
    await redis.hset(accountKey(id), { petName, petNamedAt: at });
    await redis.sadd(`{${id}}:toys`, ...toys);
  };

  test('moves with a guest, is exported, shown to an operator, audited, and erased', async () => {
    const { subject, cookie, accountId, guestId, move } = await guestAndOwner();
    await keep(accountId, 'Rex', 1000, 'ball', 'bone');
    await keep(guestId, 'Fido', 2000, 'ball', 'broken');
    expect(await move()).toMatchObject({ ok: true, accountId });
    expect(await redis.exists(`{${guestId}}:toys`, accountKey(guestId))).toBe(0);

    // The later name, and all toys. Not by `service.get`, because it compares the answer with the declared holdings.
    const exported = await (await fetch(`${service.url}/v1/account/export`, { headers: { cookie } })).json();
    expect(exported).toMatchObject({ pet: { name: 'Fido', namedAt: '1970-01-01T00:00:02.000Z' } });
    expect((await redis.smembers(`{${accountId}}:toys`)).toSorted()).toEqual(['ball', 'bone', 'broken']);

    using operator = openParts(service);
    const shown = await showWith([pets]).prepare({ accountId } as never, operator.parts, { by: 'test' } as never);
    expect(shown).toEqual({ reply: { accountId, movedFrom: undefined, petName: 'Fido', unreadable: [] } });

    const { findings, counts } = await audited(own.location, { holdings: [...holdings, pets] });
    expect(findings).toEqual([{ kind: 'broken_toy', subject: `account ${accountId}`, text: 'One of its toys is broken.' }]);
    expect([counts.checked['accounts with toys'], counts.unknown]).toEqual([1, {}]);

    const { token } = await issue(service, { kind: 'id_token', subject });
    const { confirm } = (await service.post('/v1/account/delete', { token })).body;
    expect((await service.post('/v1/account/delete', { token, confirm })).body).toMatchObject({ deleted: true });
    expect(await redis.exists(`{${accountId}}:toys`, accountKey(accountId))).toBe(0);
  });

  test('does not prevent the move of the other holdings of a guest if its own key cannot be merged', async () => {
    const { accountId, guestId, move } = await guestAndOwner();
    await redis.sadd(`{${guestId}}:toys`, 'ball');
    await redis.set(`{${accountId}}:toys`, 'no set');
    expect(await move()).toMatchObject({ moved: true, movedCoins: 1 });
    await expect.poll(() => redis.exists(coinKeys.ledger(guestId))).toBe(0);
    expect(await redis.smembers(`{${guestId}}:toys`)).toEqual(['ball']);
  });
});
