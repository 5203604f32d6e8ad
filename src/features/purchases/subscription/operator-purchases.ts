import { z } from 'zod';
import { isoTime } from '../../../accounts/merge-rules.ts';
import type { ScriptRunner } from '../../../redis/script-runner.ts';
import type { Parts } from '../../../redis/unreadable.ts';
import { purchasesOf, RecordedPurchase, shownPurchase, subscriptionKeys } from './model.ts';
import { Queue } from '../../../redis/queue.ts';
import { refundAt } from '../core/check-schedule.ts';
import { readPurchase, type PurchaseDocument } from './purchase-document.ts';
import { purchasesRecordedBy } from './purchases-page.ts';

export const OperatorPurchase = z
  .object({
    purchase: z
      .string()
      .meta({ description: 'A hash of its token. The token itself is a secret, because anybody who has it can claim the purchase.' }),
    ...RecordedPurchase.omit({ isReplaced: true }).shape,
    test: z.literal(true).optional().meta({ description: 'Nobody paid for it.' }),
    nextCheckAt: z.iso.datetime().optional(),
    failedChecks: z.number().int().meta({ description: 'Checks in a row that failed.' }),
  })
  .meta({
    id: 'OperatorPurchase',
    example: { purchase: 'k3Jx9QmZ2bTw', productId: 'premium', state: 'active', checkedAt: '2026-11-22T12:00:00.000Z', failedChecks: 0 },
  });

/** An operator sees at most this many purchases of an account. */
export const MOST_SHOWN = 50;

/** The most guests of an account whose sets of purchases are read. */
const MOST_GUESTS = 10;

/**
 * The purchases of an account: first the purchases of its ten lines, then other purchases that the account and its guests recorded.
 * @param field the account's field `purchases`
 * @param owners the account, then its guests
 */
export async function purchasesForOperator(
  field: string,
  owners: readonly string[],
  scripts: ScriptRunner,
  parts: Parts,
): Promise<z.input<typeof OperatorPurchase>[]> {
  const lines = new Map(field.split('\n').flatMap((line) => (line === '' ? [] : [[line.split(' ', 1)[0]!, line]])));
  const recorded = await parts.readEach(
    owners.slice(0, MOST_GUESTS + 1),
    (owner) => `purchases of ${owner}`,
    (owner) => purchasesRecordedBy(owner, '0', scripts),
  );
  const others = new Set(recorded.flatMap(({ members }) => members.filter((hash) => !lines.has(hash))));
  const shown = async (purchase: string, line: string | undefined) => {
    const document = await readPurchase(purchase, scripts);
    // Another account may own the purchase now, or another purchase may have replaced it.
    const isOwn = document !== undefined && document.id !== '' && document.retiredBy === '' && owners.includes(document.owner);
    if (line === undefined && !isOwn) return undefined;
    const [known] = line === undefined ? [document!] : purchasesOf(line);
    return {
      purchase,
      ...shownPurchase(known!),
      packageName: document?.packageName === '' ? undefined : document?.packageName,
      test: document?.isTest === true ? (true as const) : undefined,
      nextCheckAt: isoTime(document?.dueAt),
      failedChecks: document?.faults ?? 0,
    };
  };
  const asked = [...lines.keys(), ...others].slice(0, MOST_SHOWN);
  return parts.readEach(
    asked,
    (hash) => `purchase ${hash}`,
    (hash) => shown(hash, lines.get(hash)),
  );
}

/** The products of the test purchases that an account's lines name. @param field the account's field `purchases` */
export async function testProductsIn(field: string, scripts: ScriptRunner): Promise<string[]> {
  const hashes = field.split('\n').flatMap((line) => (line === '' ? [] : [line.split(' ', 1)[0]!]));
  const documents = await Promise.all(hashes.map((hash) => readPurchase(hash, scripts)));
  return documents.flatMap((document) => (document?.isTest === true ? [document.productId] : []));
}

export const UnownedPurchase = z
  .object({
    purchase: z.string().meta({ description: 'A hash of its token, which `purchases move` takes to give it to an account.' }),
    packageName: z.string(),
    productId: z.string().optional().meta({ description: 'Left out, like the state, if the store has not answered yet.' }),
    state: z.string().optional().meta({ description: "The app store's last answer." }),
    expiresAt: z.iso.datetime().optional(),
    orderId: z.string().optional().meta({ description: "The store's number of the payment, as its console shows it." }),
    noticedAt: z.iso.datetime().meta({ description: 'The time at which a notification first named it.' }),
    boughtAt: z.iso.datetime().optional(),
    refundAt: z.iso.datetime().optional().meta({
      description:
        'The time at which the store refunds it, unless an account proves before then that it owns it. Left out if it is not paid for.',
    }),
    nextCheckAt: z.iso.datetime(),
    failedChecks: z.int().meta({ description: 'Checks in a row that failed.' }),
  })
  .meta({
    id: 'UnownedPurchase',
    example: {
      purchase: 'k3Jx9QmZ2bTwR5vY8cLnAa',
      packageName: 'dev.coinop.sandbox',
      productId: 'premium',
      state: 'active',
      expiresAt: '2026-12-22T12:00:00.000Z',
      orderId: 'GPA.3345-1234-5678-90123',
      noticedAt: '2026-11-22T12:00:01.000Z',
      boughtAt: '2026-11-22T12:00:00.000Z',
      refundAt: '2026-11-25T12:00:00.000Z',
      nextCheckAt: '2026-11-23T00:00:01.000Z',
      failedChecks: 0,
    },
  });

/**
 * The number of purchases that are read from each sorted set of the queue. Invented tokens are checked often, so they come first in the
 * queue. If fewer purchases were read, invented tokens could hide a purchase that somebody paid for.
 */
const MOST_UNOWNED_READ = 500;

/**
 * Purchases that notifications named and that no account owns. The purchases that the store refunds soonest come first. The purchases that
 * the store has not confirmed come last.
 * @param parts notes damaged purchases, which are left out
 */
export async function unownedPurchases(scripts: ScriptRunner, parts: Parts): Promise<z.input<typeof UnownedPurchase>[]> {
  const due = await new Queue(subscriptionKeys.unowned, scripts).earliest(MOST_UNOWNED_READ);
  const unowned = await parts.readEach(due, nameOf, async ([hash, dueAt]) => {
    const document = await readPurchase(hash, scripts);
    return document === undefined || document.owner !== '' ? undefined : { hash, document, dueAt };
  });
  const refundedAt = ({ document }: (typeof unowned)[number]): number => refundAt(document) ?? Number.MAX_SAFE_INTEGER;
  const longestRefunded = unowned.toSorted((one, other) => refundedAt(one) - refundedAt(other)).slice(0, MOST_SHOWN);
  return longestRefunded.map(({ hash, document, dueAt }) => shownUnowned(hash, document, dueAt));
}

const nameOf = ([hash]: readonly [hash: string, dueAt: number]): string => `purchase ${hash}`;

function shownUnowned(hash: string, document: PurchaseDocument, dueAt: number): z.input<typeof UnownedPurchase> {
  const { packageName, productId, state, expiresAt, orderId, noticedAt, boughtAt, faults } = document;
  return {
    purchase: hash,
    packageName,
    productId: productId === '' ? undefined : productId,
    state: state === '' ? undefined : state,
    expiresAt: isoTime(expiresAt),
    orderId: orderId === '' ? undefined : orderId,
    noticedAt: isoTime(noticedAt)!,
    boughtAt: isoTime(boughtAt),
    refundAt: isoTime(refundAt(document)),
    nextCheckAt: isoTime(dueAt)!,
    failedChecks: faults,
  };
}
