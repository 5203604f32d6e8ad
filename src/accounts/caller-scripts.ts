import { errors, rateLimited, refuse } from '../errors.ts';
import { defineScript, type Script } from '../redis/script.ts';
import { redisFailure, ScriptRunner, SlotsApart, type Answer, type PrologueCall } from '../redis/script-runner.ts';
import { banEndOf, refuseBanned } from './ban-end.ts';
import { accountOfKey } from './account-keys.ts';
import { checksCaller, opensAccount } from './prologues.ts';

/**
 * Checks the caller for a script that runs in another slot, and reads the facts of the account that the script needs. `index` is a set of
 * the account that has to contain `member` before the script writes. If `member` is '', the script needs no entry in a set. Answers
 * checked(moved_in, generation, is open 0|1, is proven 0|1).
 */
const checkApart = defineScript({
  name: 'accounts/check-apart',
  lua: `local is_open = redis.call('EXISTS', account) == 1 and (member == '' or redis.call('SISMEMBER', index, member) == 1)
    local is_proven = redis.call('HEXISTS', account, 'installVerifiedAt') == 1
    return {'checked', moved_in, generation, is_open and '1' or '0', is_proven and '1' or '0'}`,
  keys: ['account', 'index'],
  args: ['member'],
  answers: ['checked'],
  prologue: checksCaller,
  readOnly: true,
});

/**
 * Creates the caller's account for a script that runs in another slot, and adds the object that the script will write to a set of the
 * account, unless `member` is ''. The set never expires if `keptSeconds` is ''.
 * @param durable for a set that never expires. If a failover lost the member after the script has written the object, the object would
 * stay for ever: a deletion finds the data of an account by such sets
 */
const openListedWith = (durable: boolean) =>
  defineScript({
    name: durable ? 'accounts/open-listed-durably' : 'accounts/open-listed',
    lua: `if not open_account(account, creation_barred) then return {'rate_limited'} end
      if member ~= '' then list_in_account(index, member, kept_seconds ~= '' and kept_seconds or nil) end
      return answer(account_created and 'created' or 'found')`,
    keys: ['index'],
    args: ['member', 'keptSeconds'],
    answers: ['created', 'found'],
    prologue: opensAccount,
    durable,
  });

const openListed = openListedWith(false);
const openListedDurably = openListedWith(true);

/** The caller as scripts need it: Redis keys of the account and the session, and the limit on what the caller's address may create. */
export interface ScriptCaller {
  readonly accountKey: string;
  readonly standingKey: string;
  /** The Redis key of the session's sign-out mark. Undefined for a caller without a session. */
  readonly signedOutKey: string | undefined;
  /** True for an operator: scripts with the prologue `checksCaller` run whatever the state of the account is. */
  readonly isUnchecked?: boolean;
  /**
   * True if a script may create the caller's account without a reservation, because no limit on new accounts applies to the caller's
   * address.
   */
  readonly createsFreely: boolean;
  /**
   * Reserves a new account within the limit of the caller's address (RATE_LIMIT_CREATIONS_PER_MINUTE). Gives 0 on success, else the
   * milliseconds to wait.
   */
  reserveCreation(): number | Promise<number>;
  giveBackCreation(): void;
}

/**
 * Thrown when the caller's session has ended. The pipeline then repeats a request that sent the session in a cookie, without the session.
 * The pipeline refuses a request that sent the session as a bearer token.
 */
export class SessionEnded extends Error {}

/** Runs scripts for callers. */
export class CallerScripts extends ScriptRunner {
  /**
   * Finishes a move of the account or takes it back, so that scripts on the account succeed again, or answer `sign_in_required`.
   * `service.ts` sets this function (`features/guest-moves/move-journal.ts`).
   * @throws Error if the move is still under way
   */
  helpMove: (accountId: string) => Promise<void> = async () => {};

  /** Called for each account that a script has created for its caller. `service.ts` sets this function, for the metrics. */
  accountCreated: () => void = () => {};

  /** Called for each account whose caller has written something. `service.ts` sets this function, for the numbers of a day. */
  accountActed: (standingKey: string) => void = () => {};

  /**
   * Runs a script that acts for a caller, in one round trip to Redis. A script that has to create the caller's account takes two round
   * trips, unless `createsFreely`: the first finds no account, then the service reserves a new account within the limit of the caller's
   * address, and the second creates the account. If the caller's account is moving, the script runs once the move is done or taken back. On
   * a Cluster, if the script's slot and the account's slot are on two primaries, the check of the caller takes one more round trip. If this
   * function throws one of the following errors, the script did nothing.
   * @throws SessionEnded if the caller's session has ended
   * @throws SlotsApart if a script that has no form for a caller in another slot (`Script.apart`) runs on another primary than the caller's
   * @throws Refusal `sign_in_required` if the caller's account moved into another account
   * @throws Refusal `account_deleted`, `account_banned`
   * @throws Refusal `rate_limited` if the caller's address has used up its limit of new accounts, logins, rooms and pairings of the last
   * minute
   * @throws Refusal `store_unavailable` if the caller's account is still moving
   */
  runAs<Key extends string, Argument extends string, Word extends string>(
    caller: ScriptCaller,
    script: Script<Key, Argument, Word>,
    keys: Record<Key, string>,
    args: Record<Argument, string | number>,
  ): Promise<Answer<Word>> {
    if (caller.isUnchecked === true) return this.#runUnchecked(caller, script, keys, args);
    const run = () => this.run(script, keys, args, script.prologue === undefined ? undefined : new CallerCall(caller, script, this));
    const { apart, slotOf } = script;
    // No `async` in this function: an additional `then` would let the answers of scripts overtake each other (board-cache.ts).
    if (apart === undefined || slotOf === 'caller' || !this.isOnCluster) return run();
    if (!this.areTogether(keys[slotOf], caller.standingKey)) return this.#checkThenRun(caller, apart, keys, args);
    return run().catch((error: unknown) => {
      // The script did not run: the script's slot or the account's slot moved to another primary meanwhile.
      if (error instanceof SlotsApart) return this.#checkThenRun(caller, apart, keys, args);
      throw error;
    });
  }

  #runUnchecked<Key extends string, Argument extends string, Word extends string>(
    caller: ScriptCaller,
    checked: Script<Key, Argument, Word>,
    keys: Record<Key, string>,
    args: Record<Argument, string | number>,
  ): Promise<Answer<Word>> {
    const script = checked.unchecked();
    if (script === undefined) throw new Error(`${checked.name}.lua runs for a checked caller only`);
    return this.run(script, keys, args, new CallerCall(caller, script, this));
  }

  /**
   * Runs a script in another slot than the account of its caller. The caller is checked first, so a session that was signed out before the
   * call is refused. A call is also served if its session is signed out between the check and the script, because the call began before the
   * sign-out.
   */
  async #checkThenRun<Key extends string, Argument extends string, Word extends string>(
    caller: ScriptCaller,
    script: Script<Key, Argument, Word>,
    keys: Record<Key, string>,
    args: Record<Argument, string | number>,
  ): Promise<Answer<Word>> {
    const listed =
      script.lists === undefined
        ? { index: caller.accountKey, member: '', keptSeconds: '' }
        : { index: keys[script.lists.index], member: String(args[script.lists.member]), keptSeconds: script.lists.keptSeconds ?? '' };
    const keysOfCheck = { account: caller.accountKey, index: listed.index };
    const [, ...checked] = await this.run(checkApart, keysOfCheck, { member: listed.member }, new CallerCall(caller, checkApart, this));
    const { index, ...member } = listed;
    const opening = script.lists !== undefined && script.lists.keptSeconds === undefined ? openListedDurably : openListed;
    const open = () => this.run(opening, { index }, member, new CallerCall(caller, opening, this));
    return this.run(script, keys, args, new ApartCall(caller, script, this, checked, async () => (await open())[0]));
  }

  /**
   * Runs a script for a server key that names no account, in one round trip. The script checks no caller, creates no account and lists no
   * object in an account, so it must not write anything that needs an account. The script runs in its `apart` form even on a single Redis,
   * because that form has no keys of an account.
   */
  runWithoutAccount<Key extends string, Argument extends string, Word extends string>(
    { apart, name }: Script<Key, Argument, Word>,
    keys: Record<Key, string>,
    args: Record<Argument, string | number>,
  ): Promise<Answer<Word>> {
    if (apart === undefined) throw new Error(`${name}.lua runs for an account only`);
    return this.run(apart, keys, args, new CallWithoutAccount(apart));
  }

  /** Runs a script as `runAs` does, or as `runWithoutAccount` does for a server key that names no account. */
  runWithOrWithout<Key extends string, Argument extends string, Word extends string>(
    caller: ScriptCaller | undefined,
    script: Script<Key, Argument, Word>,
    keys: Record<Key, string>,
    args: Record<Argument, string | number>,
  ): Promise<Answer<Word>> {
    return caller === undefined ? this.runWithoutAccount(script, keys, args) : this.runAs(caller, script, keys, args);
  }

  /** Runs a script as `runAs` does, or as `run` does if the request has no caller. */
  runFor<Key extends string, Argument extends string, Word extends string>(
    caller: ScriptCaller | undefined,
    script: Script<Key, Argument, Word>,
    keys: Record<Key, string>,
    args: Record<Argument, string | number>,
  ): Promise<Answer<Word>> {
    return caller === undefined ? this.run(script, keys, args) : this.runAs(caller, script, keys, args);
  }
}

/**
 * One call of a script that acts for a caller: what the prologue gets about the caller, and how the answers about the caller and about a
 * new account are read.
 */
abstract class CallOfCaller implements PrologueCall {
  abstract readonly callerKey: string | undefined;
  protected readonly caller: ScriptCaller;
  protected readonly scripts: CallerScripts;
  protected readonly opens: boolean;
  protected creation: 'free' | 'barred' | 'reserved';

  /** @param opens whether the script may create the caller's account */
  constructor(caller: ScriptCaller, scripts: CallerScripts, opens: boolean) {
    this.caller = caller;
    this.scripts = scripts;
    this.opens = opens;
    this.creation = !opens || caller.createsFreely ? 'free' : 'barred';
  }

  abstract addTo(keys: string[], args: (string | number)[]): void;

  /** Whether the script has to run again after an answer with this word, once `prepareRepeat` is done. */
  protected abstract isRepeated(word: string): boolean;

  /** @throws the error for the code that called the script, if the answer refuses the caller */
  protected check(_answer: readonly string[]): void {}

  read(answer: string[] | Error): string[] | undefined {
    if (answer instanceof Error) {
      if (redisFailure(answer) !== 'unknown') this.giveBack();
      throw answer;
    }
    const [word = ''] = answer;
    if (this.isRepeated(word)) return undefined;
    const isCreated = word.startsWith(CREATED);
    if (isCreated) this.scripts.accountCreated();
    const isUsed = isCreated || word.startsWith(CREATION_USED);
    if (!isUsed) {
      this.giveBack();
      this.check(answer);
    }
    // A refused call may come from a caller without an account, so it does not count.
    if (this.opens && this.caller.isUnchecked !== true && !(word in errors)) this.scripts.accountActed(this.caller.standingKey);
    return isUsed ? [word.slice(1), ...answer.slice(1)] : answer;
  }

  async prepareRepeat(): Promise<void> {
    const waitMs = await this.caller.reserveCreation();
    if (waitMs > 0) throw rateLimited(waitMs);
    this.creation = 'reserved';
  }

  /** Gives the reservation of a new account back to the caller's address if the script did not use it. */
  protected giveBack(): void {
    if (this.creation === 'reserved') this.caller.giveBackCreation();
  }
}

/** A call of a script that runs in the slot of the caller's account, or gets keys of the account. */
class CallerCall extends CallOfCaller {
  /** How often the account was moving when the script ran. */
  #helps = 0;
  #isMoving = false;

  constructor(caller: ScriptCaller, { prologue }: Script<string, string, string>, scripts: CallerScripts) {
    super(caller, scripts, prologue === opensAccount);
  }

  override get callerKey(): string {
    return this.caller.standingKey;
  }

  override addTo(keys: string[], args: (string | number)[]): void {
    const { accountKey, standingKey, signedOutKey = '' } = this.caller;
    if (this.opens) {
      keys.push(accountKey);
      args.push(this.creation === 'barred' ? '1' : '');
    }
    keys.push(standingKey, signedOutKey);
  }

  protected override isRepeated(word: string): boolean {
    this.#isMoving = word === 'moving';
    return this.#isMoving || (word === 'rate_limited' && this.creation === 'barred');
  }

  protected override check([word, banEnd]: readonly string[]): void {
    if (word === 'session_ended') throw new SessionEnded();
    if (word === 'sign_in_required' || word === 'account_deleted') throw refuse(word);
    if (word === 'account_banned') throw refuseBanned(banEndOf(banEnd!));
  }

  override prepareRepeat(): Promise<void> {
    return this.#isMoving ? this.#helpMove() : super.prepareRepeat();
  }

  /** Has the account's move finished. The script did nothing, so the outcome of the call is known even if the move cannot be finished. */
  async #helpMove(): Promise<void> {
    try {
      if (++this.#helps > MOST_HELPS) throw new Error('the account keeps moving');
      await this.scripts.helpMove(accountOfKey(this.caller.standingKey));
    } catch (error) {
      this.giveBack();
      throw refuse('store_unavailable', { retryAfterMs: 1000 }, error);
    }
  }
}

/**
 * The most moves that one call waits for. After a refused move a guest may begin another move; more than five during one call are not
 * plausible.
 */
const MOST_HELPS = 5;

/**
 * A call of a script in another slot than the caller's account. The call passes on the result of the caller's check, and creates the
 * account if the script needs one.
 */
class ApartCall extends CallOfCaller {
  override readonly callerKey = undefined;
  readonly #movedIn: string;
  readonly #generation: string;
  readonly #isProven: string;
  readonly #open: () => Promise<'created' | 'found'>;
  #isOpen: string;

  /**
   * @param checked the answer of `checkApart`
   * @param open creates the account, and adds the object that the script will write to a set of the account
   */
  constructor(
    caller: ScriptCaller,
    { prologue }: Script<string, string, string>,
    scripts: CallerScripts,
    checked: readonly string[],
    open: () => Promise<'created' | 'found'>,
  ) {
    super(caller, scripts, prologue === opensAccount.apart);
    [this.#movedIn = '', this.#generation = '', this.#isOpen = '', this.#isProven = ''] = checked;
    this.#open = open;
  }

  override addTo(_keys: string[], args: (string | number)[]): void {
    if (this.opens) args.push(this.#isOpen, this.creation === 'barred' ? '1' : '', this.#isProven);
    args.push(this.#movedIn, this.#generation);
  }

  protected override isRepeated(word: string): boolean {
    return word === 'rate_limited' && (this.#isOpen !== '1' || this.creation === 'barred');
  }

  override async prepareRepeat(): Promise<void> {
    if (this.#isOpen === '1') return super.prepareRepeat();
    // The reservation for the new account covers everything else that this call creates, as if one script created both.
    if ((await this.#open()) === 'created') this.creation = 'free';
    this.#isOpen = '1';
  }
}

/**
 * A call of a script for a server key that names no account. The script gets the values of an open account without guests, in the form for
 * a caller in another slot (`Script.apart`).
 */
class CallWithoutAccount implements PrologueCall {
  readonly callerKey = undefined;
  readonly #opens: boolean;

  constructor({ prologue }: Script<string, string, string>) {
    this.#opens = prologue === opensAccount.apart;
  }

  addTo(_keys: string[], args: (string | number)[]): void {
    if (this.#opens) args.push('1', '', '');
    args.push('', '0');
  }

  read(answer: string[] | Error): string[] {
    if (answer instanceof Error) throw answer;
    return answer;
  }

  async prepareRepeat(): Promise<void> {}
}

/** The first character of the answer's word if the script created the account (`open-account.lua`). */
const CREATED = '+';

/**
 * The first character of the answer's word if the script used the reservation for something other than the account, such as a board's first
 * score.
 */
const CREATION_USED = '*';
