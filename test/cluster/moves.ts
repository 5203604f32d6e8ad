import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { accountIdOf, storeAccountIdOf } from '../../src/accounts/ids.ts';
import { standingKey } from '../../src/accounts/account-keys.ts';
import { parseEntry } from '../../src/features/coins/ledger-layout.ts';
import { coinKeys, entryLetters } from '../../src/features/coins/model.ts';
import { runAuditCommand } from '../consistency/command.ts';
import { startProxiedCluster, type ProxiedCluster } from '../cluster-proxy.ts';
import { Client } from './client.ts';
import { reportAudit, type Stand } from './coins.ts';
import { now, type History, type Operation } from './history.ts';
import { Processes } from './processes.ts';

const GUESTS = 150;
const ACCOUNTS = 50;

/** Ledger lengths of guests before they move: none, part of a bucket, several buckets, and too long to be joined to the account's. */
const LENGTHS = [0, 1, 7, 40, 130];

const TRAFFIC_MS = 20_000;

/** This many guests begin to move at the same time, so that a kill usually hits some moves. */
const MOVES_AT_ONCE = 10;

/** The moves are spread over this part of the traffic, and the primary is killed in the middle of it. */
const MOVING_MS = 16_000;

const BETWEEN_KILLS_MS = 700;
const SETUP_AT_ONCE = 32;
const LAST_WAIT_MS = 30_000;

/** The queue takes over a move after 10 s, or 10 s later if the process that takes it over dies. */
const QUEUE_MS = 40_000;

/** A sign-in takes up to 10 s. */
const TIMEOUT_MS = 12_000;

const LONGEST_RETRY_MS = 400;

interface StoreAccount {
  readonly accountId: string;
  /** The app store's token, which signs in. */
  readonly token: string;
  session: string;
}

interface Guest {
  readonly installId: string;
  readonly accountId: string;
  readonly target: StoreAccount;
  /** The service has refused the installId because the guest moved. */
  hasMoved: boolean;
}

/** Guests and store accounts under coin traffic. When a guest moves, its credits keep their keys and belong to the account. */
class Traffic {
  readonly client: Client;
  readonly accounts: StoreAccount[] = [];
  readonly guests: Guest[] = [];
  /** The store account that finally has the coins of an operation. */
  readonly owners = new Map<Operation, StoreAccount>();
  readonly waiting = new Set<Operation>();
  readonly refusals = new Map<string, number>();
  /** Sign-ins whose process was killed before it answered. */
  cutMoves = 0;
  readonly #history: History;
  #isClosed = false;
  readonly #prefix = randomBytes(4).toString('hex');

  constructor(url: () => string, history: History) {
    this.client = new Client(url, TIMEOUT_MS);
    this.#history = history;
  }

  /** Ends what a scenario that failed left running. */
  close(): void {
    this.#isClosed = true;
    this.waiting.clear();
    this.client.close();
  }

  /** Makes the accounts and the guests with their ledgers. */
  async open(): Promise<void> {
    await inParallel(Array.from({ length: ACCOUNTS }).keys(), async (index) => {
      const subject = `${this.#prefix}-subject-${index}`;
      const { token } = await this.#until('/sandbox/issue', { kind: 'id_token', subject });
      const { sessionToken } = await this.#until('/v1/account/store-provision', { token, session: 'token' });
      this.accounts.push({ accountId: storeAccountIdOf('sandbox', subject), token, session: sessionToken });
    });
    await inParallel(Array.from({ length: GUESTS }).keys(), async (index) => {
      const installId = `${this.#prefix}-guest-${index}`;
      const target = this.accounts[index % ACCOUNTS]!;
      const guest: Guest = { installId, accountId: accountIdOf(installId), target, hasMoved: false };
      // A guest without a ledger needs other data to move.
      await this.#until('/v1/entitlement/first-run', { installId });
      for (let count = LENGTHS[index % LENGTHS.length]!; count > 0; count--) await this.credit(guest);
      this.guests.push(guest);
    });
  }

  /** A credit to a guest or an account, tried again with its key until it is acknowledged. */
  async credit(owner: Guest | StoreAccount): Promise<void> {
    const [guest, account] = 'target' in owner ? [owner, owner.target] : [undefined, owner];
    const number = this.#history.operations.length;
    const operation: Operation = {
      installId: guest?.installId ?? '',
      account: owner.accountId,
      key: `key-${number}`,
      coins: 1 + (number % 7),
      sentAt: now(),
      tries: 0,
    };
    this.#history.operations.push(operation);
    this.owners.set(operation, account);
    this.waiting.add(operation);
    for (let retryMs = 20; this.waiting.has(operation); retryMs = Math.min(2 * retryMs, LONGEST_RETRY_MS)) {
      operation.tries++;
      const answer = await this.#try(operation, guest?.hasMoved === false ? guest : undefined, account);
      if (!this.waiting.has(operation)) return;
      if (answer !== undefined) {
        operation.acknowledgedAt = now();
        operation.answer = answer;
        this.waiting.delete(operation);
        this.#history.acknowledged(operation);
        return;
      }
      await pause(retryMs * (0.5 + Math.random()));
    }
  }

  /** Signs a guest in to its account until it has moved. @returns the number of tries */
  async move(guest: Guest): Promise<number> {
    for (let tries = 1; !this.#isClosed; tries++) {
      const body = { token: guest.target.token, installId: guest.installId, session: 'token' };
      const answer = await this.client.post('/v1/account/store-provision', body);
      if (answer.status === 200) {
        if (answer.body.notMoved !== undefined) throw new Error(`a guest was not moved: ${answer.body.notMoved}`);
        // `moved` is false for a guest that an earlier request has moved.
        guest.hasMoved = true;
        guest.target.session = answer.body.sessionToken;
        this.#history.note({ moved: guest.accountId, into: guest.target.accountId, tries });
        return tries;
      }
      if (answer.status === 0) this.cutMoves++;
      this.#refused(answer);
      await pause(LONGEST_RETRY_MS * (0.5 + Math.random()));
    }
    return 0;
  }

  /** Sends an acknowledged credit again, as the account. @returns whether the answer is the original one */
  async replays({ key, coins, answer }: Operation, { session }: StoreAccount): Promise<boolean> {
    for (let attempt = 0; attempt < 20; attempt++) {
      const { status, body } = await this.client.post('/v1/coins/credit', { key, coins }, { bearer: session });
      if (status === 200) return body.replayed === true && body.balanceAfterCoins === answer!.balanceAfterCoins;
      if (status !== 503 && status !== 0) return false;
      await pause(100);
    }
    return false;
  }

  async #try({ key, coins }: Operation, guest: Guest | undefined, { session }: StoreAccount): Promise<Operation['answer']> {
    const answer = await (guest === undefined
      ? this.client.post('/v1/coins/credit', { key, coins }, { bearer: session })
      : this.client.post('/v1/coins/credit', { key, coins, installId: guest.installId }));
    const { ok: _, error, ...figures } = answer.body;
    if (answer.status === 200) return figures;
    if (guest !== undefined && error.code === 'sign_in_required') guest.hasMoved = true;
    else this.#refused(answer);
    return undefined;
  }

  #refused({ status, body }: { status: number; body: { error?: { code: string } } }): void {
    const refusal = `${status} ${body.error?.code}`;
    this.refusals.set(refusal, (this.refusals.get(refusal) ?? 0) + 1);
  }

  /** A request before the first fault. It has to succeed. */
  // oxlint-disable-next-line no-explicit-any
  async #until(path: string, body: object): Promise<any> {
    for (let attempt = 1; ; attempt++) {
      const answer = await this.client.post(path, body);
      if (answer.status === 200) return answer.body;
      if (attempt === 20) throw new Error(`${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
      await pause(100);
    }
  }
}

/** Guests move into store accounts while service processes and a primary die. */
export async function proveMoves({ folder, rate, run, history, figures, closing }: Stand): Promise<void> {
  const cluster = await startProxiedCluster({ replicas: 2 });
  closing.push(() => cluster[Symbol.asyncDispose]());
  const processes = await Processes.open(3, { DATA_DIR: folder, REDIS_URL: cluster.url, REDIS_WAIT_REPLICAS: '1' });
  closing.push(async () => history.log(await processes.stop()));
  const traffic = new Traffic(() => processes.url(), history);
  closing.push(() => traffic.close());
  await traffic.open();
  history.event(`${GUESTS} guests begin to move into ${ACCOUNTS} accounts`);

  const startedAt = now();
  const sending = send(traffic, rate / 5, startedAt + TRAFFIC_MS);
  const killing = killProcesses(processes, history, startedAt + MOVING_MS);
  const failing = killPrimary(cluster, run, history, MOVING_MS / 2);
  const others = Promise.all([sending, killing, failing]);
  others.catch(() => {});
  const tries = await Promise.all(
    traffic.guests.map(async (guest, index) => {
      await pause((Math.floor(index / MOVES_AT_ONCE) * MOVES_AT_ONCE * MOVING_MS) / GUESTS);
      return traffic.move(guest);
    }),
  );
  await others;
  for (const giveUpAt = now() + LAST_WAIT_MS; traffic.waiting.size > 0 && now() < giveUpAt;) await pause(20);
  const unacknowledged = traffic.waiting.size;
  traffic.waiting.clear();

  figures.report('guests with ledgers of 0 to 130 entries, and store accounts', `${GUESTS}; ${ACCOUNTS}`);
  figures.atLeast('service processes killed', processes.kills, 1);
  figures.report('  processes that ended while they started, and were started again', processes.failedStarts);
  figures.report('sign-ins that a kill cut off', traffic.cutMoves);
  figures.report(
    'sign-ins sent again in all',
    tries.reduce((sum, count) => sum + count - 1, 0),
  );
  figures.report('refusals', [...traffic.refusals].map(([refusal, count]) => `${refusal} × ${count}`).join(', ') || 'none');
  figures.exactly('answers with 500', traffic.refusals.get('500 internal') ?? 0, 0);
  figures.exactly('never acknowledged', unacknowledged, 0);
  figures.exactly('guests that are not in their account once the queue had time', await untilMoved(traffic.guests, cluster), 0);
  await checkLedgers(traffic, cluster, { history, figures });
  reportAudit(figures, await runAuditCommand(['--full-speed', '--list', '5'], { REDIS_URL: cluster.url }));
}

async function send(traffic: Traffic, perSecond: number, endAt: number): Promise<void> {
  const startedAt = now();
  for (let sent = 0; now() < endAt; await pause(2)) {
    for (const due = ((now() - startedAt) / 1000) * perSecond; sent < due; sent++) {
      const owners = sent % 2 === 0 ? traffic.guests : traffic.accounts;
      void traffic.credit(owners[Math.floor(Math.random() * owners.length)]!);
    }
  }
}

/** Kills processes without waiting for their replacements, which take seconds to start on a busy machine. */
async function killProcesses(processes: Processes, history: History, endAt: number): Promise<void> {
  const replacing: Promise<void>[] = [];
  while (now() < endAt) {
    await pause(BETWEEN_KILLS_MS * (0.5 + Math.random()));
    const { kills } = processes;
    const replaced = processes.replaceOne();
    // `Promise.all` below reports the error. It must not end this process before the cluster is closed.
    replaced.catch(() => {});
    replacing.push(replaced);
    if (processes.kills > kills) history.event('SIGKILL for a service process');
  }
  await Promise.all(replacing);
}

async function killPrimary(cluster: ProxiedCluster, run: number, history: History, afterMs: number): Promise<void> {
  await pause(afterMs);
  const target = cluster.nodes.filter(({ role }) => role === 'primary')[run % 3]!;
  history.event(`SIGKILL for the primary of port ${target.port}`);
  await cluster.kill(target);
  const heir = await cluster.untilFailedOver(target);
  history.event(`the node of port ${heir.port} took over`);
}

/** Waits for the queue. @returns the guests whose standing does not lead into their account, because they are frozen or thawed */
async function untilMoved(guests: readonly Guest[], cluster: ProxiedCluster): Promise<number> {
  for (const giveUpAt = now() + QUEUE_MS; ; await pause(500)) {
    let left = 0;
    for (const { accountId, target } of guests) {
      const key = standingKey(accountId);
      const record = await (await cluster.primaryOf(cluster.slotOf(key))).call('GET', key);
      if (record !== `>${target.accountId}`) left++;
    }
    if (left === 0 || now() > giveUpAt) return left;
  }
}

async function checkLedgers(
  traffic: Traffic,
  cluster: ProxiedCluster,
  { history, figures }: Pick<Stand, 'history' | 'figures'>,
): Promise<void> {
  const acknowledged = history.operations.filter(({ acknowledgedAt }) => acknowledgedAt !== undefined);
  let [lost, doubled, wrongSums] = [0, 0, 0];
  for (const account of traffic.accounts) {
    const guests = traffic.guests.filter(({ target }) => target === account);
    const node = await cluster.primaryOf(cluster.slotOf(`{${account.accountId}}`));
    const ledgers = [
      coinKeys.ledger(account.accountId),
      ...guests.map((guest) => coinKeys.guestLedger(account.accountId, guest.accountId)),
    ];
    const texts = (await Promise.all(ledgers.map((key) => node.call('LRANGE', key, 0, -1)))) as string[][];
    const counts = new Map<string, number>();
    for (const { key, letter } of texts.flat().map((text) => parseEntry(text)!))
      if (letter !== entryLetters.merge) counts.set(key, (counts.get(key) ?? 0) + 1);
    for (const count of counts.values()) doubled += count - 1;
    const own = acknowledged.filter((operation) => traffic.owners.get(operation) === account);
    lost += own.filter(({ key }) => !counts.has(key)).length;
    const { body } = await traffic.client.ask('/v1/balance', { bearer: account.session });
    if (body.balanceCoins !== own.reduce((sum, { coins }) => sum + coins, 0)) wrongSums++;
  }
  let forgotten = 0;
  await inParallel(acknowledged.values(), async (operation) => {
    if (!(await traffic.replays(operation, traffic.owners.get(operation)!))) forgotten++;
  });
  history.note({ verdict: { acknowledged: acknowledged.length, lost, doubled, forgotten, wrongSums } });
  figures.atLeast('credits acknowledged', acknowledged.length, 1);
  figures.exactly('credits lost', lost, 0);
  figures.exactly('credits doubled', doubled, 0);
  figures.exactly('credits whose key no longer replays', forgotten, 0);
  figures.exactly('accounts whose balance is not the sum of their and their guests’ credits', wrongSums, 0);
}

async function inParallel<T>(items: IterableIterator<T>, work: (item: T) => Promise<unknown>): Promise<void> {
  const worker = async (): Promise<void> => {
    for (const item of items) await work(item);
  };
  await Promise.all(Array.from({ length: SETUP_AT_ONCE }, worker));
}
