import { hash } from 'node:crypto';
import { afterAll, describe, expect, test } from 'vitest';
import { ban as banned, unban as unbanned } from '../../../src/accounts/ban.ts';
import { CallerScripts } from '../../../src/accounts/caller-scripts.ts';
import { standingKey } from '../../../src/accounts/account-keys.ts';
import { accountIdOf } from '../../../src/accounts/ids.ts';
import { moveKeys } from '../../../src/features/guest-moves/model.ts';
import { boardKeys } from '../../../src/features/highscores/model.ts';
import { audited } from '../../consistency/audited.ts';
import { codeOf, forFile, freshId, isOnCluster, sharedClient, signIn, start, type TestReply } from '../../harness.ts';
import { startRedis } from '../../own-redis.ts';
import { makeServerKey } from '../../server-keys.ts';
import { balanceOf, deleteAccount, historyOf, issue } from '../../store.ts';
import { Issuer, rsaKey, signed } from '../../stores/google/issuer.ts';
import { peopleOf, person, type SignedIn, type Who } from './people.ts';

/** An own Redis, which the tests audit. On a Cluster, that of the test process. */
const own = isOnCluster() ? undefined : await forFile(startRedis());
const place = { ...(own && { redis: own.location }), settings: { EVENTS: own === undefined ? 'off' : 'on' } };
const service = await forFile(start(place));
const redis = own === undefined ? sharedClient() : own.redis;
afterAll(() => redis.disconnect());
/** The findings of an audit. Moves that are under way end within a moment. */
const findings = async () => (own === undefined ? [] : (await audited(own.location)).findings);

const { tokenOf, enter, nonceOf, add, merge } = peopleOf(service);
const listOf = async ({ cookies }: SignedIn) => (await service.get('/v1/account/sign-ins', { cookies })).body.signIns;
const providersOf = async (one: SignedIn): Promise<string[]> => (await listOf(one)).map(({ provider }: { provider: string }) => provider);

async function remove(from: SignedIn, id: string, proof?: string): Promise<TestReply> {
  return service.post('/v1/account/sign-ins/remove', { id, proof: proof ?? (await tokenOf(from)) }, { cookies: from.cookies });
}

const credit = (cookies: string, coins: number, key = freshId('key')): Promise<TestReply> =>
  service.post('/v1/coins/credit', { coins, key }, { cookies });
const isSignedIn = async (cookies: string): Promise<boolean> => (await service.get('/v1/session', { cookies })).body.authenticated === true;

describe('GET /v1/account/sign-ins', () => {
  test('lists the sign-ins of the account, and which of them the session began with', async () => {
    const ada = await enter(person());
    expect(await listOf(ada)).toEqual([{ id: ada.accountId, provider: 'google', at: expect.any(String), current: true }]);
    const apple = person('apple');
    await add(ada, apple);
    const there = await enter(apple);
    expect((await listOf(there)).map(({ provider, current }: never) => [provider, current])).toEqual([
      ['google', false],
      ['apple', true],
    ]);
  });

  test('has the sign-in of an account of an earlier version, which has no list, and adds to it', async () => {
    const ada = await enter(person());
    await redis.del(`{${ada.accountId}}:sign-ins`);
    expect(await listOf(ada)).toEqual([{ id: ada.accountId, provider: 'google', at: expect.any(String), current: true }]);
    const apple = person('apple');
    expect((await add(ada, apple)).body.signIns).toHaveLength(2);
    expect((await enter(apple)).accountId).toBe(ada.accountId);
    expect((await remove(ada, ada.accountId)).status).toBe(200);
    expect((await enter(ada)).accountId).not.toBe(ada.accountId);
  });

  test('is empty for a guest, and 401 without a session', async () => {
    expect((await service.get('/v1/account/sign-ins', { cookies: await signIn(service, freshId()) })).body.signIns).toEqual([]);
    expect(codeOf(await service.get('/v1/account/sign-ins'))).toBe('401 session_required');
  });
});

describe('a sign-in that was never used', () => {
  test('belongs to the account from then on: it opens that account, and creates none', async () => {
    const ada = await enter(person());
    const apple = person('apple');
    const { body } = await add(ada, apple);
    expect(body).toMatchObject({ ok: true, added: true, merged: false });
    expect(body.signIns.map(({ provider }: { provider: string }) => provider)).toEqual(['google', 'apple']);
    expect(await enter(apple)).toMatchObject({ accountId: ada.accountId, created: false });
    expect(await enter(ada)).toMatchObject({ accountId: ada.accountId });
  });

  test('is one’s own the second time, and changes nothing', async () => {
    const ada = await enter(person());
    const apple = person('apple');
    await add(ada, apple);
    for (const again of [apple, ada]) expect((await add(ada, again)).body).toMatchObject({ ok: true, added: false, merged: false });
    expect(await providersOf(ada)).toEqual(['google', 'apple']);
  });

  test('takes the guest that signs in with it', async () => {
    const ada = await enter(person());
    const apple = person('apple');
    await add(ada, apple);
    const installId = freshId();
    await service.post('/v1/coins/credit', { installId, coins: 7, key: 'seven' });
    const { accountId, cookies } = await enter(apple, { installId });
    expect([accountId, await balanceOf(service, { cookies })]).toEqual([ada.accountId, 7]);
  });

  test('may carry the SHA-256 of the nonce if it is Apple’s, and not if it is another one', async () => {
    const ada = await enter(person());
    const nonce = await nonceOf(ada);
    const hashed = hash('sha256', nonce, 'hex');
    expect(codeOf(await add(ada, person('acme'), { nonce: hashed }))).toBe('401 bad_token');
    expect((await add(ada, person('apple'), { nonce: hashed })).body).toMatchObject({ added: true });
    expect(codeOf(await add(ada, person('apple'), { nonce }))).toBe('401 bad_token');
  });
});

describe('a sign-in with an account of its own', () => {
  test('is 409 sign_in_taken with what that account holds, and merges with the confirm and the same nonce', async () => {
    const [ada, other] = [await enter(person()), await enter(person('apple'))];
    await credit(ada.cookies, 10, 'a');
    await credit(other.cookies, 5, 'b');
    const nonce = await nonceOf(ada);
    const refused = await add(ada, other, { nonce });
    expect([codeOf(refused), refused.body.error]).toMatchObject([
      '409 sign_in_taken',
      { holds: { balanceCoins: 5, entries: 1, signIns: ['apple'] }, confirm: expect.any(String) },
    ]);
    expect([await balanceOf(service, ada), await balanceOf(service, other)]).toEqual([10, 5]);
    const { body } = await add(ada, other, { nonce, confirm: refused.body.error.confirm });
    expect(body).toMatchObject({ ok: true, added: true, merged: true, movedCoins: 5 });
    expect([await balanceOf(service, ada), await isSignedIn(other.cookies)]).toEqual([15, false]);
    expect(codeOf(await service.get('/v1/account/sign-ins', { cookies: other.cookies }))).toBe('401 sign_in_required');
    expect(await enter(other)).toMatchObject({ accountId: ada.accountId, created: false });
    // Its keys stay replays.
    expect((await credit(ada.cookies, 5, 'b')).body).toMatchObject({ replayed: true, balanceCoins: 15 });
    expect(codeOf(await credit(ada.cookies, 6, 'b'))).toBe('422 key_reused');
    expect((await historyOf(service, ada.cookies)).reduce((sum, { coins }) => sum + coins, 0)).toBe(15);
  });

  test('brings its guests, small and large, and all of its sign-ins; they lead to the account in one step', async () => {
    const [ada, other] = [await enter(person()), await enter(person('apple'))];
    const installs = [freshId(), freshId(), freshId()];
    for (const [index, installId] of installs.entries()) {
      const count = index === 2 ? 120 : 2;
      for (let n = 0; n < count; n++) await service.post('/v1/coins/credit', { installId, coins: 1, key: `${index}-${n}` });
      await enter(other, { installId });
    }
    await add(other, person('acme'));
    const alone = freshId();
    await service.post('/v1/coins/credit', { installId: alone, coins: 3, key: 'own' });
    await enter(ada, { installId: alone });
    expect((await merge(ada, other)).body).toMatchObject({ merged: true, movedCoins: 124 });
    expect(await balanceOf(service, ada)).toBe(127);
    for (const key of ['0-1', '1-0', '2-0', '2-119', 'own']) {
      const coins = key === 'own' ? 3 : 1;
      expect([key, (await credit(ada.cookies, coins, key)).body]).toMatchObject([key, { replayed: true }]);
    }
    expect(await providersOf(ada)).toEqual(expect.arrayContaining(['google', 'apple', 'acme']));
    for (const installId of installs) expect(codeOf(await service.post('/v1/login', { installId }))).toBe('401 sign_in_required');
    for (const installId of installs) expect(await redis.get(`{${accountIdOf(installId)}}:moves`)).toBe(`>${ada.accountId}`);
    expect(await redis.keys(`{${other.accountId}}:guest*`)).toEqual([]);
    await expect.poll(findings).toEqual([]);
    expect((await historyOf(service, ada.cookies)).reduce((sum, { coins }) => sum + coins, 0)).toBe(127);
    // On a Cluster a guest's scores wait for a minute in the queue, whose entry names the account that has merged since.
    const [guest] = installs.map(accountIdOf);
    const late = `${guest} ${other.accountId} late`;
    if (own !== undefined) {
      await redis.multi().sadd(boardKeys.ofAccount(guest!), 'board').zadd(moveKeys.unfinished, 9e15, late).exec();
      expect((await findings()).map(({ kind }) => kind)).not.toContain('document_without_queue');
      await redis.multi().del(boardKeys.ofAccount(guest!)).zrem(moveKeys.unfinished, late).exec();
    }
    // The merged account is a guest of this one: it merges and is deleted with it.
    const last = await enter(person('line'));
    expect((await merge(last, ada)).body).toMatchObject({ merged: true, movedCoins: 127 });
    for (const key of ['0-1', '2-119', 'own']) expect((await credit(last.cookies, key === 'own' ? 3 : 1, key)).body.replayed).toBe(true);
    await expect.poll(findings).toEqual([]);
    await deleteAccount(service, { token: await tokenOf(other) });
    for (const who of [ada, other, last]) expect(await enter(who)).toMatchObject({ created: true });
    await expect.poll(findings).toEqual([]);
  });

  const clear = async (key: string): Promise<void> => void (await redis.del(key));
  type Obstacle = (ada: SignedIn, other: SignedIn) => Promise<() => Promise<unknown>>;
  /** Each makes an obstacle, and returns how it goes away. */
  const obstacles: readonly [reason: string, name: string, obstacle: Obstacle][] = [
    ['account_banned', 'a ban of the other account', async (_, { accountId }) => (await ban(accountId), () => unban(accountId))],
    ['account_banned', 'a ban of its own', async ({ accountId }) => (await ban(accountId), () => unban(accountId))],
    ['balance_limit', 'the limit of the balance', async (ada) => (await rich(ada), () => clear(`{${ada.accountId}}:ledger`))],
    [
      'too_many_guests',
      '500 guests of its own',
      async ({ accountId }) => (await redis.set(standingKey(accountId), guests(500)), () => clear(standingKey(accountId))),
    ],
    [
      'too_many_guests',
      'guests of both that are 500 in sum',
      async (ada, other) => {
        const [own, others] = [guests(499), guests(1)];
        for (const [{ accountId }, lines] of [
          [ada, own],
          [other, others],
        ] as const)
          await redis.set(standingKey(accountId), lines);
        return () => Promise.all([ada, other].map(({ accountId }) => clear(standingKey(accountId))));
      },
    ],
  ];
  test.each(obstacles)('is refused with merge_refused for %s, and changes nothing: %s', async (reason, _, obstacle) => {
    const [ada, other] = [await enter(person()), await enter(person('apple'))];
    await credit(other.cookies, 1_000_000);
    const nonce = await nonceOf(ada);
    const { confirm } = (await add(ada, other, { nonce })).body.error;
    const goesAway = await obstacle(ada, other);
    const refused = await add(ada, other, { nonce, confirm });
    expect([codeOf(refused), refused.body.error.reason]).toEqual(['409 merge_refused', reason]);
    await goesAway();
    expect([await balanceOf(service, other), await providersOf(other)]).toEqual([1_000_000, ['apple']]);
    // The nonce is not used up: without the obstacle the same request merges.
    expect((await add(ada, other, { nonce, confirm })).body).toMatchObject({ merged: true, movedCoins: 1_000_000 });
  });
});

/** Lines of guests in an account's standing. */
const guests = (count: number): string => Array.from({ length: count }, () => `${freshId('g')} 0=\n`).join('');

async function rich({ accountId }: SignedIn): Promise<void> {
  const at = Date.now().toString(36);
  await redis.rpush(`{${accountId}}:ledger`, `1:999999999999 g999999999999 ${at} rich`);
}
const scripts = new CallerScripts(service.service.connections.scripts, { now: service.now });
const ban = (accountId: string) => banned(accountId, {}, { scripts, now: service.now });
const unban = (accountId: string) => unbanned(accountId, { scripts });

/** Adds a sign-in by a session of its own, for a table of attacks. */
type Attack = (victim: SignedIn, thief: SignedIn) => Promise<TestReply>;
/** A token that was issued ten minutes and a second ago: the sandbox's tokens live an hour. */
const oldTokenOf = (who: Who, more: object = {}): Promise<string> => tokenOf(who, { ...more, expiresInSeconds: 3600 - 601 });

const attacks: readonly [answer: string, name: string, attack: Attack][] = [
  ['401 session_required', 'without a session', async () => service.post('/v1/account/sign-ins', { token: 'a.b.c' })],
  [
    '403 forbidden',
    'with the session of a guest',
    async (victim) => add({ ...victim, cookies: await signIn(service, freshId()) }, person('apple'), { nonce: 'n' }),
  ],
  ['403 proof_required', 'with a stolen session, and no proof', (victim, thief) => add(victim, thief, { proof: undefined })],
  [
    '403 proof_required',
    'with a stolen session, and a proof that is no text',
    async (victim) => service.post('/v1/account/sign-ins', { token: 'a.b.c', proof: 7 }, { cookies: victim.cookies }),
  ],
  ['403 proof_required', 'with a stolen session, and a proof that is no token', (victim, thief) => add(victim, thief, { proof: 'x' })],
  [
    '403 proof_required',
    'with a stolen session, and the thief’s own token',
    async (victim, thief) => add(victim, thief, { proof: await tokenOf(thief) }),
  ],
  [
    '403 proof_required',
    'with a stolen session, and a token of the victim that is older than ten minutes',
    async (victim, thief) => add(victim, thief, { proof: await oldTokenOf(victim) }),
  ],
  ['401 bad_token', 'with a token that has no nonce', async (victim, thief) => add(victim, thief, { nonce: undefined })],
  ['401 bad_token', 'with a token that has a made-up nonce', async (victim, thief) => add(victim, thief, { nonce: 'made-up' })],
  ['401 bad_token', 'with the nonce of another session', async (victim, thief) => add(victim, thief, { nonce: await nonceOf(thief) })],
  [
    '401 bad_token',
    'with the nonce of another session of the same account',
    async (victim, thief) => add(victim, thief, { nonce: await nonceOf(await enter(victim)) }),
  ],
  [
    '401 bad_token',
    'with a nonce that is six minutes old',
    async (victim, thief) => {
      const nonce = await nonceOf(victim);
      const [key] = await redis.keys(`{${victim.accountId}}:sign-in:nonce:*`);
      await redis.del(key!);
      return add(victim, thief, { nonce });
    },
  ],
  [
    '401 bad_token',
    'with a nonce that was used',
    async (victim, thief) => {
      const nonce = await nonceOf(victim);
      await add(victim, person('acme'), { nonce });
      return add(victim, thief, { nonce });
    },
  ],
  [
    '401 bad_token',
    'with a token that is older than ten minutes',
    async (victim, thief) => {
      const token = await oldTokenOf(thief, { nonce: await nonceOf(victim) });
      return service.post('/v1/account/sign-ins', { token, proof: await tokenOf(victim) }, { cookies: victim.cookies });
    },
  ],
  [
    '400 invalid_request',
    'with the confirm of another account',
    async (victim, thief) => {
      const { confirm } = (await add(victim, await enter(person('apple')))).body.error;
      return add(victim, thief, { confirm });
    },
  ],
  [
    '400 invalid_request',
    'with the confirm that the other account got for this one',
    async (victim, thief) => {
      const { confirm } = (await add(thief, victim)).body.error;
      return add(victim, thief, { confirm });
    },
  ],
  [
    '400 invalid_request',
    'with a confirm that is six minutes old',
    async (victim, thief) => {
      const { confirm } = (await add(victim, thief)).body.error;
      // Not for the whole file: this process would finish merges of the other, with entries of its own time.
      await using ahead = await start(place);
      ahead.advance(6 * 60_000);
      return await add(victim, thief, { confirm }, ahead);
    },
  ],
  [
    '403 cross_site',
    'from a foreign page in the victim’s browser',
    (victim) =>
      service.post('/v1/account/sign-ins', { token: 'a.b.c' }, { cookies: victim.cookies, headers: { origin: 'https://evil.example' } }),
  ],
  [
    '403 forbidden',
    'with a session from a pairing that the victim claimed',
    async (victim, thief) => add({ ...victim, cookies: await paired(victim) }, thief, { nonce: 'n' }),
  ],
];

async function paired({ cookies }: { readonly cookies: string }): Promise<string> {
  const opened = await service.post('/v1/pair/new');
  const { token } = opened.body;
  expect((await service.post('/v1/pair/claim', { token }, { cookies })).status).toBe(200);
  const status = await service.get(`/v1/pair/status?token=${token}`, { cookies: opened.cookies });
  return status.cookies.find((cookie) => cookie.startsWith('svc_session='))!;
}

describe('an attack', () => {
  test.each(attacks)('is %s: %s', async (answer, _, attack) => {
    const [victim, thief] = [await enter(person()), await enter(person('acme'))];
    await credit(victim.cookies, 9);
    expect(codeOf(await attack(victim, thief))).toBe(answer);
    // Each sign-in opens what it opened before.
    const [back, own] = [await enter(victim), await enter(thief)];
    expect([back.accountId, own.accountId]).toEqual([victim.accountId, thief.accountId]);
    expect(await balanceOf(service, back)).toBe(9);
  });

  test('with a mail address of the victim, which a provider vouches for, opens an account of its own', async () => {
    const [mail, victim] = ['ada@example.com', person()];
    const email = { email: mail };
    const first = await service.post('/v1/account/store-provision', { token: await tokenOf(victim, email) });
    const second = await service.post('/v1/account/store-provision', { token: await tokenOf(person('acme'), email) });
    expect(second.body).toMatchObject({ created: true });
    expect(second.body.accountId).not.toBe(first.body.accountId);
  });
});

describe('POST /v1/account/sign-ins/remove', () => {
  test('ends the sign-in, its sessions and the pairings that these claimed, and opens an account anew for it', async () => {
    const ada = await enter(person());
    const apple = person('apple');
    await add(ada, apple);
    const there = await enter(apple);
    const [pairedByApple, pairedByGoogle] = [await paired(there), await paired(ada)];
    const passed = await paired({ cookies: pairedByApple });
    const open = await service.post('/v1/pair/new');
    await service.post('/v1/pair/claim', { token: open.body.token }, { cookies: there.cookies });
    const id = (await listOf(ada)).find(({ provider }: { provider: string }) => provider === 'apple').id;
    // The session of an earlier version names no sign-in.
    const older = await enter(ada);
    const sessions = `{${ada.accountId}}:sessions`;
    const { sessions: seen } = (await service.get('/v1/sessions', { cookies: older.cookies })).body;
    const olderId = seen.find(({ current }: { current: boolean }) => current).id;
    const entry = (await redis.hget(sessions, olderId))!;
    await redis.hset(sessions, olderId, entry.replace(/^store:\S+/, 'store'));
    expect((await remove(ada, id)).body).toEqual({ ok: true, current: false });
    const states = await Promise.all([ada.cookies, pairedByGoogle, there.cookies, pairedByApple, passed, older.cookies].map(isSignedIn));
    expect(states).toEqual([true, true, false, false, false, false]);
    expect((await service.get(`/v1/pair/status?token=${open.body.token}`, { cookies: open.cookies })).body.status).toBe('expired');
    expect(await providersOf(ada)).toEqual(['google']);
    const anew = await enter(apple);
    expect([anew.created, anew.accountId === ada.accountId]).toEqual([true, false]);
    expect(codeOf(await remove(ada, id))).toBe('404 sign_in_not_found');
    expect(codeOf(await remove(ada, ada.accountId))).toBe('409 last_sign_in');
  });

  test('removes the sign-in with which the account began, and a later merge does not bring it back', async () => {
    const ada = await enter(person());
    const apple = person('apple');
    await add(ada, apple);
    const there = await enter(apple);
    expect((await remove(ada, ada.accountId)).body).toEqual({ ok: true, current: true });
    expect([await isSignedIn(ada.cookies), await isSignedIn(there.cookies)]).toEqual([false, true]);
    const anew = await enter(ada);
    expect(anew).toMatchObject({ created: true });
    const last = await enter(person('line'));
    expect((await merge(last, there)).body.merged).toBe(true);
    expect((await enter(ada)).accountId).toBe(anew.accountId);
    // The sign-in of the other account may come back as a new one.
    expect((await merge(last, anew)).body.merged).toBe(true);
    expect((await enter(ada)).accountId).toBe(last.accountId);
    await expect.poll(findings).toEqual([]);
  });

  test('needs a proof and a session of a sign-in, and of a banned account it removes none', async () => {
    const ada = await enter(person());
    await add(ada, person('apple'));
    const thief = await enter(person('acme'));
    const body = { id: ada.accountId };
    const path = '/v1/account/sign-ins/remove';
    const answers = [
      await service.post(path, body),
      await service.post(path, body, { cookies: await signIn(service, freshId()) }),
      await service.post(path, body, { cookies: await paired(ada) }),
      await service.post(path, body, { cookies: ada.cookies }),
      await remove(ada, ada.accountId, await tokenOf(thief)),
    ].map(codeOf);
    expect(answers).toEqual(['401 session_required', '403 forbidden', '403 forbidden', '403 proof_required', '403 proof_required']);
    const nonce = await nonceOf(ada);
    await ban(ada.accountId);
    expect(codeOf(await remove(ada, ada.accountId))).toBe('403 account_banned');
    expect(codeOf(await add(ada, person('acme'), { nonce }))).toBe('403 account_banned');
    await unban(ada.accountId);
    expect(await providersOf(ada)).toEqual(['google', 'apple']);
  });

  test('by support staff ends it as its user does, and of a deleted account there is none', async () => {
    await using staffed = await start({ ...place, settings: { ...place.settings, ADMIN_API: 'on' } });
    const { token: bearer } = await makeServerKey(staffed, ['admin']);
    const removeOf = ({ accountId }: SignedIn, signIn: string): Promise<TestReply> =>
      staffed.post(`/v1/admin/accounts/${accountId}/remove-sign-in`, { signIn, reason: 'ticket 4711' }, { bearer });
    const [ada, apple] = [await enter(person()), person('apple')];
    await add(ada, apple);
    const whoIs = async (): Promise<string[] | undefined> =>
      (await staffed.post('/v1/admin/find', { who: `apple:${apple.subject}` }, { bearer })).body.accounts?.map(
        ({ accountId }: SignedIn) => accountId,
      );
    expect(await whoIs()).toEqual([ada.accountId]);
    const [own, added] = (await listOf(ada)).map(({ id }: { id: string }) => id);
    expect(codeOf(await removeOf(ada, 'x'.repeat(22)))).toBe('404 sign_in_not_found');
    expect((await removeOf(ada, added)).status).toBe(200);
    expect(await providersOf(ada)).toEqual(['google']);
    // Who has the sign-in now may be somebody else.
    expect(await whoIs()).toBeUndefined();
    expect([(await enter(apple)).accountId]).toEqual(await whoIs());
    expect(codeOf(await removeOf(ada, own))).toBe('409 last_sign_in');
    const gone = await enter(person());
    await deleteAccount(service, { token: await tokenOf(gone) });
    expect(codeOf(await removeOf(gone, gone.accountId))).toBe('410 account_deleted');
  });

  test('and adding change nothing where no provider is configured, or the provider of the proof is away', async () => {
    const ada = await enter(person());
    const issuer = await Issuer.start([]);
    await issuer[Symbol.asyncDispose]();
    const at = Math.floor(Date.now() / 1000);
    const claims = { iss: issuer.url, aud: 'game', sub: freshId(), iat: at, exp: at + 600 };
    const key = rsaKey('away');
    const proof = signed({ alg: 'RS256', kid: 'away' }, claims, key.privateKey);
    const token = await tokenOf(person('apple'), { nonce: await nonceOf(ada) });
    for (const [code, settings] of [
      ['503 store_unconfigured', { STORE: 'off' }],
      ['503 app_store_unavailable', { OPENID_PROVIDERS: `away=${issuer.url}=game` }],
    ] as const) {
      await using there = await start({ ...place, settings: { ...place.settings, ...settings } });
      const { cookies } = ada;
      expect(codeOf(await there.post('/v1/account/sign-ins', { token, proof }, { cookies }))).toBe(code);
      expect(codeOf(await there.post('/v1/account/sign-ins/remove', { id: ada.accountId, proof }, { cookies }))).toBe(code);
    }
    expect(await providersOf(ada)).toEqual(['google']);
  });

  test('of both sign-ins at once keeps one', async () => {
    const ada = await enter(person());
    await add(ada, person('apple'));
    const ids = (await listOf(ada)).map(({ id }: { id: string }) => id);
    const replies = await Promise.all(ids.map((id: string) => remove(ada, id)));
    expect(replies.filter(({ status }) => status === 200)).toHaveLength(1);
  });
});

describe('at once', () => {
  const opened = async (...ones: Who[]): Promise<Set<string>> =>
    new Set((await Promise.all(ones.map((one) => enter(one)))).map(({ accountId }) => accountId));

  test('two accounts add the same sign-in, and one of them has it', async () => {
    for (let round = 0; round < 3; round++) {
      const [one, other, apple] = [await enter(person()), await enter(person()), person('apple')];
      const replies = await Promise.all([add(one, apple), add(other, apple)]);
      expect(replies.map(codeOf).toSorted()[0]).toBe('200');
      expect(replies.filter(({ status }) => status === 200)).toHaveLength(1);
      expect([one.accountId, other.accountId]).toContain((await enter(apple)).accountId);
    }
  });

  test('a first sign-in and its addition to an account end with one account that it opens', async () => {
    for (let round = 0; round < 5; round++) {
      const [ada, apple] = [await enter(person()), person('apple')];
      const [reply] = await Promise.all([add(ada, apple), enter(apple), enter(apple)]);
      expect(['200', '409 sign_in_taken']).toContain(codeOf(reply));
      const ids = await opened(apple, apple);
      expect([ids.size, ids.has(ada.accountId)]).toEqual([1, reply.status === 200]);
    }
  });

  test.each([2, 3])('%i accounts merge each other in a circle, each sign-in opens one account, and no coin is lost', async (count) => {
    for (let round = 0; round < 3; round++) {
      const ring = await Promise.all(Array.from({ length: count }, (_, index) => enter(person(['google', 'apple', 'acme'][index]))));
      for (const [index, { cookies }] of ring.entries()) await credit(cookies, 4 + index);
      const offers = await Promise.all(
        ring.map(async (one, index) => {
          const [next, nonce] = [ring[(index + 1) % count]!, await nonceOf(one)];
          return { one, next, nonce, confirm: (await add(one, next, { nonce })).body.error.confirm };
        }),
      );
      const replies = await Promise.all(offers.map(({ one, next, nonce, confirm }) => add(one, next, { nonce, confirm })));
      const merges = replies.filter(({ status }) => status === 200).length;
      expect([merges > 0, merges < count]).toEqual([true, true]);
      const back = await Promise.all(ring.map((one) => enter(one)));
      const accounts = new Map(back.map((one) => [one.accountId, one]));
      // The session of a merge may end, by the next merge in the circle, before its answer.
      expect([accounts.size > 0, accounts.size <= count - merges]).toEqual([true, true]);
      const balances = await Promise.all([...accounts.values()].map((one) => balanceOf(service, one)));
      expect(balances.reduce((sum, coins) => sum + coins, 0)).toBe(count === 2 ? 9 : 15);
    }
    await expect.poll(findings).toEqual([]);
  });

  test('a merge, credits to both accounts, moves of guests and a deletion lose and double no coin', async () => {
    for (let round = 0; round < 4; round++) {
      const [ada, other] = [await enter(person()), await enter(person('apple'))];
      const installId = freshId();
      await service.post('/v1/coins/credit', { installId, coins: 1, key: 'guest' });
      const credits = [ada, other].flatMap(({ cookies }) => Array.from({ length: 8 }, () => credit(cookies, 1)));
      const [merged, , ...replies] = await Promise.all([
        merge(ada, other),
        service.post('/v1/account/store-provision', { token: await tokenOf(other), installId }),
        ...credits,
      ]);
      expect(merged.status).toBe(200);
      const booked = replies.filter(({ status }) => status === 200).length;
      const back = await enter(ada, { installId: undefined });
      expect(await balanceOf(service, back)).toBe(booked + 1);
      if (round % 2 === 0) await deleteAccount(service, { token: await tokenOf(ada) });
    }
    await expect.poll(findings).toEqual([]);
  });

  test.each(['own', 'other'] as const)('a merge and the deletion of its %s account end in one of the orders', async (victim) => {
    for (let round = 0; round < 4; round++) {
      const [ada, other] = [await enter(person()), await enter(person('apple'))];
      await credit(other.cookies, 3);
      const proof = { token: await tokenOf(victim === 'own' ? ada : other) };
      const { confirm } = (await service.post('/v1/account/delete', proof)).body;
      const nonce = await nonceOf(ada);
      const { confirm: merges } = (await add(ada, other, { nonce })).body.error;
      const [merged, deleted] = await Promise.all([
        add(ada, other, { nonce, confirm: merges }),
        service.post('/v1/account/delete', { ...proof, confirm }),
      ]);
      const isDeleted = deleted.status === 200;
      // The account of a sign-in that merged first is not the one of the deletion any more.
      expect([200, 400, 401]).toContain(deleted.status);
      const [adaBack, otherBack] = [await enter(ada), await enter(other)];
      const balances = [await balanceOf(service, adaBack), await balanceOf(service, otherBack)];
      if (victim === 'own') {
        expect([isDeleted, adaBack.created]).toEqual([true, true]);
        // What had merged was deleted with it; what had not is as it was.
        expect([otherBack.created, ...balances]).toEqual(merged.body.merged === true ? [true, 0, 0] : [false, 0, 3]);
      } else if (isDeleted) {
        // The sign-in of the deleted account is a new one, which the same request may have added.
        expect(balances).toEqual([0, 0]);
        expect(otherBack.accountId === ada.accountId).toBe(merged.status === 200);
      } else expect([merged.body.merged, otherBack.accountId, ...balances]).toEqual([true, ada.accountId, 3, 3]);
    }
    await expect.poll(findings).toEqual([]);
  });
});

test.skipIf(own === undefined)('events tell of a sign-in that was added, of a merge with its sign-ins, and of a removal', async () => {
  const [ada, other] = [await enter(person()), await enter(person('apple'))];
  await add(ada, person('acme'));
  await merge(ada, other);
  await remove(ada, other.accountId);
  const key = await makeServerKey(service, ['events']);
  const told = async () => {
    const { events } = (
      await service.get('/v1/events?limit=1000&types=account.merged,account.sign_in_added,account.sign_in_removed', { bearer: key.token })
    ).body;
    return events
      .filter(({ accountId }: { accountId: string }) => accountId === ada.accountId)
      .map(({ type, data }: { type: string; data: object }) => [type, data]);
  };
  await expect.poll(told).toEqual([
    ['account.sign_in_added', { provider: 'acme' }],
    ['account.merged', { from: other.accountId }],
    ['account.sign_in_added', { provider: 'apple' }],
    ['account.sign_in_removed', { provider: 'apple' }],
  ]);
});

test('a merge joins every holding: best scores, the earlier trial, a seat in a room, and purchases', async () => {
  const [ada, other] = [await enter(person()), await enter(person('apple'))];
  const game = freshId('game').toLowerCase().slice(0, 20);
  for (const [{ cookies }, score] of [
    [ada, 5],
    [other, 9],
  ] as const)
    await service.post(`/v1/highscores/${game}`, { score, name: 'Ada' }, { cookies });
  const deviceId = freshId('device');
  await service.post('/v1/trial/touch', { deviceId });
  await service.post('/v1/trial/link', {}, { cookies: other.cookies, headers: { 'x-device-id': deviceId } });
  const { room } = (await service.post('/v1/rooms', { name: 'Ada' }, { cookies: other.cookies })).body;
  const { purchaseToken } = await issue(service, { kind: 'subscription', minutes: 60 });
  await service.post('/v1/subscription/purchase', { purchaseToken }, { cookies: other.cookies });
  expect((await merge(ada, other)).body.merged).toBe(true);
  const { cookies } = ada;
  expect((await service.get(`/v1/highscores/${game}`, { cookies })).body).toMatchObject({
    you: { rank: 1, score: 9 },
    top: [{ score: 9 }],
  });
  expect((await service.get('/v1/trial/status', { cookies })).body).toMatchObject({ active: true });
  expect((await service.post(`/v1/rooms/${room.code}/join`, {}, { cookies })).body.you).toMatchObject({ playerId: 'p1', host: true });
  expect((await service.get('/v1/subscription', { cookies })).body).toMatchObject({ subscribed: true, source: 'store' });
  await expect.poll(findings).toEqual([]);
});
