import { randomBytes } from 'node:crypto';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import { percentile } from '../../bench/measure/statistics.ts';
import { accountIdOf } from '../../src/accounts/ids.ts';
import { Client, type Answer, type Asking } from './client.ts';
import { compareCoins, type Command } from './coin-book.ts';
import { now, type Operation } from './history.ts';
import type { Place } from './place.ts';
import type { Stand } from './proof.ts';
import type { Load, Scenario, Stage } from './scenario.ts';

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

/** If the machine is busier than this, the load itself is late. */
const QUIET_MS = 500;

/** Credits at a fixed rate over HTTP, fewer if the machine is too busy. Each is sent again with its key until it is acknowledged. */
export class Credits implements Load {
  readonly owners: readonly Owner[];
  /** A wait of a credit for its acknowledgement counts into the time without the service. */
  readonly operations: Operation[];
  readonly #ownerOf = new Map<Operation, Owner>();
  readonly #waiting = new Set<Operation>();
  readonly #client: Client;
  readonly #stand: Pick<Stand, 'history' | 'figures' | 'size'>;
  readonly #options: CreditOptions;
  readonly #delays = monitorEventLoopDelay({ resolution: 10 });
  #unacknowledged = 0;

  constructor(client: Client, stand: Pick<Stand, 'history' | 'figures' | 'size'>, options: CreditOptions = {}, owners?: readonly Owner[]) {
    [this.#client, this.#stand, this.#options, this.operations] = [client, stand, options, stand.history.operations];
    const prefix = `prove-${randomBytes(4).toString('hex')}`;
    this.owners = owners ?? Array.from({ length: options.accounts ?? 600 }, (_, index) => ownerOf(`${prefix}-${index}`));
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
    for (const owner of this.owners) {
      const { sessionToken } = await this.#client.need('/v1/login', { ...owner.asking(), session: 'token' });
      await this.#client.need('/v1/logout', { everywhere: true }, sessionToken);
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
    for (const giveUpAt = now() + lastWaitMs; this.#waiting.size > 0 && now() < giveUpAt;) await pause(20);
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
    const answer = await this.#send(operation, owner, () => !this.#waiting.has(operation));
    // Too late: `run` has already counted the operation as not acknowledged.
    if (answer === undefined || !this.#waiting.has(operation)) return;
    [operation.acknowledgedAt, operation.answer] = [now(), answer];
    this.#waiting.delete(operation);
    this.#stand.history.acknowledged(operation);
  }

  /** @param isOver ends the repetitions */
  async #send({ key, coins }: Operation, owner: Owner, isOver: () => boolean): Promise<Operation['answer']> {
    const asking = (): Asking => {
      const { bearer, installId } = owner.asking();
      return { bearer, body: { key, coins, installId } };
    };
    const answer = await this.#client.until('/v1/coins/credit', asking, {
      accepts: isOver,
      refused: (refusal) => owner.refused?.(refusal),
      giveUpMs: 60_000,
    });
    if (answer?.status !== 200) return undefined;
    const { ok: _, ...figures } = answer.body;
    return figures;
  }

  /** Compares the ledgers, and reports the times. @param stage undefined: of no scenario */
  async compare(stage?: Stage, homes?: ReadonlyMap<string, string>): Promise<Record<string, number>> {
    const { place } = stage ?? {};
    return this.compareWith((...words) => place!.command(...words), stage, homes);
  }

  async compareWith(command: Command, stage?: Stage, homes?: ReadonlyMap<string, string>): Promise<Record<string, number>> {
    const { figures } = this.#stand;
    const byAccount = new Map(this.owners.map((owner) => [owner.account, owner]));
    const balanceOf = async (account: string): Promise<number> => {
      const answer = await this.#client.until('/v1/balance', () => ({ method: 'GET', ...byAccount.get(account)!.asking() }), {
        giveUpMs: 10_000,
      });
      return answer?.body.balanceCoins ?? Number.NaN;
    };
    const internalErrors = this.#client.internalErrors;
    const credit = (operation: Operation) => this.#send(operation, this.#ownerOf.get(operation)!, () => false);
    const differences = await compareCoins(this.operations, { balanceOf, credit }, command, homes);
    const done = this.operations.filter(({ acknowledgedAt }) => acknowledgedAt !== undefined);
    figures.atLeast('acknowledged', done.length, 1);
    figures.report('  refusals', this.#client.refused);
    this.#reportTimes(done, stage);
    return { 'never acknowledged': this.#unacknowledged, ...differences, 'answers with 500': internalErrors };
  }

  #reportTimes(done: readonly Operation[], stage: Stage | undefined): void {
    const { figures } = this.#stand;
    const { downSeconds = Infinity, longestMs = Infinity } = this.#options;
    figures.judgesTimes &&= this.#delays.max / 1e6 <= QUIET_MS;
    const faultAt = stage?.faultAt ?? Infinity;
    const isHit = ({ account }: Operation): boolean => stage === undefined || stage.isHit(`{${account}}`);
    const times = done.flatMap((operation) => (isHit(operation) && operation.acknowledgedAt! > faultAt ? [operation.acknowledgedAt!] : []));
    times.sort((one, other) => one - other);
    const down = times.reduce((most, at, index) => Math.max(most, at - (times[index - 1] ?? faultAt)), 0) / 1000;
    const waitOf = ({ sentAt, acknowledgedAt }: Operation): number => acknowledgedAt! - sentAt;
    const p99 = (some: readonly Operation[]): number =>
      percentile(
        some.map(waitOf).toSorted((one, other) => one - other),
        0.99,
      );
    const others = done.filter((operation) => !isHit(operation));
    if (faultAt < Infinity) figures.time('seconds without an acknowledgement of the accounts hit', down, downSeconds);
    figures.time(
      'longest wait for an acknowledgement, ms',
      done.reduce((most, each) => Math.max(most, waitOf(each)), 0),
      longestMs,
    );
    if (others.length === 0) return;
    // The first second warms the service up.
    const isIn = (from: number, to: number) => others.filter(({ sentAt }) => sentAt >= from && sentAt < to);
    figures.report('p99 of the other accounts before, ms', p99(isIn(this.operations[0]!.sentAt + 1000, faultAt)));
    figures.report('p99 of the other accounts meanwhile, ms', p99(isIn(faultAt, faultAt + down * 1000)));
  }
}

function ownerOf(installId: string): Owner {
  return { account: accountIdOf(installId), asking: () => ({ installId }) };
}

/** Credits as the load of a scenario. */
export function credits(options: CreditOptions = {}): Scenario['load'] {
  return async (stand: Stand, place: Place) => {
    const client = new Client(() => place.url());
    stand.closing.push(() => client.close());
    const load = new Credits(client, stand, options);
    if (options.haveRecords === true) await load.giveRecords();
    return load;
  };
}
