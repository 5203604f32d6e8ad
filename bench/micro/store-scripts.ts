import { moveEntry, nameBoard, readEntry } from '../../src/features/highscores/account-scores.ts';
import { boardKeys } from '../../src/features/highscores/model.ts';
import { coinKeys, dayOf } from '../../src/features/coins/model.ts';
import { operatedBoardKeys } from '../../src/features/highscores/archives.ts';
import { credit } from '../../src/features/coins/credit.ts';
import { keepKeys } from '../../src/apart/sandbox/signing-keys.ts';
import { sandboxRedisKeys } from '../../src/apart/sandbox/model.ts';
import { keepScript, finishScript } from '../../src/apart/sandbox/issued-record.ts';
import { checkCaller } from '../../src/accounts/account.ts';
import { giveNonce } from '../../src/features/install-proof/nonce.ts';
import { keepProof, takeNonce } from '../../src/features/install-proof/prove.ts';
import { moveKeys } from '../../src/features/guest-moves/model.ts';
import { nonceKey } from '../../src/features/install-proof/model.ts';
import {
  addGuestToAccount,
  markGuestMoved,
  copyGuestLedger,
  freezeGuest,
  readFrozenGuest,
  openMove,
  readGuestLedger,
} from '../../src/features/guest-moves/step-scripts.ts';
import { provisionScript } from '../../src/features/sign-in/provision.ts';
import { subscriptionKeys } from '../../src/features/purchases/subscription/model.ts';
import {
  dropLineScript,
  clearStepsScript,
  putLineScript,
  retireScript,
} from '../../src/features/purchases/subscription/finish-purchase.ts';
import { schedulePurchase } from '../../src/features/purchases/subscription/purchase-check.ts';
import { purchaseArguments, updateScript } from '../../src/features/purchases/subscription/purchase-record.ts';
import { recordScript } from '../../src/features/purchases/subscription/claim-subscription.ts';
import type { Script } from '../../src/redis/script.ts';
import { accountIdOf } from '../../src/accounts/ids.ts';
import { keyNames, type Holding } from '../../src/accounts/holdings.ts';
import { holdings } from '../../src/holdings.ts';
import { accountKey, standingKey } from '../../src/accounts/account-keys.ts';
import type { DirectCaller } from '../load/direct.ts';
import type { DirectServices } from '../load/direct-services.ts';

/** As many as a move takes over. */
const MOVED_FIELDS = holdings.flatMap(({ fields }: Holding) =>
  (fields ?? []).flatMap(({ names, merge }) => (merge === 'own' ? [] : names)),
);

/** Makes the call with this number. */
export type Case = (call: DirectCaller, number: number) => Promise<unknown>;

/**
 * Scripts of sign-in, purchases and moves. They are called without their handlers, which would also call a store or run
 * several scripts. The order matters: each case uses the data of the cases before it.
 */
export function storeCases(): Record<string, Case> {
  const now = Date.now();
  const later = now + 86_400_000;
  const purchase = {
    id: 'bench',
    packageName: 'com.example.bench',
    state: 'active',
    expiresAt: later,
    willRenew: true,
    productId: 'club.monthly',
    checkedAt: now,
    acknowledged: true,
    buyer: undefined,
    linkedId: undefined,
    renewed: undefined,
    boughtAt: undefined,
    orderId: undefined,
    retires: false,
    isTest: false,
  } as const;
  const nonce = (number: number) => ({ nonce: nonceKey(`bench-${number}`) });
  const bought = (number: number) => ({ purchase: subscriptionKeys.purchase(hash(number)) });
  const owning = (number: number) => ({ account: accountKey(owner(number)), standing: standingKey(owner(number)) });
  const line = (number: number) => ({ ...owning(number), revised: subscriptionKeys.revised(owner(number), hash(number)) });
  const listed = (number: number) => ({ ...line(number), owned: subscriptionKeys.ofAccount(owner(number)) });
  const issued = (number: number) => ({ record: sandboxRedisKeys.subscription(`bench-${number}`) });
  return {
    'sessions/check': scriptCase(
      checkCaller,
      () => ({}),
      () => ({}),
    ),
    'install-proof/nonce': scriptCase(giveNonce, nonce, (number) => ({ owner: owner(number), expiresAt: later, keptSeconds: 600 })),
    'install-proof/take-nonce': scriptCase(takeNonce, nonce, (number) => ({ callerId: owner(number), at: now })),
    'install-proof/keep-proof': scriptCase(
      keepProof,
      (number) => ({ account: accountKey(owner(number)), standing: standingKey(owner(number)) }),
      () => ({}),
    ),
    'sign-in/provision': scriptCase(
      provisionScript,
      (number) => ({ account: accountKey(target(number)), accountStanding: standingKey(target(number)) }),
      () => ({ store: 'google', now }),
    ),
    'subscription/record-purchase': scriptCase(recordScript, bought, (number) => ({
      ownerSeen: '',
      accountId: owner(number),
      store: '',
      token: `bench-${number}`,
      packageName: purchase.packageName,
      ...purchaseArguments('google', purchase, later),
      bound: 0,
      act: 'bench',
    })),
    'subscription/schedule-purchase': scriptCase(schedulePurchase, bought, () => ({
      dueAt: later,
      faults: 0,
      hintedAt: '',
      act: '',
    })),
    'subscription/update-purchase': scriptCase(updateScript, bought, () => ({
      now,
      ...purchaseArguments('google', purchase, later),
      faults: 0,
      act: '',
    })),
    'subscription/put-line': scriptCase(putLineScript, listed, (number) => ({
      hash: hash(number),
      revision: number,
      line: `${hash(number)} active ${later} 1 ${now} premium`,
      now,
    })),
    'subscription/drop-line': scriptCase(dropLineScript, line, (number) => ({ hash: hash(number), revision: number })),
    'subscription/retire-purchase': scriptCase(retireScript, bought, (number) => ({ by: 'other', newOwner: owner(number), act: 'bench' })),
    'subscription/clear-steps': scriptCase(clearStepsScript, bought, (number) => ({ revision: number })),
    'sandbox/keep-issued': scriptCase(keepScript, issued, () => ({ issued: JSON.stringify(purchase), seen: '*', keptSeconds: 600 })),
    'sandbox/finish-issued': scriptCase(finishScript, issued, () => ({ finish: 'acknowledgedAt' })),
    'sandbox/keep-keys': scriptCase(
      keepKeys,
      () => ({ keys: sandboxRedisKeys.keys }),
      () => ({ made: 'x'.repeat(3000) }),
    ),
    'coins/apply (first of an account)': (call, number) => call(credit, { installId: guest(number), body: { coins: 5, key: 'first' } }),
    'guest-moves/open-move': scriptCase(
      openMove,
      (number) => ({ record: moveKeys.record(target(number), 'bench') }),
      (number) => ({ guestId: accountIdOf(guest(number)), keptSeconds: 600 }),
    ),
    'guest-moves/freeze-guest': scriptCase(
      freezeGuest,
      (number) => ({ account: accountKey(accountIdOf(guest(number))), ledger: coinKeys.ledger(accountIdOf(guest(number))) }),
      (number, { keySecret }) => ({
        ...{ moveId: 'bench', targetId: target(number), store: 'google', day: dayOf(now), fromPairing: 0, signInId: '' },
        secret: keySecret.text,
      }),
      guest,
    ),
    'guest-moves/read-frozen-guest': scriptCase(
      readFrozenGuest,
      (number) => ({
        account: accountKey(accountIdOf(guest(number))),
        ledger: coinKeys.ledger(accountIdOf(guest(number))),
        standing: standingKey(accountIdOf(guest(number))),
      }),
      () => ({ fields: MOVED_FIELDS.join(' ') }),
    ),
    'guest-moves/read-guest-ledger': scriptCase(
      readGuestLedger,
      (number) => ({ ledger: coinKeys.ledger(accountIdOf(guest(number))), standing: standingKey(accountIdOf(guest(number))) }),
      () => ({ moveId: 'bench', position: 0 }),
    ),
    'guest-moves/copy-guest-ledger (one entry)': scriptCase(
      copyGuestLedger,
      (number) => keysOfMove(number),
      () => ({
        ...{ position: 0, lastSeq: 1, lines: `- 1:5 c5 ${now.toString(36)} first\n`, keptSeconds: 600 },
      }),
    ),
    'guest-moves/add-guest-to-account (a guest with coins)': scriptCase(
      addGuestToAccount,
      (number) => ({
        account: accountKey(target(number)),
        ledger: coinKeys.ledger(target(number)),
        standing: standingKey(target(number)),
        credited: coinKeys.credited(target(number), now),
        ...keysOfMove(number),
      }),
      (number, { keySecret }) => ({
        ...{ guestId: accountIdOf(guest(number)), targetId: target(number), store: 'google', seq: 1, entries: 1, creditedToday: '5' },
        fields: JSON.stringify(MOVED_FIELDS.map((name) => ['earlier', name, ''])),
        ...{ joined: '', keptSeconds: 600, secret: keySecret.text },
      }),
    ),
    'guest-moves/mark-guest-moved': scriptCase(
      markGuestMoved,
      (number) => ({ standing: standingKey(accountIdOf(guest(number))) }),
      (number) => ({
        ...{ moveId: 'bench', targetId: target(number) },
        names: keyNames(holdings, now, ({ whenMoved }) => whenMoved === 'goes').join(' '),
      }),
    ),
    // Moves the entry of one of 500 players to the next one, so that most calls find an entry.
    'highscores/move-entry': scriptCase(
      moveEntry,
      (number) => ({
        scores: boardKeys.scores('bench'),
        version: boardKeys.version('bench'),
        players: boardKeys.players('bench'),
        removed: operatedBoardKeys.removed('bench'),
        secret: boardKeys.secret('bench'),
      }),
      (number) => ({ game: 'bench', order: 'desc', guestId: accountIdOf(player(number)), accountId: accountIdOf(player(number + 1)) }),
    ),
    'highscores/read-entry': scriptCase(
      readEntry,
      () => ({ scores: boardKeys.scores('bench'), players: boardKeys.players('bench'), secret: boardKeys.secret('bench') }),
      (number) => ({ accountId: accountIdOf(player(number)) }),
    ),
    'highscores/name-board': scriptCase(
      nameBoard,
      (number) => ({ boards: boardKeys.ofAccount(accountIdOf(player(number))), standing: standingKey(accountIdOf(player(number))) }),
      () => ({ game: 'bench', isNamed: 1 }),
    ),
  };
}

const keysOfMove = (number: number) => ({
  record: moveKeys.record(target(number), 'bench'),
  staged: moveKeys.stagedLedger(target(number), 'bench'),
});
const player = (number: number): string => `bench-player-${number % 500}`;
const guest = (number: number): string => `bench-moving-${number}`;
const owner = (number: number): string => accountIdOf(`bench-buyer-${number % 500}`);
/** Each guest moves into its own account, so that the script never reads a long list of earlier moves. */
const target = (number: number): string => accountIdOf(`bench-target-${number}`);
const hash = (number: number): string => `bench-purchase-${number}`;

/** @param installOf the caller's installId, for a script that acts for a caller */
function scriptCase<Key extends string, Argument extends string, Word extends string>(
  script: Script<Key, Argument, Word>,
  keys: (number: number) => Record<Key, string>,
  args: (number: number, services: DirectServices) => Record<Argument, string | number>,
  installOf: (number: number) => string = (number) => `bench-buyer-${number % 500}`,
): Case {
  return (call, number) =>
    call(
      {
        handle: ({ caller }, services) => services.scripts.runAs(caller, script, keys(number), args(number, services)),
      } as Parameters<DirectCaller>[0],
      { installId: installOf(number), sessionId: 'c2Vzc2lvbi1pZA' },
    );
}
