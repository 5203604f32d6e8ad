import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { pino } from 'pino';
import { accountKey, movesKey } from '../../../src/accounts/keys.ts';
import { halfSipHash } from '../../../src/features/coins/key-hash.ts';
import { coinKeys } from '../../../src/features/coins/model.ts';
import { boardKeys } from '../../../src/features/highscores/model.ts';
import { PrivateRedis } from '../../../src/process/private-redis.ts';
import { definePrologue, defineScript } from '../../../src/redis/script.ts';
import { ScriptRunner, type PrologueCall } from '../../../src/redis/script-runner.ts';

/**
 * A Redis with the data folder of an older version, which the last coinop of that version wrote.
 *
 * - Version 1: eight accounts of 1 to 700 entries, one whose ledger began under a version without the key secret, and two store
 *   accounts with four guests.
 * - Version 2: three accounts of 1 to 200 entries, two store accounts with eight guests (`guestsOfVersion2`), a purchase and a score of
 *   two of them, a room, and a move whose process died before it handed the score over.
 */
export async function startOldData(version: 1 | 2 = 1): Promise<AsyncDisposable & { location: { socketPath: string }; client: Redis }> {
  const folder = mkdtempSync(join(tmpdir(), 'coinop-old-data-'));
  cpSync(new URL(`../../data/version-${version}`, import.meta.url), join(folder, 'redis/appendonlydir'), { recursive: true });
  const redis = new PrivateRedis(folder, pino({ level: 'silent' }));
  await redis.start();
  const client = new Redis({ path: redis.socketPath, connectionName: 'test' });
  return {
    location: { socketPath: redis.socketPath },
    client,
    async [Symbol.asyncDispose]() {
      client.disconnect();
      await redis.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** The installIds of the accounts in the data folder of version 1 that did not move. */
export const installs = [1, 15, 19, 20, 21, 39, 200, 700].map((entries) => `version-1-of-${String(entries).padStart(4, '0')}`);
installs.push('version-0-of-0200');

/** The store accounts of version 2 by subject, and the installIds of their guests in the order of their moves. */
export const guestsOfVersion2 = {
  'version-2-one': [3, 100, 150, 0, 12].map((entries, number) => `version-2-guest-of-version-2-one-${number}-of-${entries}`),
  'version-2-two': [
    ...[700, 30].map((entries, number) => `version-2-guest-of-version-2-two-${number}-of-${entries}`),
    'version-2-guest-with-scores',
  ],
};

export interface Entry {
  seq: number;
  balance: number;
  type: 'credit' | 'debit' | 'purchase' | 'merge';
  coins: number;
  key: string;
}

const types = { c: 'credit', d: 'debit', p: 'purchase', m: 'merge' } as const;

/** @param movedInto the account that the guest `accountId` moved into */
export async function entriesOf(client: Redis, accountId: string, movedInto?: string): Promise<Entry[]> {
  const ledger = movedInto === undefined ? coinKeys.ledger(accountId) : coinKeys.guestLedger(movedInto, accountId);
  return (await client.lrange(ledger, 0, -1)).map((line) => {
    const [, seq, balance, letter, coins, key] = /^(\d+)[ :](\d+) (\w)(-?\d+) \w+ (.*)$/.exec(line)!;
    return {
      seq: Number(seq),
      balance: Number(balance),
      type: types[letter as keyof typeof types],
      coins: Math.abs(Number(coins)),
      key: key!,
    };
  });
}

// The scripts as they were in the last commit of data version 1.
const scriptOf = (name: string): URL => new URL(`../../data/version-1-scripts/${name}.lua`, import.meta.url);
const prologue = definePrologue({
  after: definePrologue({
    file: scriptOf('prologue-check'),
    keys: ['moves', 'signedOut'],
    args: [],
    answers: ['session_ended', 'sign_in_required'],
  }),
  file: scriptOf('prologue-open'),
  keys: ['account'],
  args: ['now', 'creationBarred'],
  answers: ['rate_limited'],
});
const applyScript = defineScript({
  file: scriptOf('apply'),
  keys: ['ledger', 'keys', 'credited'],
  args: ['operation', 'key', 'keyHash', 'at', 'rules'],
  answers: ['done', 'replayed', 'insufficient_coins', 'balance_limit', 'key_reused', 'integrity_failed'],
  prologue,
  library: scriptOf('ledger'),
});
const moveScript = defineScript({
  file: scriptOf('move'),
  keys: ['ledger', 'keys', 'credited', 'targetAccount', 'targetLedger', 'targetKeys', 'targetCredited', 'targetMoves', 'boards', 'due'],
  args: ['store', 'guestId', 'targetId', 'at', 'unfinishedAt', 'unconfirmed'],
  answers: ['moved', 'not_a_guest', 'from_pairing', 'too_many_guests', 'balance_limit'],
  prologue,
  library: scriptOf('ledger'),
});

/** The coin operations and moves of a coinop of data version 1, which knows the secret of the ledgers from before an upgrade. */
export class OldProcess {
  readonly #scripts: ScriptRunner;
  readonly #hash: (key: string) => number;

  constructor(client: Redis, secret: string) {
    this.#scripts = new ScriptRunner(client, { now: Date.now });
    this.#hash = halfSipHash(Buffer.from(secret, 'hex'));
  }

  /** @param rules as `apply.lua` of version 1 takes them */
  apply(id: string, { type, coins, key }: Pick<Entry, 'type' | 'coins' | 'key'>, rules = ''): Promise<string[]> {
    return this.#scripts.run(
      applyScript,
      { ledger: coinKeys.ledger(id), keys: `{${id}}:keys`, credited: coinKeys.credited(id, Date.now()) },
      {
        operation: type === 'debit' ? `d${-coins}` : `${type[0]}${coins}`,
        key,
        keyHash: this.#hash(key) & 0xffff,
        at: Date.now().toString(36),
        rules,
      },
      callerOf(id),
    );
  }

  move(id: string, target: string): Promise<string[]> {
    return this.#scripts.run(
      moveScript,
      {
        ledger: coinKeys.ledger(id),
        keys: `{${id}}:keys`,
        credited: coinKeys.credited(id, Date.now()),
        targetAccount: accountKey(target),
        targetLedger: coinKeys.ledger(target),
        targetKeys: `{${target}}:keys`,
        targetCredited: coinKeys.credited(target, Date.now()),
        targetMoves: movesKey(target),
        boards: boardKeys.ofAccount(id),
        due: 'moves:due',
      },
      { store: 'sandbox', guestId: id, targetId: target, at: Date.now().toString(36), unfinishedAt: Date.now(), unconfirmed: 0 },
      callerOf(id),
    );
  }
}

const scriptOf2 = (name: string): URL => new URL(`../../data/version-2-scripts/${name}.lua`, import.meta.url);
const prologue2 = definePrologue({
  after: definePrologue({
    file: scriptOf2('prologue-check'),
    keys: ['moves', 'signedOut'],
    args: [],
    answers: ['session_ended', 'sign_in_required'],
  }),
  file: scriptOf2('prologue-open'),
  keys: ['account'],
  args: ['creationBarred'],
  answers: ['rate_limited'],
  library: scriptOf2('open-account-library'),
});
const applyScript2 = defineScript({
  file: scriptOf2('apply'),
  keys: ['ledger'],
  args: ['operation', 'key', 'keyHash'],
  shared: ['rules', 'secret'],
  answers: ['done', 'replayed', 'insufficient_coins', 'balance_limit', 'key_reused', 'integrity_failed', 'other_data'],
  prologue: prologue2,
  library: scriptOf2('ledger'),
});
const moveScript2 = defineScript({
  file: scriptOf2('move'),
  keys: ['ledger', 'credited', 'targetAccount', 'targetLedger', 'targetCredited', 'targetMoves', 'boards', 'due'],
  args: ['store', 'guestId', 'targetId', 'unfinishedAt', 'unconfirmed'],
  shared: ['secret'],
  answers: ['moved', 'not_a_guest', 'from_pairing', 'too_many_guests', 'balance_limit', 'other_data'],
  prologue: prologue2,
  library: scriptOf2('ledger'),
});

/** The coin operations and moves of a coinop of data version 2, which knows the secret of the ledgers from before an upgrade. */
export class ProcessOfVersion2 {
  readonly #scripts: ScriptRunner;
  readonly #secret: string;

  constructor(client: Redis, secret: string) {
    this.#scripts = new ScriptRunner(client, { now: Date.now });
    this.#secret = secret;
  }

  apply(id: string, operation: string, key: string): Promise<string[]> {
    const keyHash = halfSipHash(Buffer.from(this.#secret, 'hex'))(key);
    const args = { operation, key, keyHash, rules: '', secret: this.#secret };
    return this.#scripts.run(applyScript2, { ledger: coinKeys.ledger(id) }, args, callerOf(id, []));
  }

  move(id: string, target: string): Promise<string[]> {
    return this.#scripts.run(
      moveScript2,
      {
        ledger: coinKeys.ledger(id),
        credited: coinKeys.credited(id, Date.now()),
        targetAccount: accountKey(target),
        targetLedger: coinKeys.ledger(target),
        targetCredited: coinKeys.credited(target, Date.now()),
        targetMoves: movesKey(target),
        boards: boardKeys.ofAccount(id),
        due: 'moves:due',
      },
      { store: 'sandbox', guestId: id, targetId: target, unfinishedAt: Date.now(), unconfirmed: 0, secret: this.#secret },
      callerOf(id, []),
    );
  }
}

/**
 * A caller without a session, whose account may be created.
 * @param now version 1 took the time as an argument
 */
function callerOf(id: string, now: readonly number[] = [Date.now()]): PrologueCall {
  return {
    callerKey: undefined,
    addTo(keys, args) {
      keys.push(accountKey(id), movesKey(id), '');
      args.push(...now, '');
    },
    read(answer) {
      if (answer instanceof Error) throw answer;
      return answer;
    },
    prepareRepeat: () => Promise.resolve(),
  };
}
