import { describe, expect, test } from 'vitest';
import { accountIdOf } from '../../../../src/accounts/ids.ts';
import type { EventRecord } from '../../../../src/features/events/model.ts';
import { subscriptionKeys } from '../../../../src/features/purchases/subscription/model.ts';
import { purchaseHash } from '../../../../src/features/purchases/core/purchase-ids.ts';
import type { ScriptRunner } from '../../../../src/redis/script-runner.ts';
import { sandboxRedisKeys } from '../../../../src/apart/sandbox/model.ts';
import { Sandbox } from '../../../../src/apart/sandbox/sandbox.ts';
import { forFile, freshId, start } from '../../../harness.ts';
import { makeServerKey } from '../../../server-keys.ts';
import { issue, signInToStore } from '../../../store.ts';
import { EventsOf } from '../../events/reading.ts';
import { DAY, until } from './shop.ts';

// On a Cluster too, where the purchases and the accounts lie on different primaries.
const service = await forFile(start({ settings: { EVENTS: 'on', ADMIN_API: 'on' } }));
const present = await EventsOf.from(service);
const { token: bearer } = await makeServerKey(service, ['admin']);
await issue(service, { kind: 'id_token' });
const keys = (await service.service.redis.get(sandboxRedisKeys.keys))!;
const sandbox = new Sandbox({ run: async () => ['kept', keys] } as unknown as ScriptRunner, () => service.url);

type Person = 'ann' | 'bob';

/** Two installs, of which nobody has an account yet, and the purchases of a case by name. */
class Stage {
  readonly installs: Readonly<Record<Person, string>> = { ann: freshId(), bob: freshId() };
  readonly tokens: Record<string, string> = {};
  /** The session of a person who signed in to the store. */
  readonly cookies: Partial<Record<Person, string>> = {};

  id(person: Person): string {
    return accountIdOf(this.installs[person]);
  }

  as(person: Person): [query: string, options: { cookies?: string }] {
    const cookies = this.cookies[person];
    return cookies === undefined ? [`?installId=${this.installs[person]}`, {}] : ['', { cookies }];
  }

  /** The purchases that an operator sees without an owner, by name, once the store has answered about them. */
  async stuck(): Promise<Map<string, Record<string, string>>> {
    const found: Record<string, string>[] = (await service.get('/v1/admin/purchases', { bearer })).body.subscriptions;
    const answered = found.filter(({ state }) => state !== undefined);
    const named = Object.entries(this.tokens).flatMap(([name, token]) =>
      answered.filter(({ purchase }) => purchase === purchaseHash(token)).map((each) => [name, each] as const),
    );
    return new Map(named);
  }

  async acknowledged(): Promise<string[]> {
    const known = await Promise.all(
      Object.values(this.tokens).map((token) => service.service.redis.hexists(`{sandbox:subscription:${token}}`, 'acknowledgedAt')),
    );
    return Object.keys(this.tokens).filter((_, index) => known[index] === 1);
  }

  async state(person: Person): Promise<string> {
    const [query, options] = this.as(person);
    const [subscription, entitlement] = await Promise.all([
      service.get(`/v1/subscription${query}`, options),
      service.get(`/v1/entitlement${query}`, options),
    ]);
    if (subscription.status !== 200) return subscription.body.error.code;
    return subscription.body.state === 'none' ? 'none' : `${subscription.body.productId} ${entitlement.body.state}`;
  }
}

type Step = (stage: Stage) => Promise<unknown>;

interface Sale {
  /** The account whose id the app gave to the store, or another text that it gave. */
  readonly for?: Person | 'user-123';
  readonly after?: string;
  /** The expired purchase that this one follows, bought outside the app; `expiredFor`: only the account is named. */
  readonly again?: string;
  readonly expiredFor?: Person;
  readonly productId?: string;
  readonly state?: string;
}

const persons = ['ann', 'bob'] as const;
const isPerson = (text: string | undefined): text is Person => persons.includes(text as Person);

/** The store sells a subscription, or changes it. With `tells` it notifies the service. */
const sells =
  (name: string, { for: buyer, after, again, expiredFor, productId, state }: Sale = {}, tells = true): Step =>
  async (stage) => {
    const { purchaseToken } = await issue(service, {
      kind: 'subscription',
      minutes: 600,
      notify: tells,
      purchaseToken: stage.tokens[name],
      obfuscatedAccountId: isPerson(buyer) ? stage.id(buyer) : buyer,
      linkedPurchaseToken: after && stage.tokens[after],
      expiredPurchaseToken: again && stage.tokens[again],
      expiredObfuscatedAccountId: expiredFor && stage.id(expiredFor),
      productId,
      state,
    });
    stage.tokens[name] = purchaseToken;
  };
const sellsSilently = (name: string, sale: Sale = {}): Step => sells(name, sale, false);

const sends =
  (person: Person, name: string, status = 200): Step =>
  async (stage) => {
    const purchaseToken = stage.tokens[name]!;
    const [, options] = stage.as(person);
    const body = stage.cookies[person] === undefined ? { purchaseToken, installId: stage.installs[person] } : { purchaseToken };
    const reply = await service.post('/v1/subscription/purchase', body, options);
    expect([reply.status, reply.body.error?.code]).toEqual([status, status === 409 ? 'purchase_owned' : undefined]);
  };

const awaits = (holds: (stage: Stage) => Promise<boolean>): Step => {
  return (stage) => until(() => holds(stage));
};
const waits = (name: string) => awaits(async (stage) => (await stage.stuck()).has(name));
const leaves = (name: string) => awaits(async (stage) => !(await stage.stuck()).has(name));
const arrives = (name: string) => awaits(async (stage) => (await stage.acknowledged()).includes(name));

/** The guest moves into the account of a store user. */
const signsIn =
  (person: Person): Step =>
  async (stage) => {
    ({ cookies: stage.cookies[person] } = await signInToStore(service, freshId('user'), { installId: stage.installs[person] }));
  };

const deletes =
  (person: Person): Step =>
  async (stage) => {
    const installId = stage.installs[person];
    const { confirm } = (await service.post('/v1/account/delete', { installId })).body;
    expect((await service.post('/v1/account/delete', { installId, confirm })).status).toBe(200);
  };

const opens =
  (person: Person): Step =>
  (stage) =>
    service.post('/v1/account/resolve', { installId: stage.installs[person] });

const isBanned =
  (person: Person): Step =>
  (stage) =>
    service.post(`/v1/admin/accounts/${stage.id(person)}/ban`, { reason: 'cheats' }, { bearer });

/** An operator gives a purchase to an account. */
const isGiven =
  (name: string, to: Person, from?: Person): Step =>
  async (stage) => {
    const body = { account: stage.id(to), key: 'ticket-1', reason: 'order number shown' };
    const path = `/v1/admin/purchases/${purchaseHash(stage.tokens[name]!)}/move`;
    const reply = await service.post(path, body, { bearer });
    expect(reply.body).toMatchObject({ ok: true, accountId: stage.id(to) });
    expect(reply.body.movedFrom).toBe(from && stage.id(from));
  };

/** Pushes notifications about purchases, as Google may do again and in any order. */
const tells =
  (...names: string[]): Step =>
  async (stage) => {
    const replies = await Promise.all(names.map((name) => push(stage.tokens[name]!)));
    expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([200]));
  };

interface Case {
  readonly steps: readonly Step[];
  /** Product and entitlement of each person; `none` where left out. */
  readonly has?: Partial<Record<Person, string>>;
  readonly acknowledged?: readonly string[];
  readonly stuck?: readonly string[];
  /** `subscription.changed` of each person, as `<state> <product>`. */
  readonly told?: Partial<Record<Person, readonly string[]>>;
}

const PREMIUM = 'premium subscribed';
const ONCE = ['active premium'];

/** The purchase `new` ends as that of this person, acknowledged, and with one event. */
const newOf = (person: Person) => ({ has: { [person]: PREMIUM }, acknowledged: ['new'], told: { [person]: ONCE } });
/** The purchase `new`, of another product, ends as that of ann in place of `old`. */
const REPLACED = { has: { ann: 'gold subscribed' }, acknowledged: ['old', 'new'], told: { ann: ['active premium', 'active gold'] } };

/** Five purchases of which each replaces the one before. Google ends a purchase that was replaced. */
const chain: readonly Step[] = [
  sellsSilently('1', { for: 'ann' }),
  sellsSilently('1', { state: 'expired' }),
  ...['2', '3', '4'].flatMap((name) => [
    sellsSilently(name, { after: String(Number(name) - 1) }),
    sellsSilently(name, { state: 'expired' }),
  ]),
  sellsSilently('5', { after: '4', productId: 'gold' }),
];

const cases: Record<string, Case> = {
  'one bought with the id of an account belongs to that account, which need not exist yet': {
    steps: [sells('new', { for: 'ann' }), arrives('new'), sends('bob', 'new', 409), sends('ann', 'new')],
    ...newOf('ann'),
  },
  'one bought with the id of an account is refused to others before the store has told of it': {
    steps: [sellsSilently('new', { for: 'ann' }), sends('bob', 'new', 409), sends('ann', 'new'), sends('bob', 'new', 409), tells('new')],
    ...newOf('ann'),
  },
  'one that replaces a known one belongs to its owner, and ends it': {
    steps: [sellsSilently('old'), sends('ann', 'old'), sells('new', { after: 'old', productId: 'gold' }), arrives('new')],
    ...REPLACED,
  },
  'one that names an account belongs to it, although it replaces one of another account': {
    steps: [sellsSilently('old'), sends('bob', 'old'), sells('new', { for: 'ann', after: 'old' }), arrives('new')],
    has: { ann: PREMIUM },
    acknowledged: ['old', 'new'],
    told: { ann: ONCE, bob: ['active premium', 'none premium'] },
  },
  'a resubscription from the Play Store belongs to the owner of the expired one': {
    steps: [
      sellsSilently('old'),
      sends('ann', 'old'),
      sells('old', { state: 'expired' }),
      awaits(async (stage) => (await stage.state('ann')) === 'premium expired'),
      sells('new', { again: 'old' }),
      arrives('new'),
    ],
    has: { ann: PREMIUM },
    acknowledged: ['old', 'new'],
    told: { ann: ['active premium', 'expired premium', 'active premium'] },
  },
  'a resubscription from the Play Store belongs to the account that the app named for the expired one': {
    steps: [
      sellsSilently('old', { for: 'ann', state: 'expired' }),
      sells('new', { again: 'old' }),
      arrives('new'),
      // Google no longer names the expired one.
      sends('bob', 'new', 409),
    ],
    ...newOf('ann'),
  },
  'a resubscription of an expired one that is not known belongs to the account of its id': {
    steps: [sellsSilently('new', { expiredFor: 'ann' }), sends('bob', 'new', 409), tells('new'), arrives('new')],
    ...newOf('ann'),
  },
  'one whose id is not in the form of an account id has no owner, and waits for the first account that sends it': {
    steps: [sells('new', { for: 'user-123' }), waits('new'), sends('bob', 'new'), leaves('new')],
    ...newOf('bob'),
  },
  'one without an owner waits unacknowledged, and operators see when the store refunds it': {
    steps: [
      sells('new'),
      waits('new'),
      async (stage) => {
        const { boughtAt, refundAt, ...shown } = (await stage.stuck()).get('new')!;
        expect(Date.parse(refundAt!) - Date.parse(boughtAt!)).toBe(3 * DAY);
        expect(shown).toMatchObject({ productId: 'premium', state: 'active', orderId: expect.stringMatching(/^GPA/), failedChecks: 0 });
        expect(JSON.stringify(shown)).not.toContain(stage.tokens['new']);
      },
    ],
    stuck: ['new'],
  },
  'one without an owner that the store refunds is forgotten': {
    steps: [sells('new'), waits('new'), sells('new', { state: 'expired' }), leaves('new')],
  },
  'one without an owner that an operator gives to an account is acknowledged': {
    steps: [sells('new'), waits('new'), opens('ann'), isGiven('new', 'ann'), arrives('new'), leaves('new')],
    ...newOf('ann'),
  },
  'a resubscription of one that an operator gave to another account belongs to that account': {
    steps: [
      sells('old', { for: 'ann' }),
      arrives('old'),
      opens('bob'),
      isGiven('old', 'bob', 'ann'),
      sells('old', { state: 'expired' }),
      sells('new', { again: 'old' }),
      arrives('new'),
      sends('ann', 'new', 409),
      sends('bob', 'new'),
    ],
    has: { bob: PREMIUM },
    acknowledged: ['old', 'new'],
    told: { ann: ['active premium', 'none premium'] },
  },
  'two that name each other as replaced have no owner before an account sends one': {
    steps: [
      sellsSilently('old'),
      sellsSilently('new', { after: 'old' }),
      sellsSilently('old', { after: 'new' }),
      tells('old', 'new'),
      waits('old'),
      waits('new'),
      sends('bob', 'new'),
      leaves('old'),
      leaves('new'),
    ],
    has: { bob: PREMIUM },
    acknowledged: ['new'],
  },
  'one that names a guest that moves at that moment belongs to the account into which it moves': {
    steps: [opens('ann'), (stage) => Promise.all([signsIn('ann')(stage), sells('new', { for: 'ann' })(stage)]), arrives('new')],
    has: { ann: PREMIUM },
    acknowledged: ['new'],
  },
  'one that is not paid for yet is not acknowledged': {
    steps: [sellsSilently('new', { for: 'ann', state: 'pending' }), tells('new'), async (stage) => has(stage, 'ann', 'premium none')],
    has: { ann: 'premium none' },
    told: { ann: ['pending premium'] },
  },
  'one whose predecessor gets an owner later follows it': {
    steps: [sellsSilently('old'), sells('new', { after: 'old', productId: 'gold' }), waits('new'), sends('ann', 'old'), arrives('new')],
    ...REPLACED,
  },
  'notifications that come twice and in another order change nothing': {
    steps: [
      sellsSilently('old', { for: 'ann' }),
      sellsSilently('new', { for: 'ann', after: 'old', productId: 'gold' }),
      tells('new'),
      arrives('new'),
      tells('old', 'new', 'old', 'new'),
    ],
    has: { ann: 'gold subscribed' },
    acknowledged: ['new'],
    told: { ann: ['active gold'] },
  },
  'notifications during the request of the app record it once': {
    steps: [
      sellsSilently('new'),
      (stage) => Promise.all([tells('new', 'new')(stage), sends('bob', 'new')(stage), tells('new', 'new')(stage)]),
      arrives('new'),
      leaves('new'),
    ],
    ...newOf('bob'),
  },
  'the last of a chain of five belongs to the account of the first, although nothing told of the others': {
    steps: [...chain, sends('bob', '5', 409), tells('5'), arrives('5'), tells('4', '3', '2', '1'), sends('bob', '3', 409)],
    has: { ann: 'gold subscribed' },
    acknowledged: ['5'],
  },
  'one that names a guest that moved belongs to the account into which it moved': {
    steps: [opens('ann'), signsIn('ann'), sells('new', { for: 'ann' }), arrives('new'), sends('bob', 'new', 409), sends('ann', 'new')],
    has: { ann: PREMIUM },
    acknowledged: ['new'],
  },
  'one of a guest moves with it, and stays refused to others': {
    steps: [sells('new', { for: 'ann' }), arrives('new'), signsIn('ann'), sends('bob', 'new', 409)],
    ...newOf('ann'),
  },
  'one that names a deleted account can be claimed by nobody, and is not acknowledged': {
    steps: [
      opens('ann'),
      deletes('ann'),
      sells('new', { for: 'ann' }),
      awaits(async (stage) => (await service.service.redis.exists(keyOf(stage, 'new'))) === 0),
      sends('bob', 'new', 409),
    ],
    has: { ann: 'account_deleted' },
  },
  'one of an account that is deleted later can be claimed by nobody': {
    steps: [sells('new', { for: 'ann' }), arrives('new'), deletes('ann'), sends('bob', 'new', 409), tells('new'), sends('bob', 'new', 409)],
    has: { ann: 'account_deleted' },
    acknowledged: ['new'],
  },
  'one that names a banned account belongs to it': {
    steps: [opens('ann'), isBanned('ann'), sells('new', { for: 'ann' }), arrives('new'), sends('bob', 'new', 409)],
    has: { ann: 'account_banned' },
    acknowledged: ['new'],
    told: { ann: ONCE },
  },
  'one of another app is ignored': {
    steps: [
      sellsSilently('new', { for: 'ann' }),
      async (stage) => {
        const { body } = await push(stage.tokens['new']!, 'dev.coinop.foreign');
        expect([body, await service.service.redis.exists(keyOf(stage, 'new'))]).toEqual([{ ok: true, checks: false }, 0]);
      },
    ],
  },
};

const keyOf = (stage: Stage, name: string): string => subscriptionKeys.purchase(purchaseHash(stage.tokens[name]!));

const has = (stage: Stage, person: Person, state: string) => until(async () => (await stage.state(person)) === state);

/** Pushes a notification as the sandbox does, which itself pushes one for each change only. */
async function push(purchaseToken: string, packageName = 'dev.coinop.sandbox') {
  const { notifications } = sandbox.settings;
  const headers = { authorization: `Bearer ${await sandbox.pushTokens.of(notifications!, service.now())}` };
  const data = Buffer.from(JSON.stringify({ packageName, subscriptionNotification: { purchaseToken } })).toString('base64');
  return service.post('/v1/store/google/notifications', { message: { data } }, { headers });
}

// The cases run at the same time, because they mostly wait for the next check of a purchase.
describe.concurrent('a subscription that the store tells of:', () => {
  test.each(Object.entries(cases))('%s', async (_, { steps, has: expected = {}, acknowledged = [], stuck = [], told = {} }) => {
    const stage = new Stage();
    const events = present.another();
    for (const step of steps) await step(stage);
    for (const person of persons) await has(stage, person, expected[person] ?? 'none');
    await until(async () => (await stage.acknowledged()).join() === acknowledged.join());
    await until(async () => [...(await stage.stuck()).keys()].join() === stuck.join());
    const ids = persons.map((person) => stage.id(person));
    const count = Object.values(told).flat().length;
    const found: EventRecord[] = [];
    await until(async () => {
      found.push(...(await events.of(ids, 0)).filter(({ type }) => type === 'subscription.changed'));
      return found.length >= count;
    });
    for (const person of persons) {
      const mine = found.filter(({ accountId }) => accountId === stage.id(person));
      const words = mine.map(({ data }) => `${data['state']} ${data['productId']}`);
      // Events of a guest that moved are those of its account, and those of a deleted account lose their data.
      if (told[person] !== undefined || expected[person] === undefined) expect(words).toEqual(told[person] ?? []);
    }
  });
});
