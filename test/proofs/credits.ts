import { randomBytes } from 'node:crypto';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import { accountIdOf } from '../../src/accounts/ids.ts';
import { coinKeys, entryLetters, type LedgerEntry, ledgerEntry } from '../../src/features/coins/model.ts';
import { inParallel, sum, times, type Answer, type Asking, type Client } from './client.ts';
import { quantile } from './figures.ts';
import { now, within, type Operation } from './history.ts';
import type { Stand } from './proof.ts';
import type { Load, Scenario, Stage } from './scenario.ts';

/** A service, and the Redis of its data. */
export interface Served {
  readonly client: Client;
  /** Sends a command to the primary of its key, the first word. */
  command(name: string, key: string, ...words: (string | number)[]): Promise<unknown>;
}

/** Someone who gets credits. */
export interface Owner {
  /** The account that finally has the coins. */
  readonly account: string;
  /** Who the owner is at present. */
  asking(): Pick<Asking, 'installId' | 'bearer'>;
  refused?(answer: Answer): void;
}

export interface CreditOptions {
  /** Number of accounts. Default: 600. */
  readonly accounts?: number;
  /** Credits a second. */
  readonly perSecond?: number;
  /** The most credits that may wait for an acknowledgement. */
  readonly mostWaiting?: number;
  /** The accounts have a standing on record (`giveRecords`). */
  readonly haveRecords?: boolean;
  /** How long credits may wait for an acknowledgement after the last one was sent. */
  readonly lastWaitMs?: number;
  /** The longest time without an acknowledged credit of the accounts that the fault hits. */
  readonly downSeconds?: number;
  /** The longest wait of one credit for its acknowledgement. */
  readonly longestMs?: number;
}

/** An outage of one shard of three for 10 s reaches two thirds of it. */
const MOST_WAITING = 8000;

/** The most credits that are sent again at the end, spread over all. */
const MOST_REPLAYS = 30_000;

/** If the machine is busier than this, the load itself is late. */
const QUIET_MS = 500;

/** Credits at a fixed rate over HTTP, fewer if the machine is too busy. Each is sent again with its key until it is acknowledged. */
export class Credits implements Load {
  readonly owners: readonly Owner[];
  /** A wait of a credit for its acknowledgement counts into the time without the service. */
  readonly operations: Operation[];
  readonly #ownerOf = new Map<Operation, Owner>();
  readonly #waiting = new Set<Operation>();
  readonly #served: Served;
  readonly #stand: Stand;
  readonly #options: CreditOptions;
  readonly #delays = monitorEventLoopDelay({ resolution: 10 });
  #unacknowledged = 0;

  constructor(stand: Stand, served: Served, options: CreditOptions = {}, owners?: readonly Owner[]) {
    [this.#stand, this.#served, this.#options, this.operations] = [stand, served, options, stand.history.operations];
    const prefix = `prove-${randomBytes(4).toString('hex')}`;
    this.owners = owners ?? times(options.accounts ?? 600, (index) => ownerOf(`${prefix}-${index}`));
  }

  get done(): number {
    return this.operations.length - this.#waiting.size;
  }

  get keys(): string[] {
    return this.owners.map(({ account }) => `{${account}}`);
  }

  /**
   * Ends all sessions of each account, which gives it a record of its standing. Without the record a script that acts for the account
   * first reads a missing key, and during a move of the slot the node refuses that read by itself.
   */
  async giveRecords(): Promise<void> {
    const { client } = this.#served;
    for (const owner of this.owners) {
      const { sessionToken } = await client.need('/v1/login', { ...owner.asking(), session: 'token' });
      await client.need('/v1/logout', { everywhere: true }, sessionToken);
    }
  }

  async run(isOver: () => boolean): Promise<void> {
    const { perSecond = 1500, mostWaiting = MOST_WAITING, lastWaitMs = 30_000 } = this.#options;
    const rate = perSecond * this.#stand.size;
    this.#delays.enable();
    const startedAt = now();
    for (let sent = 0; !isOver(); await pause(2)) {
      const due = Math.floor(((now() - startedAt) / 1000) * rate);
      // A burst after a delay would only delay the next ones.
      sent = Math.max(sent, due - rate / 4);
      for (; sent < due; sent++)
        if (this.#waiting.size < mostWaiting) void this.credit(this.owners[Math.floor(sent) % this.owners.length]!);
    }
    await within(lastWaitMs, () => this.#waiting.size === 0, 20);
    this.#delays.disable();
    this.#unacknowledged = this.#waiting.size;
    this.#waiting.clear();
  }

  async credit(owner: Owner): Promise<void> {
    const number = this.operations.length;
    const operation: Operation = { account: owner.account, key: `key-${number}`, coins: 1 + (number % 7), sentAt: now() };
    this.operations.push(operation);
    this.#ownerOf.set(operation, owner);
    this.#waiting.add(operation);
    const answer = await this.#send(operation, () => !this.#waiting.has(operation));
    // Too late: `run` has already counted the operation as not acknowledged.
    if (answer === undefined || !this.#waiting.has(operation)) return;
    [operation.acknowledgedAt, operation.answer] = [now(), answer];
    this.#waiting.delete(operation);
    this.#stand.history.acknowledged(operation);
  }

  /** @param isOver ends the repetitions */
  async #send(operation: Operation, isOver = () => false): Promise<Operation['answer']> {
    const owner = this.#ownerOf.get(operation)!;
    const asking = (): Asking => {
      const { bearer, installId } = owner.asking();
      return { bearer, body: { key: operation.key, coins: operation.coins, installId } };
    };
    const refused = (refusal: Answer): void => owner.refused?.(refusal);
    const answer = await this.#served.client.until('/v1/coins/credit', asking, { accepts: isOver, refused, giveUpMs: 60_000 });
    if (answer?.status !== 200) return undefined;
    const { ok: _, ...figures } = answer.body;
    return figures;
  }

  /**
   * Compares the ledgers, and reports the times.
   * @param stage undefined: of no scenario
   * @param homes the accounts that guests have moved into
   */
  async compare(stage?: Stage, homes: ReadonlyMap<string, string> = new Map()): Promise<Record<string, number>> {
    const { figures } = this.#stand;
    const { internalErrors, refused } = this.#served.client;
    const differences = await this.#differences(homes);
    const done = this.operations.filter(({ acknowledgedAt }) => acknowledgedAt !== undefined);
    figures.atLeast('acknowledged', done.length, 1);
    figures.report('  refusals', refused);
    this.#reportTimes(done, stage);
    return { 'never acknowledged': this.#unacknowledged, ...differences, 'answers with 500': internalErrors };
  }

  async #balanceOf(account: string): Promise<number> {
    const owner = this.owners.find((one) => one.account === account)!;
    const asking = (): Asking => ({ method: 'GET', ...owner.asking() });
    return (await this.#served.client.until('/v1/balance', asking, { giveUpMs: 10_000 }))?.body.balanceCoins ?? Number.NaN;
  }

  /** Between credits and the ledgers of their accounts. @returns their number, by kind */
  async #differences(homes: ReadonlyMap<string, string>): Promise<Record<string, number>> {
    const found = { lost: 0, doubled: 0, 'keys that no longer replay': 0, 'accounts with a wrong sum': 0 };
    const guests = Map.groupBy(homes.keys(), (guest) => homes.get(guest)!);
    const kept: Operation[] = [];
    const compare = async ([account, own]: [string, Operation[]]): Promise<void> => {
      const entries = await ledgerOf(coinKeys.ledger(account), this.#served);
      const ofGuests = (guests.get(account) ?? []).map((guest) => ledgerOf(coinKeys.guestLedger(account, guest), this.#served));
      // The entry of a move has the coins of the guest's ledger.
      const all = [...entries, ...(await Promise.all(ofGuests)).flat()].filter(({ letter }) => letter !== entryLetters.merge);
      const keys = new Set(all.map(({ key }) => key));
      found.doubled += all.length - keys.size;
      for (const operation of own.filter(({ acknowledgedAt }) => acknowledgedAt !== undefined))
        if (keys.has(operation.key)) kept.push(operation);
        else found.lost++;
      if (!areInOrder(entries) || (await this.#balanceOf(account)) !== coinsOf(all)) found['accounts with a wrong sum']++;
    };
    await inParallel(
      Map.groupBy(this.operations, ({ account }) => homes.get(account) ?? account),
      compare,
    );
    const every = Math.ceil(kept.length / MOST_REPLAYS);
    await inParallel(
      kept.filter((_, index) => index % every === 0),
      async (operation) => {
        const answer = await this.#send(operation);
        if (answer?.replayed !== true || answer.balanceAfterCoins !== operation.answer!.balanceAfterCoins)
          found['keys that no longer replay']++;
      },
    );
    return found;
  }

  #reportTimes(done: readonly Operation[], stage: Stage | undefined): void {
    const { figures } = this.#stand;
    const { downSeconds = Infinity, longestMs = Infinity } = this.#options;
    figures.judgesTimes &&= this.#delays.max / 1e6 <= QUIET_MS;
    const waits = (some: readonly Operation[]): number[] => some.map(({ sentAt, acknowledgedAt }) => acknowledgedAt! - sentAt);
    figures.time('longest wait for an acknowledgement, ms', quantile(waits(done), 1), longestMs);
    if (stage === undefined || stage.faultAt === Infinity) return;
    const { faultAt } = stage;
    const hit = Map.groupBy(done, ({ account }) => stage.isHit(`{${account}}`));
    const after = (hit.get(true) ?? []).map(({ acknowledgedAt }) => acknowledgedAt!).filter((at) => at > faultAt);
    after.sort((one, other) => one - other);
    const downMs = after.reduce((most, at, index) => Math.max(most, at - (after[index - 1] ?? faultAt)), 0);
    figures.time('seconds without an acknowledgement of the accounts hit', downMs / 1000, downSeconds);
    const others = hit.get(false)?.filter(({ sentAt }) => sentAt >= faultAt && sentAt < faultAt + downMs) ?? [];
    if (others.length > 0) figures.report('p99 of the other accounts meanwhile, ms', quantile(waits(others)));
  }
}

function ownerOf(installId: string): Owner {
  return { account: accountIdOf(installId), asking: () => ({ installId }) };
}

/** Credits as the load of a scenario. */
export function credits(options: CreditOptions = {}): Scenario['load'] {
  return async (stand, place) => {
    const load = new Credits(stand, place, options);
    if (options.haveRecords === true) await load.giveRecords();
    return load;
  };
}

export async function ledgerOf(key: string, served: Pick<Served, 'command'>): Promise<LedgerEntry[]> {
  return ((await served.command('LRANGE', key, 0, -1)) as string[]).map((text) => ledgerEntry.parse(text)!);
}

export const coinsOf = (entries: readonly LedgerEntry[]): number => sum(entries.map(({ coins }) => coins));

function areInOrder(entries: readonly LedgerEntry[]): boolean {
  let balance = 0;
  return entries.every((entry, index) => entry.seq === index + 1 && entry.balance === (balance += entry.coins));
}
