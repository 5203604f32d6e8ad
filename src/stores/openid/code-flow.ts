import type { Logger } from 'pino';
import { z } from 'zod';
import { refuse, Refusal } from '../../errors.ts';
import { boundedFetch, Fault, parseJson, type BoundedRequest, type TextAnswer } from '../bounded-fetch.ts';
import { appStoreUnavailable } from '../store-refusals.ts';
import { DISCOVERED_MS, discover, IssuerKeys, type Discovered } from './issuer-keys.ts';
import { isFetchable } from './provider.ts';
import { verifyIdToken, type IdTokenClaims } from './verify-id-token.ts';

/** An issuer with which operators sign in, and the ids of this service as its client. */
export interface CodeFlowClient {
  readonly issuer: string;
  readonly clientId: string;
  /** Undefined: this is a public client, which only PKCE protects. */
  readonly clientSecret?: string | undefined;
  /** The claim that lists the groups of a person. */
  readonly claim: string;
  /** Undefined: the scope is `openid`, with `profile` and `groups` if the issuer has them. */
  readonly scope?: string | undefined;
}

export interface CodeFlowOptions {
  readonly log: Logger;
  /** The time by this machine's clock, with which the times in tokens are compared. */
  readonly wallClock: () => number;
  readonly monotonic: () => number;
  /** Whether the URL of the issuer may begin with http if it is on this machine, as outside production. */
  readonly allowsLoopbackHttp: boolean;
}

/** A person, as the issuer describes the person now. */
export interface Member {
  /** The issuer's own id of the person, which it never gives to another person. */
  readonly subject: string;
  /** For people. The issuer may let a person choose it. */
  readonly name: string;
  readonly groups: readonly string[];
  /** When the person last typed a password or the like, in milliseconds since 1970. Undefined: the issuer does not tell. */
  readonly authenticatedAt: number | undefined;
  /** The data with which the service can ask the issuer again (`again`). A secret. '' if it cannot. */
  readonly renewal: string;
}

/** The longest wait for one answer of the issuer, in milliseconds. */
const FETCH_TIMEOUT_MS = 3000;

/** The most seconds after its `iat` for which an ID token is accepted. It was made for the code that was just exchanged. */
const MAX_AGE_SECONDS = 600;

/** The most characters of a `renewal`, because Redis keeps one for each session. */
const MOST_RENEWAL = 8192;

/** A code, a state or the like in a URL. Issuers choose the form of a code. */
export const AddressText = z.string().regex(/^[\x20-\x7e]{1,2048}$/);

const Tokens = z.object({ id_token: z.string().optional(), access_token: z.string().optional(), refresh_token: z.string().optional() });

const UserInfo = z.looseObject({ sub: z.string() });

interface Renewal {
  readonly refresh?: string | undefined;
  readonly access?: string | undefined;
}

/**
 * Sign-in by the authorization code flow of OpenID Connect Core 1.0, section 3.1, with PKCE (RFC 7636). The caller has to check `state` and
 * the browser.
 */
export class CodeFlow {
  readonly #client: CodeFlowClient;
  readonly #options: CodeFlowOptions;
  readonly #keys: IssuerKeys;
  /** The discovery document, or the fetch of it that is under way. However many people sign in at once, only one request is sent. */
  #discovered: { readonly document: Promise<Discovered>; readonly until: number } | undefined;

  constructor(client: CodeFlowClient, options: CodeFlowOptions) {
    this.#client = client;
    this.#options = options;
    this.#keys = new IssuerKeys({ issuer: client.issuer, allowsLoopbackHttp: options.allowsLoopbackHttp }, options);
  }

  /**
   * The address of the issuer's page where a person signs in.
   * @param isFresh the person has to prove the identity once more, even if signed in at the issuer
   * @throws Refusal `app_store_unavailable`
   */
  async address(asked: {
    readonly redirectUri: string;
    readonly state: string;
    readonly nonce: string;
    /** SHA-256 of the verifier, in base64url. */
    readonly challenge: string;
    readonly isFresh: boolean;
  }): Promise<string> {
    const { clientId, scope } = this.#client;
    const { scopes_supported: known = [] } = await this.#discover();
    const url = new URL(await this.#endpoint('authorization_endpoint'));
    const fields = {
      response_type: 'code',
      client_id: clientId,
      redirect_uri: asked.redirectUri,
      scope: scope ?? ['openid', ...['profile', 'groups'].filter((name) => known.includes(name))].join(' '),
      state: asked.state,
      nonce: asked.nonce,
      code_challenge: asked.challenge,
      code_challenge_method: 'S256',
      ...(asked.isFresh ? { prompt: 'login', max_age: '0' } : {}),
    };
    for (const [name, value] of Object.entries(fields)) url.searchParams.set(name, value);
    return url.href;
  }

  /**
   * Exchanges a code for the person who signed in.
   * @throws Refusal `bad_token` if the issuer does not take the code, or its token does not verify; `app_store_unavailable`
   */
  async finish(given: {
    readonly code: string;
    readonly redirectUri: string;
    readonly verifier: string;
    readonly nonce: string;
  }): Promise<Member> {
    const form = { grant_type: 'authorization_code', code: given.code, redirect_uri: given.redirectUri, code_verifier: given.verifier };
    const tokens = await this.#tokens(form);
    if (tokens?.id_token === undefined) throw this.#unfit('no ID token for the code');
    const claims = await this.#verified(tokens.id_token);
    if (claims.nonce !== given.nonce) throw this.#unfit('another nonce');
    const groups = await this.#groupsOf(claims, tokens.access_token);
    if (groups === undefined) throw this.#unfit('the access token is refused');
    return {
      subject: claims.sub,
      name: nameIn(claims),
      groups,
      authenticatedAt: typeof claims['auth_time'] === 'number' ? claims['auth_time'] * 1000 : undefined,
      renewal: renewalOf({ refresh: tokens.refresh_token, access: tokens.access_token }),
    };
  }

  /**
   * Asks the issuer once more for the groups of a person.
   * @returns undefined if the issuer does not vouch for the person any more, or cannot be asked
   * @throws Refusal `app_store_unavailable`
   */
  async again(subject: string, renewal: string): Promise<Pick<Member, 'groups' | 'renewal'> | undefined> {
    const { refresh, access } = renewal === '' ? {} : (JSON.parse(renewal) as Renewal);
    if (refresh === undefined) {
      const groups = access === undefined ? undefined : await this.#groupsOf({ sub: subject }, access);
      return groups && { groups, renewal };
    }
    const tokens = await this.#tokens({ grant_type: 'refresh_token', refresh_token: refresh });
    if (tokens === undefined) return undefined;
    // The answer may have no ID token (OpenID Connect Core 1.0, section 12.2).
    const claims = tokens.id_token === undefined ? { sub: subject } : await this.#verified(tokens.id_token);
    if (claims.sub !== subject) throw this.#unfit('another subject');
    const groups = await this.#groupsOf(claims, tokens.access_token);
    return groups && { groups, renewal: renewalOf({ refresh: tokens.refresh_token ?? refresh }) };
  }

  /** The groups in the claims, or else those at the issuer's userinfo endpoint. Undefined: the issuer refuses the access token. */
  async #groupsOf(claims: { readonly sub: string; readonly [claim: string]: unknown }, access: string | undefined) {
    const { claim } = this.#client;
    if (claim in claims) return groupsIn(claims[claim]);
    const { userinfo_endpoint: url } = await this.#discover();
    if (access === undefined || url === undefined) return [];
    const answer = await this.#fetch(await this.#endpoint('userinfo_endpoint'), { headers: { authorization: `Bearer ${access}` } });
    if (answer.status === 401 || answer.status === 403) return undefined;
    if (answer.status !== 200) throw this.#away(`userinfo: status ${answer.status}`);
    const { data: person } = UserInfo.safeParse(this.#parsed(answer.text));
    // Without this check the answer could be about another person (OpenID Connect Core 1.0, section 5.3.2).
    if (person?.sub !== claims.sub) throw this.#unfit('userinfo of another subject');
    return groupsIn(person[claim]);
  }

  /** The answer of the token endpoint. Undefined: the endpoint refuses the code or the refresh token. */
  async #tokens(form: Readonly<Record<string, string>>): Promise<z.output<typeof Tokens> | undefined> {
    const { clientId, clientSecret } = this.#client;
    const { token_endpoint_auth_methods_supported: methods = ['client_secret_basic'] } = await this.#discover();
    const isBasic = clientSecret !== undefined && methods.includes('client_secret_basic');
    const fields = { ...form, ...(isBasic ? {} : { client_id: clientId, ...(clientSecret && { client_secret: clientSecret }) }) };
    const answer = await this.#fetch(await this.#endpoint('token_endpoint'), {
      method: 'POST',
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        accept: 'application/json',
        // RFC 6749, section 2.3.1
        ...(isBasic && {
          authorization: `Basic ${Buffer.from(`${encodeURIComponent(clientId)}:${encodeURIComponent(clientSecret)}`).toString('base64')}`,
        }),
      },
      body: String(new URLSearchParams(fields)),
    });
    if (answer.status >= 500 || answer.status === 429) throw this.#away(`token endpoint: status ${answer.status}`);
    const { data } = answer.status === 200 ? Tokens.safeParse(this.#parsed(answer.text)) : {};
    if (data === undefined) this.#options.log.warn({ ...this.#named, status: answer.status }, 'an issuer of the console gave no tokens');
    return data;
  }

  #verified(token: string): Promise<IdTokenClaims> {
    const { issuer, clientId } = this.#client;
    const { log, wallClock } = this.#options;
    const rules = {
      issuers: [issuer],
      audiences: [clientId],
      algorithms: ['RS256', 'ES256'],
      maxAgeSeconds: MAX_AGE_SECONDS,
      keys: this.#keys,
      now: wallClock(),
    };
    return verifyIdToken(token, rules, 'code', log);
  }

  #discover(): Promise<Discovered> {
    const { monotonic, allowsLoopbackHttp } = this.#options;
    if (this.#discovered === undefined || monotonic() >= this.#discovered.until) {
      const document = discover(this.#client.issuer, allowsLoopbackHttp).catch((error: unknown) => {
        this.#discovered = undefined;
        throw this.#away((error as Error).message);
      });
      this.#discovered = { document, until: monotonic() + DISCOVERED_MS };
    }
    return this.#discovered.document;
  }

  async #endpoint(name: 'authorization_endpoint' | 'token_endpoint' | 'userinfo_endpoint'): Promise<string> {
    const url = (await this.#discover())[name];
    if (url === undefined || !isFetchable(url, this.#options.allowsLoopbackHttp)) throw this.#away(`no ${name} with https`);
    return url;
  }

  #fetch(url: string, request: BoundedRequest): Promise<TextAnswer> {
    return boundedFetch(url, request, FETCH_TIMEOUT_MS).catch((error: unknown) => {
      throw this.#away((error as Error).message);
    });
  }

  #parsed(text: string): unknown {
    try {
      return parseJson(text);
    } catch (error) {
      if (error instanceof Fault) throw this.#away(error.message);
      throw error;
    }
  }

  get #named(): { readonly issuer: string } {
    return { issuer: this.#client.issuer };
  }

  #away(fault: string): Refusal {
    this.#options.log.warn({ ...this.#named, fault }, 'an issuer of the console does not answer');
    return appStoreUnavailable(1000);
  }

  #unfit(reason: string): Refusal<'bad_token'> {
    this.#options.log.warn({ ...this.#named, reason }, 'a sign-in to the console does not verify');
    return refuse('bad_token', { field: 'code' });
  }
}

function groupsIn(value: unknown): string[] {
  const all = Array.isArray(value) ? value : [value];
  return all.filter((group): group is string => typeof group === 'string');
}

function nameIn(claims: IdTokenClaims): string {
  const found = ['name', 'preferred_username', 'email'].map((claim) => claims[claim]).find((name) => typeof name === 'string');
  const plain = String(found ?? claims.sub)
    .replaceAll(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, '')
    .trim()
    .slice(0, 64);
  return plain === '' ? claims.sub : plain;
}

/** An access token is kept only if there is no refresh token, which would live longer. */
function renewalOf({ refresh, access }: Renewal): string {
  const text = JSON.stringify(refresh === undefined ? { access } : { refresh });
  return text.length > MOST_RENEWAL ? '' : text;
}
