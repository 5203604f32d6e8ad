import { createPublicKey } from 'node:crypto';
import { jwtVerify } from 'jose';
import { beforeEach, describe, expect, test } from 'vitest';
import { ApiBudget } from '../../../src/stores/apple/api-budget.ts';
import { purchaseKeys } from '../../../src/features/purchases/coins/model.ts';
import { ScriptRunner } from '../../../src/redis/script-runner.ts';
import { audited } from '../../consistency/audited.ts';
import { forFile, freshId, start } from '../../harness.ts';
import { startRedis } from '../../own-redis.ts';
import { eventually } from '../../realtime/watcher.ts';
import { balanceOf } from '../../store.ts';
import { appleError, FakeApple, ISSUER_ID, KEY_ID } from './fake-apple.ts';
import { BUNDLE_ID, consumable, newId, renewable } from './issuer.ts';

const MINUTE = 60_000;
const own = await forFile(startRedis());
const apple = await forFile(FakeApple.start());
const { settings } = apple;
const service = await forFile(start({ redis: own.location, settings }));
const { APPLE_ISSUER_ID: _issuer, APPLE_KEY_ID: _id, APPLE_KEY_FILE: _file, ...withoutKeys } = settings;
const keyless = await forFile(start({ settings: withoutKeys }));

beforeEach(() => {
  apple.misbehaviour = undefined;
  apple.now = service.now;
});

type Said = ReturnType<typeof consumable>;

const claim = (installId: string, proof: object, at = service) => at.post('/v1/purchases', { installId, store: 'apple', ...proof });
const buy = (installId: string, said: Said, at = service) => claim(installId, { transaction: apple.sign(said) }, at);
const subscribe = (installId: string, proof: object, at = service) =>
  at.post('/v1/subscription/purchase', { installId, store: 'apple', ...proof });
const codeOf = ({ status, body }: Awaited<ReturnType<typeof claim>>) => [status, body.error?.code];
const BAD_TOKEN = [401, 'bad_token'];
const OWNED = [409, 'purchase_owned'];
const AWAY = [503, 'app_store_unavailable'];

/** A guest, and its id for Apple. */
async function buyer(at = service) {
  const installId = freshId();
  await at.post('/v1/coins/credit', { installId, coins: 1, key: 'one' });
  const { appleAccountToken } = (await at.get(`/v1/account/store-ids?installId=${installId}`)).body;
  return { installId, appAccountToken: appleAccountToken as string };
}

const has = (installId: string, coins: number) => eventually(async () => (await balanceOf(service, { installId })) === coins);

describe('a signed transaction', () => {
  test('is read again, so that a refund since counts', async () => {
    const installId = freshId();
    const said = consumable({ quantity: 2 });
    apple.knows({ ...said, revocationDate: Date.now(), revocationPercentage: 50_000 });
    expect((await buy(installId, said)).body).toMatchObject({ balanceAfterCoins: 500, purchase: { quantity: 2, refundedQuantity: 1 } });
  });

  test('that Apple does not know yet is granted, and finished once Apple knows it', async () => {
    const installId = freshId();
    const said = consumable();
    expect((await buy(installId, said)).body).toMatchObject({ ok: true, balanceAfterCoins: 500 });
    expect(apple.count(`${said.transactionId}/finish`)).toBe(1);
    apple.knows(said);
    await eventually(async () => {
      service.advance(MINUTE);
      return apple.count(`${said.transactionId}/finish`) > 1;
    });
    // Else the service would finish it once more: it has not noted Apple's answer yet.
    await eventually(async () => (await own.redis.zcard(purchaseKeys.due)) === 0);
    const finished = apple.count(`${said.transactionId}/finish`);
    service.advance(60 * MINUTE);
    expect((await buy(installId, said)).body.replayed).toBe(true);
    expect(apple.count(`${said.transactionId}/finish`)).toBe(finished);
  });

  test('counts for nothing while Apple does not answer, and is granted afterwards', async () => {
    const installId = freshId();
    const said = consumable();
    apple.knows(said);
    apple.misbehaviour = appleError(500, 5000000);
    expect(codeOf(await buy(installId, said))).toEqual(AWAY);
    expect(await balanceOf(service, { installId })).toBe(0);
    apple.misbehaviour = undefined;
    expect((await buy(installId, said)).body.balanceAfterCoins).toBe(500);
  });

  test('of an app of others is not asked about', async () => {
    const said = consumable({ bundleId: 'com.example.foreign' });
    expect(codeOf(await buy(freshId(), said))).toEqual(BAD_TOKEN);
    expect(apple.count(said.transactionId)).toBe(0);
  });

  test('of the sandbox is read from the host of the sandbox', async () => {
    const said = consumable({ environment: 'Sandbox' });
    apple.knows(said);
    expect((await buy(freshId(), said)).body.purchase.test).toBe(true);
    expect(apple.asked.filter(({ path }) => path.includes(said.transactionId)).map(({ path }) => path.split('/')[1])).toEqual([
      'sandbox',
      'sandbox',
    ]);
  });

  test('is finished until Apple has said yes', async () => {
    const installId = freshId();
    const said = consumable();
    apple.knows(said);
    apple.misbehaviour = (response, { path }) => {
      if (path.endsWith('/finish')) return appleError(500, 5000000)(response, apple.asked.at(-1)!);
      return void response.writeHead(200).end(JSON.stringify({ signedTransactionInfo: apple.sign({ ...said, signedDate: Date.now() }) }));
    };
    expect((await buy(installId, said)).body.balanceAfterCoins).toBe(500);
    apple.misbehaviour = undefined;
    const failed = apple.count(`${said.transactionId}/finish`);
    await eventually(async () => {
      service.advance(MINUTE);
      return apple.count(`${said.transactionId}/finish`) > failed;
    });
  });

  test.each([
    ['that is of another purchase', () => ({ signedTransactionInfo: apple.sign(consumable()) }), 200],
    ['that nobody signed', () => ({ signedTransactionInfo: 'a.b.c' }), 503],
    ['without a text', () => ({}), 503],
  ])('is not mixed up with an answer %s', async (_name, answer, status) => {
    const installId = freshId();
    apple.misbehaviour = (response) => void response.writeHead(200).end(JSON.stringify(answer()));
    expect((await buy(installId, consumable())).status).toBe(status);
  });
});

describe('the bare id of a transaction', () => {
  test('of coins claims what is bound to the caller, in either environment', async () => {
    const { installId, appAccountToken } = await buyer();
    for (const environment of ['Production', 'Sandbox']) {
      const said = consumable({ appAccountToken, environment });
      const { transactionId } = said;
      apple.knows(said);
      expect(codeOf(await claim(freshId(), { transactionId }))).toEqual(OWNED);
      expect((await claim(installId, { transactionId })).body).toMatchObject({ ok: true, purchase: { coins: 500 } });
      expect((await claim(installId, { transactionId })).body.replayed).toBe(true);
    }
    expect(await balanceOf(service, { installId })).toBe(1001);
  });

  test('of coins claims nothing that is unbound, owned by another, unknown, or of another app', async () => {
    const said = consumable();
    const { transactionId } = said;
    apple.knows(said);
    expect(codeOf(await claim(freshId(), { transactionId }))).toEqual(BAD_TOKEN);
    const installId = freshId();
    await buy(installId, said);
    expect(codeOf(await claim(freshId(), { transactionId }))).toEqual(OWNED);
    expect(codeOf(await claim(freshId(), { transactionId: newId() }))).toEqual(BAD_TOKEN);
    const foreign = consumable({ bundleId: 'com.example.foreign' });
    apple.knows(foreign);
    expect(codeOf(await claim(freshId(), { transactionId: foreign.transactionId }))).toEqual(BAD_TOKEN);
  });

  test('of a subscription claims what is bound to the caller, by any of its transactions', async () => {
    const { installId, appAccountToken } = await buyer();
    const at = service.now();
    const first = renewable({ appAccountToken, purchaseDate: at, expiresDate: at + 60 * MINUTE });
    const { originalTransactionId } = first;
    const renewed = { ...first, transactionId: newId(), purchaseDate: at + 1, expiresDate: at + 120 * MINUTE };
    apple.knows(renewed);
    // The status is that of the last transaction.
    apple.knows({ ...renewed, transactionId: originalTransactionId });
    for (const { transactionId } of [renewed, first]) {
      expect(codeOf(await subscribe(freshId(), { transactionId }))).toEqual(OWNED);
      const { body } = await subscribe(installId, { transactionId });
      expect(body).toMatchObject({ subscribed: true, willRenew: true, expiresAt: new Date(renewed.expiresDate).toISOString() });
    }
    const unbound = renewable();
    apple.knows(unbound);
    expect(codeOf(await subscribe(freshId(), { transactionId: unbound.transactionId }))).toEqual(BAD_TOKEN);
    expect(codeOf(await subscribe(freshId(), { transactionId: newId() }))).toEqual(BAD_TOKEN);
  });

  test('needs the keys of the API', async () => {
    for (const send of [claim, subscribe])
      expect(codeOf(await send(freshId(), { transactionId: newId() }, keyless))).toEqual([503, 'store_unconfigured']);
  });
});

test('a subscription is read with its renewal, which a signed transaction does not have', async () => {
  const installId = freshId();
  const at = service.now();
  const said = renewable({ expiresDate: at - MINUTE, purchaseDate: at - 10 * MINUTE, signedDate: at - 10 * MINUTE });
  const { originalTransactionId } = said;
  const gracePeriodExpiresDate = at + 10 * MINUTE;
  apple.knows(said);
  apple.renewals.set(originalTransactionId, {
    originalTransactionId,
    environment: 'Production',
    autoRenewStatus: 1,
    gracePeriodExpiresDate,
  });
  expect((await subscribe(installId, { transaction: apple.sign(said) })).body).toMatchObject({ subscribed: true, state: 'grace' });
});

test('each call has a token of the key, for its app', async () => {
  const said = consumable();
  apple.knows(said);
  await buy(freshId(), said);
  const { authorization } = apple.asked.find(({ path }) => path.includes(said.transactionId))!;
  const { payload, protectedHeader } = await jwtVerify(
    authorization.slice('Bearer '.length),
    createPublicKey(apple.apiKey.publicKey.export({ type: 'spki', format: 'pem' })),
    {
      audience: 'appstoreconnect-v1',
      issuer: ISSUER_ID,
    },
  );
  expect([protectedHeader.alg, protectedHeader.kid, payload['bid']]).toEqual(['ES256', KEY_ID, BUNDLE_ID]);
  expect(payload.exp! - payload.iat!).toBeLessThanOrEqual(3600);
});

describe('Apple’s limits', () => {
  test('hold: a refusal makes every process wait until the time that Apple names, in milliseconds since 1970', async () => {
    await using limited = await FakeApple.start();
    await using redis = await startRedis();
    await using one = await start({ redis: redis.location, settings: limited.settings });
    await using other = await start({ redis: redis.location, settings: limited.settings });
    limited.misbehaviour = appleError(429, 4290000, { 'retry-after': String(Date.now() + 30 * MINUTE) });
    const said = consumable();
    const transaction = limited.sign(said);
    for (const at of [one, other]) {
      const { status, body } = await claim(freshId(), { transaction }, at);
      expect([status, body.error.code]).toEqual(AWAY);
      expect(body.error.retryAfterMs).toBeGreaterThan(29 * MINUTE);
      expect(body.error.retryAfterMs).toBeLessThanOrEqual(30 * MINUTE);
    }
    // The processes also ask for the history of refunds when that is due.
    expect(limited.count(said.transactionId)).toBe(1);
  });

  test('are never reached: of 200 calls at once fewer than 50 get a turn within a second, in the sandbox fewer than 5', async () => {
    const scripts = new ScriptRunner({ call: (command, words) => own.redis.call(command, ...words) }, { now: Date.now, observe: () => {} });
    const budget = new ApiBudget(scripts);
    for (const [environment, most] of [
      ['Production', 50],
      ['Sandbox', 5],
    ] as const) {
      const limited = { bundleId: freshId(), environment, endpoint: 'transactions' };
      const turns = await Promise.all(Array.from({ length: 200 }, () => budget.take(limited, 999)));
      const taken = turns.filter(({ isFull }) => !isFull).length;
      expect(taken).toBeLessThan(most);
      expect(taken).toBeGreaterThan(most / 2);
    }
  });
});

describe('a refund whose notifications got lost', () => {
  const notification = (said: Said, type = 'REFUND') => {
    const signedDate = service.now();
    const { environment } = said;
    const data = { bundleId: BUNDLE_ID, environment, signedTransactionInfo: apple.sign(said) };
    return apple.sign({ notificationType: type, notificationUUID: freshId(), version: '2.0', signedDate, data });
  };

  test('is found in the history, on a later page too, and so is one that was taken back', async () => {
    const { installId, appAccountToken } = await buyer();
    const said = consumable({ quantity: 3, appAccountToken });
    apple.knows(said);
    await buy(installId, said);
    const refunded = { ...said, revocationDate: service.now(), revocationPercentage: 33_333 };
    apple.knows(refunded);
    const others = Array.from({ length: 25 }, () => notification(consumable({ revocationDate: Date.now() })));
    apple.history.set('production/REFUND', ['a.b.c', ...others, notification(refunded)]);
    service.advance(15 * MINUTE);
    await has(installId, 1001);
    apple.knows(said);
    apple.history.set('production/REFUND_REVERSED', [notification(said, 'REFUND_REVERSED')]);
    service.advance(15 * MINUTE);
    await has(installId, 1501);
  });

  test('is found in the history of the sandbox', async () => {
    const { installId, appAccountToken } = await buyer();
    const said = consumable({ environment: 'Sandbox', appAccountToken });
    apple.knows(said);
    await buy(installId, said);
    await has(installId, 501);
    const refunded = { ...said, revocationDate: service.now() };
    apple.knows(refunded);
    apple.history.set('sandbox/REFUND', [notification(refunded)]);
    service.advance(15 * MINUTE);
    await has(installId, 1);
  });
});

describe('a question about the use of coins', () => {
  const question = (said: Said) => {
    const data = { bundleId: BUNDLE_ID, environment: said.environment, signedTransactionInfo: apple.sign(said) };
    return apple.sign({
      notificationType: 'CONSUMPTION_REQUEST',
      notificationUUID: freshId(),
      version: '2.0',
      signedDate: Date.now(),
      data,
    });
  };
  const answers = ({ transactionId }: Said) => apple.asked.filter(({ path }) => path.endsWith(`/consumption/${transactionId}`));
  const ask = async (said: Said, at: typeof service) =>
    expect((await at.post('/v1/store/apple/notifications', { signedPayload: question(said) })).body.checks).toBe(true);

  test('is answered once, by the ledger, where players have consented', async () => {
    await using redis = await startRedis();
    await using consented = await start({ redis: redis.location, settings: { ...settings, APPLE_CONSUMPTION_CONSENT: 'on' } });
    apple.now = consented.now;
    const installId = freshId();
    const said = consumable();
    apple.knows(said);
    await buy(installId, said, consented);
    await consented.post('/v1/coins/debit', { installId, coins: 150, key: 'spent' });
    await ask(said, consented);
    await eventually(async () => answers(said).length > 0);
    const [{ method, path, body }] = answers(said) as [(typeof apple.asked)[number]];
    expect([method, path]).toEqual(['PUT', `/production/inApps/v2/transactions/consumption/${said.transactionId}`]);
    expect(body).toEqual({
      customerConsented: true,
      sampleContentProvided: false,
      deliveryStatus: 'DELIVERED',
      consumptionPercentage: 30_000,
    });
    consented.advance(60 * MINUTE);
    await buy(installId, said, consented);
    expect(answers(said)).toHaveLength(1);
  });

  test('is answered by nobody where they have not', async () => {
    const said = consumable();
    apple.knows(said);
    await buy(freshId(), said);
    const asked = apple.count(`transactions/${said.transactionId}`);
    await ask(said, service);
    await eventually(async () => apple.count(`transactions/${said.transactionId}`) > asked);
    expect(answers(said)).toHaveLength(0);
  });
});

test('wrong keys are an error in the log, and take no access away', async () => {
  const logLines: string[] = [];
  await using told = await start({ settings, logLines });
  apple.misbehaviour = (response) => void response.writeHead(401).end();
  expect(codeOf(await buy(freshId(), consumable(), told))).toEqual(AWAY);
  expect(logLines.filter((line) => line.includes('refuses this service'))).toHaveLength(1);
  expect(logLines.join('')).not.toMatch(/eyJ/);
});

test('the audit finds nothing in the data that these tests leave', async () => {
  expect((await audited(own.location, { now: service.now })).findings).toEqual([]);
});
