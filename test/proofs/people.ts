import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { Answer, Client } from './client.ts';
import { now, type History } from './history.ts';
import { anyOf } from './place.ts';

/** A sign-in of a person, and the account that it opens by the model. Undefined: it was never used, or it has ended. */
export interface Identity {
  readonly provider: string;
  readonly subject: string;
  account: Account | undefined;
  /** The last session that began with it, and how many sign-ins of the person were before that. */
  session: string | undefined;
  sessionAt: number;
}

/** What an account has by the model. */
export class Account {
  readonly id: string;
  coins = 0;
  /** The coins of each idempotency key. */
  readonly keys = new Map<string, number>();
  purchases = 0;
  /** Purchases of the account that the app has not sent yet: tokens and coins. */
  readonly unshown: { readonly token: string; readonly coins: number }[] = [];
  best = 0;
  readonly saves = new Map<string, string>();

  constructor(id: string) {
    this.id = id;
  }

  book(key: string, coins: number): void {
    this.coins += coins;
    this.keys.set(key, coins);
  }

  /** Takes all that another account has. No two accounts have a save of one name. */
  join(other: Account): void {
    this.coins += other.coins;
    for (const [key, coins] of other.keys) this.keys.set(key, coins);
    this.purchases += other.purchases;
    this.unshown.push(...other.unshown);
    this.best = Math.max(this.best, other.best);
    for (const [name, data] of other.saves) this.saves.set(name, data);
  }
}

/** The differences between the service and the model. None may be there. */
export const differences = () => ({
  'sign-ins that opened two accounts': 0,
  'sign-ins that opened the account of a stranger': 0,
  'sign-ins that opened an account that had ended': 0,
  'sign-ins that were added although they had an account': 0,
  'lists of sign-ins that differ': 0,
  'sessions that outlived their sign-in': 0,
  'attacks that got through': 0,
  'balances that differ from the book': 0,
  'histories whose sum is not the balance': 0,
  'keys that no longer replay': 0,
  'purchases that are missing': 0,
  'best scores that are missing': 0,
  'saves that are missing': 0,
  'answers that the model does not expect': 0,
  'requests that never succeeded': 0,
});

export type Difference = keyof ReturnType<typeof differences>;

/** What all people share. */
export interface World {
  readonly client: Client;
  readonly history: History;
  readonly found: Record<Difference, number>;
  /** Whose each account is or was. */
  readonly owners: Map<string, Person>;
}

/** The service and the model differ, so the model does not know what this person's next answers should be. */
export class Differs extends Error {
  readonly what: Difference;

  constructor(what: Difference, message: string) {
    super(message);
    this.what = what;
  }
}

export const ADD = '/v1/account/sign-ins';
export const ENTER = '/v1/account/store-provision';

/** Sends a request: until an answer says what happened, or once. */
export type Send = (path: string, body: object | undefined, bearer?: string) => Promise<Answer>;

export const isSettled = ({ status }: Answer): boolean => status > 0 && status < 500;

/** The most tries of an addition whose nonce a try without an answer used up. */
const MOST_TRIES = 20;

/** An account has 50 sessions, and each further one ends the oldest one. So a session is used for this many sign-ins. */
const MOST_SIGN_INS = 40;

const AGAIN_MS = 100;

/** Longer than any outage. */
const GIVE_UP_MS = 180_000;

/**
 * The service answers a request after 10 s at the latest, with an unknown outcome, and may go on working on it. On a busy machine that takes
 * some seconds, and what it then does must not surprise the model.
 */
const LATE_MS = 9000;
const ENDS_MS = 15_000;

export const codeOf = ({ status, body }: Answer): string => (status === 200 ? '200' : `${status} ${body?.error?.code}`);

/** A person with a sign-in at each of three providers, who does one thing after the other. */
export class Person {
  readonly name: string;
  readonly identities: readonly Identity[];
  /** False once the service and the model differ. */
  isSound = true;
  readonly #world: World;
  #signIns = 0;

  constructor(world: World, name: string, providers: readonly string[]) {
    this.#world = world;
    this.name = name;
    this.identities = providers.map((provider) => ({
      ...{ provider, subject: `${name}-${randomBytes(6).toString('hex')}`, account: undefined, session: undefined, sessionAt: 0 },
    }));
  }

  get accounts(): Account[] {
    return [...new Set(this.identities.flatMap(({ account }) => account ?? []))];
  }

  /** The sign-ins that open the account. */
  of(account: Account): Identity[] {
    return this.identities.filter((identity) => identity.account === account);
  }

  count(what: Difference, about: object = {}): void {
    this.#world.found[what]++;
    this.note({ difference: what, ...about });
  }

  note(line: object): void {
    this.#world.history.note({ person: this.name, ...line });
  }

  differs(what: Difference, about: object): never {
    throw new Differs(what, JSON.stringify(about));
  }

  /** Sends a request once. After a request that the service gave up in time, waits until the service works on it no more. */
  readonly once: Send = async (path, body, bearer) => {
    const sentAt = now();
    const asking = { bearer, ...(body === undefined ? { method: 'GET' } : { method: 'POST', body }) };
    const answer = await this.#world.client.ask(path, asking);
    if (!isSettled(answer) && now() - sentAt > LATE_MS) await pause(ENDS_MS);
    return answer;
  };

  /** Sends until an answer says what happened. @throws Differs if none ever comes */
  readonly settle = async (path: string, body: object | undefined, bearer?: string): Promise<Answer & { readonly isRepeated: boolean }> => {
    let isRepeated = false;
    for (const giveUpAt = now() + GIVE_UP_MS; now() < giveUpAt; await pause(AGAIN_MS * (1 + Math.random()))) {
      const answer = await this.once(path, body, bearer);
      if (isSettled(answer)) return { ...answer, isRepeated };
      isRepeated = true;
    }
    return this.differs('requests that never succeeded', { path, body });
  };

  /** Sends until an answer says what happened, which has to be one of these. */
  async need(path: string, body: object | undefined, bearer?: string, ...expected: string[]) {
    const answer = await this.settle(path, body, bearer);
    if (answer.status === 200 || expected.includes(codeOf(answer))) return answer;
    return this.differs('answers that the model does not expect', { path, body, answer: answer.body });
  }

  async tokenOf({ provider, subject }: Identity, nonce?: string): Promise<string> {
    return (await this.need('/sandbox/issue', { kind: 'id_token', provider, subject, nonce })).body.token;
  }

  /** Signs in, and compares which account that opens. */
  async signIn(identity: Identity, more: { installId?: string } = {}, send: Send = this.settle): Promise<Answer> {
    const body = { token: await this.tokenOf(identity), session: 'token', ...more };
    const answer = await send(ENTER, body);
    if (answer.status === 200) [identity.session, identity.sessionAt] = [answer.body.sessionToken, this.#signIns++];
    else if (send === this.settle)
      this.differs('answers that the model does not expect', { signIn: identity.subject, answer: answer.body });
    return answer;
  }

  /** Signs in, and compares the opened account with that of the model. */
  async enter(identity: Identity, more: { installId?: string } = {}): Promise<Answer> {
    const answer = await this.signIn(identity, more);
    this.opened(identity, answer.body.accountId);
    return answer;
  }

  /** Compares an account that a sign-in opened with the model. A new account becomes part of the model. */
  opened(identity: Identity, id: string): Account {
    const { owners } = this.#world;
    const owner = owners.get(id);
    const about = { person: identity.subject, opened: id, known: identity.account?.id };
    if (owner !== undefined && owner !== this) this.differs('sign-ins that opened the account of a stranger', about);
    if (identity.account?.id === id) return identity.account;
    if (identity.account !== undefined) this.differs('sign-ins that opened two accounts', about);
    if (owner === this) this.differs('sign-ins that opened an account that had ended', about);
    owners.set(id, this);
    return (identity.account = new Account(id));
  }

  /** A session of the account. */
  async sessionOf(account: Account, by: Identity = anyOf(this.of(account))!): Promise<string> {
    const { session, sessionAt } = by;
    if (session !== undefined && this.#signIns - sessionAt < MOST_SIGN_INS && Math.random() < 0.9) return session;
    return (await this.enter(by)).body.sessionToken;
  }

  /** The request that adds a sign-in to an account. */
  async additionOf(target: Account, identity: Identity) {
    const bearer = await this.sessionOf(target);
    const proof = await this.tokenOf(anyOf(this.of(target))!);
    const { nonce } = (await this.need(`${ADD}/nonce`, {}, bearer)).body;
    return { bearer, body: { token: await this.tokenOf(identity, nonce), proof } };
  }

  /**
   * Adds a sign-in to an account; if the sign-in has an account, merges it.
   * @returns the last answer, and the refusal that offered the merge
   */
  async add(target: Account, identity: Identity, send: Send = this.settle): Promise<{ answer: Answer; taken: Answer | undefined }> {
    const { bearer, body } = await this.additionOf(target, identity);
    const answer = await send(ADD, body, bearer);
    if (codeOf(answer) !== '409 sign_in_taken') return { answer, taken: undefined };
    const { confirm } = answer.body.error;
    return { answer: await send(ADD, { ...body, confirm }, bearer), taken: answer };
  }

  /** Adds a sign-in to an account, or merges its account, until that is done. */
  async link(target: Account, identity: Identity): Promise<void> {
    const other = identity.account;
    const ended = other === target ? [] : this.sessionsOf(other);
    let wasTaken = false;
    for (let tries = 0; tries < MOST_TRIES; tries++, await pause(AGAIN_MS * Math.random())) {
      const { answer, taken } = await this.add(target, identity);
      wasTaken ||= taken !== undefined;
      if (taken !== undefined && (other === undefined || other === target))
        this.differs('sign-ins that opened two accounts', taken.body.error);
      if (taken !== undefined && taken.body.error.holds.balanceCoins !== other!.coins)
        this.count('balances that differ from the book', { account: other!.id, coins: other!.coins, told: taken.body.error.holds });
      // A try without an answer has used the nonce up, or Redis lost it in a failover.
      if (codeOf(answer) === '401 bad_token') continue;
      if (answer.status !== 200) this.differs('answers that the model does not expect', { add: identity.subject, answer: answer.body });
      if (other !== undefined && other !== target && !wasTaken)
        this.differs('sign-ins that were added although they had an account', { person: identity.subject, account: other.id });
      this.hasJoined(target, identity);
      return this.areEnded(ended);
    }
    this.differs('requests that never succeeded', { add: identity.subject });
  }

  /** Notes that a sign-in, with its account if it had one, joined another account. */
  hasJoined(target: Account, identity: Identity): void {
    const other = identity.account;
    if (other === target) return;
    for (const each of other === undefined ? [identity] : this.of(other)) [each.account, each.session] = [target, undefined];
    if (other !== undefined) target.join(other);
  }

  sessionsOf(account: Account | undefined): string[] {
    return account === undefined ? [] : this.of(account).flatMap(({ session }) => session ?? []);
  }

  /** Compares that sessions open nothing any more. */
  async areEnded(sessions: readonly string[]): Promise<void> {
    for (const session of sessions) {
      const answer = await this.settle('/v1/balance', undefined, session);
      if (answer.status === 200) this.count('sessions that outlived their sign-in', { opened: answer.body });
    }
  }
}
