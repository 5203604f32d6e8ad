import { hash, randomBytes } from 'node:crypto';
import type { Config } from '../../config.ts';
import { Refusal } from '../../errors.ts';
import { defineScript } from '../../redis/script.ts';
import type { ScriptRunner } from '../../redis/script-runner.ts';
import type { ConsoleSessions, Vouching } from '../../server/identity/console-sessions.ts';
import { cookieValue } from '../../server/identity/cookies.ts';
import { People, personIdOf } from '../../server/identity/people.ts';
import type { Role } from '../../server/identity/roles.ts';
import type { SealedTexts } from '../../server/identity/sealed-texts.ts';
import type { TokenSigner } from '../../server/identity/signed-token.ts';
import { CodeFlow, type CodeFlowOptions, type Member } from '../../stores/openid/code-flow.ts';
import { roleOf } from './console-providers.ts';

/** The most milliseconds that a person may take to sign in at the provider. */
const FLOW_MS = 600_000;

/** Milliseconds by which the clock of a provider may be behind. */
const TOLERANCE_MS = 60_000;

/** Why a sign-in ended without a session. The page has a sentence for each. */
export type Why = 'stale' | 'denied' | 'away' | 'bad_token' | 'no_group' | 'other_person' | 'not_fresh' | 'ended';

/** The keys of used states, for the audit. */
export const STATE_KEYS = /^\{console-state:[\w-]{43}\}$/;

/** A state can be used only once. So whoever finds the callback URL later, in a history or a log, cannot use it again. */
const useState = defineScript({
  name: 'operator/use-console-state',
  lua: `if redis.call('SET', state, '1', 'NX', 'PX', kept_ms) then return {'first'} end
    return {'used'}`,
  keys: ['state'],
  args: ['keptMs'],
  answers: ['first', 'used'],
  durable: true,
});

/** The sign-in that a browser has begun, as its cookie describes it. */
interface Begun {
  readonly provider: string;
  /** `enter`: a session. `confirm`: a fresh proof of the identity, for the session that the browser has. */
  readonly purpose: 'enter' | 'confirm';
  /** The operator and the session that the browser had at the beginning. '' without one. */
  readonly operator: string;
  readonly session: string;
  readonly secret: string;
  readonly at: number;
}

export interface ConsoleSignInOptions extends CodeFlowOptions {
  readonly rows: Config['CONSOLE_SIGN_IN'];
  readonly scripts: ScriptRunner;
  readonly signer: TokenSigner;
  readonly sealed: SealedTexts;
  /** The time by Redis's clock, in milliseconds since 1970. */
  readonly now: () => number;
}

/**
 * The sign-in of people to the console, at the providers of CONSOLE_SIGN_IN.
 *
 * A sign-in begins with a random secret, which the browser gets in a signed cookie. State, nonce and PKCE's verifier are hashes of this
 * secret. So the service stores nothing about a sign-in that has only begun, a leaked address reveals neither nonce nor verifier, and the
 * provider's answer counts only in the same browser. Each provider sends browsers back to an address of its own. So no provider can answer
 * in place of another (RFC 9700, section 4.4).
 */
export class ConsoleSignIn implements Vouching {
  readonly people: People;
  readonly #options: ConsoleSignInOptions;
  readonly #flows: ReadonlyMap<string, CodeFlow>;

  constructor(options: ConsoleSignInOptions) {
    this.#options = options;
    this.people = new People(options.scripts);
    this.#flows = new Map(options.rows.map((row) => [row.name, new CodeFlow(row, options)]));
  }

  get providers(): readonly string[] {
    return [...this.#flows.keys()];
  }

  /**
   * Begins a sign-in. `confirm` confirms the session that the browser has.
   * @returns the address of the provider, and the cookie of the browser. Undefined: there is no such provider
   * @throws Refusal `app_store_unavailable`
   */
  async begin(asked: {
    readonly provider: string;
    readonly confirm: boolean;
    readonly origin: string;
    readonly secure: boolean;
    readonly held: { readonly operator: string; readonly id: string } | undefined;
  }): Promise<{ readonly address: string; readonly cookie: string } | undefined> {
    const { provider, confirm, origin, secure, held } = asked;
    const flow = this.#flows.get(provider);
    if (flow === undefined) return undefined;
    const secret = randomBytes(32).toString('base64url');
    const address = await flow.address({
      redirectUri: redirectUri(origin, provider),
      state: derived('state', secret),
      nonce: derived('nonce', secret),
      challenge: hash('sha256', derived('verifier', secret), 'base64url'),
      isFresh: confirm,
    });
    const issuedAt = this.#options.now();
    const subject = [provider, confirm ? 'confirm' : 'enter', held?.operator ?? '', held?.id ?? ''].join(' ');
    const token = this.#options.signer.sign('console_sign_in', { subject, id: secret, issuedAt, expiresAt: issuedAt + FLOW_MS });
    return { address, cookie: flowCookie(token, secure) };
  }

  /**
   * Ends a sign-in: starts a session, or confirms the session that the browser had.
   * @returns the token of the session; 'confirmed'; or why not
   */
  async finish(
    given: {
      readonly provider: string;
      readonly query: { readonly code?: string | undefined; readonly state?: string | undefined; readonly iss?: string | undefined };
      readonly cookies: string;
      readonly origin: string;
      readonly secure: boolean;
    },
    sessions: ConsoleSessions,
  ): Promise<{ readonly token: string } | 'confirmed' | Why> {
    const { provider, query, origin } = given;
    const begun = this.#begun(given.cookies, given.secure);
    const [row, flow] = [this.#rowOf(provider), this.#flows.get(provider)];
    if (row === undefined || flow === undefined || begun?.provider !== provider) return 'stale';
    const state = derived('state', begun.secret);
    // RFC 9207: a provider may name itself in its answer; the name must be right.
    if (query.state !== state || (query.iss !== undefined && query.iss !== row.issuer)) return 'stale';
    const [word] = await this.#options.scripts.run(useState, { state: `{console-state:${state}}` }, { keptMs: 2 * FLOW_MS });
    if (word === 'used') return 'stale';
    if (query.code === undefined) return 'denied';
    try {
      const member = await flow.finish({
        code: query.code,
        redirectUri: redirectUri(origin, provider),
        verifier: derived('verifier', begun.secret),
        nonce: derived('nonce', begun.secret),
      });
      return await this.#admit(begun, row, member, sessions);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      if (error.code === 'app_store_unavailable') return 'away';
      if (error.code === 'bad_token') return 'bad_token';
      throw error;
    }
  }

  async #admit(begun: Begun, row: Row, member: Member, sessions: ConsoleSessions) {
    const person = personIdOf(row.issuer, member.subject);
    const role = await this.#note(person, row, member);
    if (role === undefined) return 'no_group';
    if (begun.purpose === 'confirm') {
      if (begun.operator !== person) return 'other_person';
      // A provider that ignores `max_age=0` would confirm anybody who sits at the machine.
      if (member.authenticatedAt === undefined || member.authenticatedAt < begun.at - TOLERANCE_MS) return 'not_fresh';
      return (await sessions.confirm(person, { id: begun.session })) instanceof Refusal ? 'ended' : 'confirmed';
    }
    const { token } = await sessions.startOf(person, role, member.authenticatedAt, this.#held(person, row.name, member));
    if (begun.session !== '') await sessions.end(begun.operator, { id: begun.session });
    return { token };
  }

  async again(person: string, held: string): Promise<{ readonly role: Role | undefined; readonly held: string } | undefined> {
    const text = this.#options.sealed.open(held, person);
    // SESSION_KEYS or CONSOLE_SIGN_IN have changed.
    if (text === undefined) return undefined;
    const { provider, subject, name, renewal } = JSON.parse(text) as Kept;
    const [row, flow] = [this.#rowOf(provider), this.#flows.get(provider)];
    if (row === undefined || flow === undefined || personIdOf(row.issuer, subject) !== person) return undefined;
    const answer = await flow.again(subject, renewal);
    const role = await this.#note(person, row, { subject, name, groups: answer?.groups ?? [] });
    return answer && { role, held: this.#held(person, provider, { subject, name, renewal: answer.renewal }) };
  }

  /** Notes the role that the groups give. A person without a role is recorded only if the person had a role before. */
  async #note(person: string, row: Row, { subject, name, groups }: Pick<Member, 'subject' | 'name' | 'groups'>): Promise<Role | undefined> {
    const role = roleOf(groups, row);
    if (role !== undefined || (await this.people.find(person)) !== undefined)
      await this.people.note(person, { provider: row.name, subject, name, role, at: this.#options.now() });
    return role;
  }

  #held(person: string, provider: string, { subject, name, renewal }: Pick<Member, 'subject' | 'name' | 'renewal'>): string {
    return this.#options.sealed.seal(JSON.stringify({ provider, subject, name, renewal } satisfies Kept), person);
  }

  #begun(cookies: string, secure: boolean): Begun | undefined {
    const { signer, now } = this.#options;
    const claims = signer.verify('console_sign_in', cookieValue(cookies, flowCookieName(secure)) ?? '', now());
    if (claims === undefined) return undefined;
    const [provider = '', purpose, operator = '', session = ''] = claims.subject.split(' ');
    return {
      provider,
      purpose: purpose === 'confirm' ? 'confirm' : 'enter',
      operator,
      session,
      secret: claims.id,
      at: claims.issuedAt,
    };
  }

  #rowOf(name: string): Row | undefined {
    return this.#options.rows.find((row) => row.name === name);
  }
}

type Row = Config['CONSOLE_SIGN_IN'][number];

/** The data that a session keeps, encrypted, to ask its provider again. */
interface Kept {
  readonly provider: string;
  readonly subject: string;
  readonly name: string;
  readonly renewal: string;
}

/**
 * A value of a sign-in that only the holder of the sign-in's secret can know before it is sent. 43 characters, as PKCE's verifier needs.
 */
const derived = (what: 'state' | 'nonce' | 'verifier', secret: string): string =>
  hash('sha256', `coinop:console:${what}:${secret}`, 'base64url');

const redirectUri = (origin: string, provider: string): string => `${origin}/console/signed-in/${provider}`;

const flowCookieName = (secure: boolean): string => (secure ? '__Host-svc_console_flow' : 'svc_console_flow');

/**
 * The Set-Cookie value for a sign-in that has begun; '' deletes the cookie. SameSite is Lax, because the browser comes back from another
 * site.
 */
export function flowCookie(token: string, secure: boolean): string {
  const life = token === '' ? 0 : FLOW_MS / 1000;
  return `${flowCookieName(secure)}=${token}; Path=/; Max-Age=${life}; HttpOnly; SameSite=Lax${secure ? '; Secure' : ''}`;
}
