import { acceptData, heartbeatText, idIn, isSameData, isTooOld, MOST_BEHIND_MS, readHeartbeat, succeeds, successorOf } from './data-id.ts';
import { DataCheck, type Found } from './data-check.ts';
import { describeRefusal, hashOfSecret, refusalOfOlder, refusalOfSecret, type DataRefusal, type NotedRefusal } from './data-refusal.ts';
import type { DataProblem, DataVerdictOptions } from './known-data.ts';
import { missingFrom, timeOf } from './describe-older-data.ts';
import { RefusalNotes } from './refusal-notes.ts';
import type { ScriptRunner } from '../script-runner.ts';

/** Judges the data of one Redis, or of one primary of a Cluster: known, lost, replaced, older, or refused by another service. */
export class DataVerdict {
  readonly #options: DataVerdictOptions;
  readonly #check: DataCheck;
  readonly #notes: RefusalNotes;
  /** Whether the last check found the known data. On a Cluster `isChecked` is also false after the connection to the primary was lost. */
  isChecked = false;
  /**
   * Whether this is a primary of a Cluster whose slots have no copies of the data id yet: a first start, or data of a release without ids.
   */
  lacksIds = false;
  #problem: DataProblem | undefined;
  /** The reason why this process refuses data whose id it knows. */
  #refusal: DataRefusal | undefined;
  /** The last id that this Redis's data had. Undefined: `KnownData` has the id. */
  #id: string | undefined;
  #secret = '';
  /** The time at which the problem of the data began, by Redis's clock. */
  #lostAt = 0;
  #checking: Promise<void> | undefined;
  #isConfirming = false;
  /** Slots that have moved to this primary, and whose data ids have not been read yet. */
  #unread: readonly number[] = [];
  #words: readonly [id: string, leastHeartbeat: string] = ['', ''];

  constructor(options: DataVerdictOptions) {
    this.#options = options;
    this.#check = new DataCheck(options);
    this.#notes = new RefusalNotes(options);
  }

  get name(): string {
    return this.#options.name ?? 'this Redis';
  }

  get problem(): DataProblem | undefined {
    return this.#problem;
  }

  /**
   * The id of the data, and the lowest heartbeat that the data must have. Scripts compare both with Redis. Set while the data is known and
   * has no problem.
   */
  get words(): readonly [id: string, leastHeartbeat: string] {
    return this.#words;
  }

  /** @throws Error if Redis does not answer */
  check(): Promise<void> {
    return (this.#checking ??= this.#checkNow().finally(() => (this.#checking = undefined)));
  }

  /** Like `check`, but starts after any check that is running, so that it sees all that was written before the call. */
  async checkAgain(): Promise<void> {
    await this.#checking?.catch(() => {});
    return this.check();
  }

  /** Called when slots of a Cluster have moved to this primary. Until the data ids in these slots are read, `isChecked` is false. */
  gets(slots: readonly number[]): void {
    this.#unread = [...this.#unread, ...slots];
    this.isChecked = false;
  }

  async #checkNow(): Promise<void> {
    const names = this.#options.keys();
    if (names === undefined) return;
    const slots = this.#unread;
    // What this process knew when it sent the check. Meanwhile the answer of `#confirm` may tell of a newer heartbeat than the check found.
    const { heartbeats, found: lastFound } = this.#options.known;
    const known = { seen: heartbeats.get(names.id) ?? 0, last: lastFound.get(names.id) ?? 0 };
    const [lost, found] = await Promise.all([
      this.#lostOf(slots),
      this.#check.run(names, this.#id ?? this.#options.known.id, this.#problem === undefined),
    ]);
    // Slots that moved to this primary during the check stay in the list.
    this.#unread = this.#unread.slice(slots.length);
    if (!found.hasId) return this.#missing(found.at, found.secret);
    await this.#judge(names.id, found, known, lost);
  }

  /** @returns the first of these slots that moved to this primary without its copy of the data id */
  async #lostOf(slots: readonly number[]): Promise<number | undefined> {
    const { known, idsOf } = this.#options;
    // While the data is not complete yet, a slot without a data id has not lost anything.
    if (slots.length === 0 || idsOf === undefined || !known.stands) return undefined;
    const ids = await idsOf(slots);
    return slots[ids.findIndex((value) => value !== undefined && !isSameData(idIn(value), this.#knownId))];
  }

  /** Called when a read of all slots found a slot without a data id, or with the id of other data. `hasAllSlots` takes the problem back. */
  lacksSlot(slot: number, at: number): void {
    const text = `slot ${slot} of ${this.name} has lost its data`;
    if (this.#problem === undefined) this.#lose({ kind: 'slot', text, accept: successorOf(this.#knownId) }, at);
  }

  /** Called when a read of all slots found the right data id in every slot. */
  hasAllSlots(): void {
    if (this.#problem?.kind !== 'slot') return;
    this.#problem = undefined;
    this.#found();
  }

  get #knownId(): string {
    return (this.#id ?? this.#options.known.id)!;
  }

  async #missing(at: number, secret: string): Promise<void> {
    // The slots may have secrets from a release without data ids, or a first start is not finished. In both cases the service will next
    // write the data ids of all slots.
    this.lacksIds = !this.#options.known.stands || (secret !== '' && this.#id === undefined);
    if (this.#options.name !== undefined && this.lacksIds) {
      this.isChecked = false;
      return;
    }
    this.lacksIds = false;
    const text = `${this.name} has ${secret === '' ? 'lost its data: it is empty' : 'data without the id that it had'}`;
    await this.#loseUnlessAccepted({ kind: 'empty', text, accept: successorOf(this.#knownId) }, at, '');
  }

  /** @param seen @param last the heartbeats that Redis had acknowledged, and that the last check had found, when this check was sent */
  async #judge(
    key: string,
    found: Found,
    { seen, last }: { readonly seen: number; readonly last: number },
    lostSlot: number | undefined,
  ): Promise<void> {
    this.lacksIds = false;
    if (found.refusal !== undefined) return this.#heed(key, found, found.refusal);
    const { known, log, isSecret } = this.#options;
    const id = this.#id ?? known.id;
    const problem = this.#problem;
    // The id is compared too, because Redis's clock may have been set back since.
    const wasAccepted = problem !== undefined && (found.acceptedAt >= this.#lostAt || succeeds(found.id, problem.accept));
    if (id === undefined || wasAccepted) return this.#adopt(key, found);
    if (found.id !== id) {
      // ACCEPT_DATA may stay set for long. It must not accept the same data a second time after other data has replaced it.
      const isAccepted = found.id === known.accepts && !succeeds(id, found.id);
      if (succeeds(found.id, id) || isAccepted) return this.#adopt(key, found);
      return this.#lose({ kind: 'other', text: `${this.name} has other data, with the id ${found.id}`, accept: found.id }, found.at);
    }
    const isBack = isTooOld(last, found.heartbeat);
    known.found.set(key, found.heartbeat);
    // Another process, which never saw the newer state, may advance the count of serving time (the heartbeat) in the older data. The data
    // is still older then.
    if (isTooOld(found.heartbeat, seen) || (problem?.kind === 'older' && !isBack)) return this.#isOlder(key, found, seen);
    if (this.#secret !== '' && isSecret(found.secret) && found.secret !== this.#secret)
      return this.#refuse(found, refusalOfSecret(this.#secret));
    if (problem?.kind === 'slot') return;
    if (lostSlot !== undefined) return this.lacksSlot(lostSlot, found.at);
    const behindMs = Math.max(seen, last) - found.heartbeat;
    if (behindMs > 0) log.warn({ behindMs, node: this.#options.name }, `redis came back in an older state: ${this.#lastLost(key, found)}`);
    this.#take(key, found);
  }

  /**
   * Names the time span from which changes may be lost. The span is up to a second too long, because the data notes its serving time only
   * once a second.
   */
  #lastLost(key: string, { beatenAt }: Found): string {
    const knownUntil = this.#options.known.times.get(key) ?? 0;
    const between = beatenAt < knownUntil ? ` between ${timeOf(beatenAt)} and ${timeOf(knownUntil)}` : ' last';
    return `what was written${between} may be lost`;
  }

  #isOlder(key: string, found: Found, seen: number): Promise<void> {
    if (this.#problem?.kind === 'older' && this.#refusal !== undefined) return this.#refuse(found, this.#refusal);
    const missing = missingFrom(found.beatenAt, this.#options.known.times.get(key) ?? 0);
    return this.#refuse(found, refusalOfOlder(seen - found.heartbeat, missing));
  }

  async #refuse(found: Found, refusal: DataRefusal): Promise<void> {
    const { kind, reason } = refusal;
    await this.#loseUnlessAccepted({ kind, text: `${this.name} ${reason}`, accept: successorOf(found.id) }, found.at, found.id);
    if (this.#problem?.kind !== kind) return;
    this.#refusal = refusal;
    // The refusal is written in the background: in a Cluster each slot gets a copy, and the checks of the primary must go on meanwhile.
    if (this.#check.mayWrite) void this.#notes.set(found, refusal);
  }

  /** Another service has written its refusal into this data. Takes the refusal over, or removes it if the secret is right again. */
  async #heed(key: string, found: Found, refusal: NotedRefusal): Promise<void> {
    this.#options.known.found.set(key, found.heartbeat);
    if (refusal.kind === 'secret' && refusal.rightSecret === hashOfSecret(found.secret)) {
      if (await this.#notes.clear(found.secret)) await this.#checkNow();
      return;
    }
    const { kind } = refusal;
    const problem = { kind, text: describeRefusal(this.name, refusal), accept: successorOf(found.id) };
    await this.#loseUnlessAccepted(problem, found.at, found.id);
    if (this.#problem?.kind === kind) this.#refusal ??= refusal;
  }

  #adopt(key: string, found: Found): void {
    this.#id = found.id;
    this.#secret = '';
    this.#problem = undefined;
    this.#options.known.heartbeats.delete(key);
    this.#options.known.found.delete(key);
    this.#options.adopted(found.id);
    this.#take(key, found);
  }

  #take(key: string, { id, heartbeatAfter, secret, at }: Found): void {
    this.#id = id;
    if (this.#options.isSecret(secret)) this.#secret = secret;
    const { heartbeats, found } = this.#options.known;
    found.set(key, heartbeatAfter);
    this.#options.known.times.set(key, at);
    heartbeats.set(key, this.#options.durable === undefined ? heartbeatAfter : Math.min(heartbeats.get(key) ?? 0, heartbeatAfter));
    this.#words = [id, heartbeatText(heartbeats.get(key)! - MOST_BEHIND_MS)];
    this.#problem = undefined;
    this.#refusal = undefined;
    this.#found();
    if (this.#options.durable !== undefined) void this.#confirm(key, this.#options.durable);
  }

  /**
   * Reads the heartbeat once more by a script that waits for the replicas, and remembers only this value. A write that the replicas lacked
   * at a failover was never acknowledged. So a replica that was cut off for a while does not count as an older state.
   */
  async #confirm(key: string, durable: Pick<ScriptRunner, 'run'>): Promise<void> {
    if (this.#isConfirming) return;
    this.#isConfirming = true;
    try {
      const [, id, heartbeat] = await durable.run(readHeartbeat, { id: key }, {});
      if (id !== this.#words[0] || this.#problem !== undefined) return;
      this.#options.known.heartbeats.set(key, Number(heartbeat));
      this.#words = [id, heartbeatText(Number(heartbeat) - MOST_BEHIND_MS)];
    } catch {
      // Too few replicas have the heartbeat, or Redis is down. The next check tries again.
    } finally {
      this.#isConfirming = false;
    }
  }

  #found(): void {
    this.isChecked = this.#unread.length === 0;
    if (this.#lostAt === 0) return;
    this.#lostAt = 0;
    this.#options.adopted(this.#knownId);
    this.#options.log.info({ node: this.#options.name }, 'redis has data again that is served');
  }

  /** @param seen the id in Redis. '': Redis has no id */
  async #loseUnlessAccepted(problem: DataProblem, at: number, seen: string): Promise<void> {
    const { scripts, known, keys, name } = this.#options;
    // On a Cluster the data ids of all slots are accepted together (`data-of-cluster.ts`).
    if (name === undefined && known.accepts === problem.accept) {
      await scripts.run(acceptData, { id: keys()!.id }, { seen, to: known.accepts });
      return this.#checkNow();
    }
    this.#lose(problem, at);
  }

  #lose(problem: DataProblem, at: number): void {
    this.isChecked = true;
    // A slot without a data id may be the first sign of an empty primary. So `slot`, followed by `empty`, counts as the same problem.
    const isSame = problem.kind === this.#problem?.kind || (problem.kind === 'empty' && this.#problem?.kind === 'slot');
    if (isSame && problem.accept === this.#problem?.accept) return;
    this.#problem = problem;
    this.#lostAt = at;
    const { log, known, name } = this.#options;
    // `isStrange`: only DATA_DIR knows the id of the data, and this process has never found that data in this Redis.
    const isStrange = this.#id === undefined && (problem.kind === 'empty' || problem.kind === 'other');
    const hint = isStrange ? 'If this is another Redis than before, give the service another DATA_DIR. Otherwise bring' : 'Bring';
    log.fatal(
      { node: name, knownData: known.id, acceptData: problem.accept },
      `${problem.text}. Nothing of it is served. ${hint} the data back; or accept what is there, with "npm run admin -- data accept", or a start with ACCEPT_DATA=${problem.accept}`,
    );
    this.#options.lost();
  }
}
