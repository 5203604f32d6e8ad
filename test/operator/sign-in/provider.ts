import { hash, randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { jwkOf, rsaKey, signed } from '../../stores/google/issuer.ts';

export const CLIENT_ID = 'coinop-console';
export const CLIENT_SECRET = 'a secret/with:signs%';

/** A person at the provider. */
interface Account {
  readonly sub: string;
  name: string;
  groups: string[] | undefined;
  /** Whether the provider still renews the person's tokens. */
  isOpen: boolean;
}

interface Grant {
  readonly account: Account;
  readonly nonce: string;
  readonly redirectUri: string;
  readonly challenge: string;
  readonly authTime: number;
}

const key = rsaKey('console-key');

/**
 * An OpenID provider on loopback with the authorization code flow (OpenID Connect Core 1.0; RFC 7636): it checks the client, the redirect URI,
 * PKCE and that a code is used once. `current` is the person who sits at the browser.
 */
export class Provider implements AsyncDisposable {
  current: Account | undefined;
  /** When the current person typed the password, in seconds since 1970. */
  authTime: number;
  /** Requests by path. */
  readonly asked: string[] = [];
  /** Answers in place of the provider, by path. */
  faults: Readonly<Record<string, (response: ServerResponse) => void>> = {};
  /** More claims of ID tokens. */
  claims: Record<string, unknown> = {};
  /** Where the groups are: in ID tokens, or at userinfo. */
  groupsAt: 'token' | 'userinfo' = 'token';
  givesRefreshTokens = true;
  /** Ignores max_age and prompt, as some providers do. */
  ignoresPrompt = false;
  readonly now: () => number;
  readonly #codes = new Map<string, Grant>();
  readonly #tokens = new Map<string, Account>();
  readonly #server = createServer((request, response) => void this.#answer(request, response));

  static async start(now: () => number = Date.now): Promise<Provider> {
    const provider = new Provider(now);
    await new Promise<void>((listening) => provider.#server.listen(0, '127.0.0.1', listening));
    return provider;
  }

  private constructor(now: () => number) {
    this.now = now;
    this.authTime = Math.floor(now() / 1000);
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Makes a person, who then sits at the browser. */
  person(sub: string, ...groups: string[]): Account {
    this.current = { sub, name: `${sub} of Acme`, groups, isOpen: true };
    this.authTime = Math.floor(this.now() / 1000);
    return this.current;
  }

  /** Follows an address of the provider as the browser of the current person. @returns the address to which it sends the browser back */
  async visit(address: string): Promise<string> {
    const response = await fetch(address, { redirect: 'manual' });
    return response.headers.get('location') ?? '';
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url!, this.url);
    this.asked.push(url.pathname);
    let body = '';
    for await (const chunk of request) body += String(chunk);
    const fault = this.faults[url.pathname];
    if (fault !== undefined) return fault(response);
    const send = (status: number, json: object): void =>
      void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(json));
    switch (url.pathname) {
      case '/.well-known/openid-configuration':
        return send(200, {
          issuer: this.url,
          jwks_uri: `${this.url}/keys`,
          authorization_endpoint: `${this.url}/authorize`,
          token_endpoint: `${this.url}/token`,
          userinfo_endpoint: `${this.url}/userinfo`,
          scopes_supported: ['openid', 'groups'],
        });
      case '/keys':
        return send(200, { keys: [jwkOf(key)] });
      case '/authorize':
        return this.#authorize(url.searchParams, response);
      case '/token':
        return send(...this.#token(request, new URLSearchParams(body)));
      case '/userinfo': {
        const account = this.#tokens.get((request.headers.authorization ?? '').replace('Bearer ', ''));
        if (account?.isOpen !== true) return send(401, {});
        return send(200, { sub: account.sub, name: account.name, groups: account.groups });
      }
      default:
        return send(404, {});
    }
  }

  #authorize(query: URLSearchParams, response: ServerResponse): void {
    const redirectUri = query.get('redirect_uri')!;
    const isFit =
      query.get('client_id') === CLIENT_ID && query.get('response_type') === 'code' && query.get('code_challenge_method') === 'S256';
    if (!isFit || !/^http:\/\/(localhost|127\.0\.0\.1):\d+\/console\/signed-in\/[\w-]+$/.test(redirectUri))
      return void response.writeHead(400).end();
    const back = new URL(redirectUri);
    back.searchParams.set('state', query.get('state')!);
    if (this.current === undefined) back.searchParams.set('error', 'access_denied');
    else {
      if (query.get('prompt') === 'login' && !this.ignoresPrompt) this.authTime = Math.floor(this.now() / 1000);
      const code = randomBytes(12).toString('hex');
      const grant = {
        account: this.current,
        nonce: query.get('nonce')!,
        redirectUri,
        challenge: query.get('code_challenge')!,
        authTime: this.authTime,
      };
      this.#codes.set(code, grant);
      back.searchParams.set('code', code);
    }
    response.writeHead(302, { location: back.href }).end();
  }

  #token({ headers }: IncomingMessage, form: URLSearchParams): [number, object] {
    const basic = Buffer.from((headers.authorization ?? '').replace('Basic ', ''), 'base64').toString();
    if (basic !== `${encodeURIComponent(CLIENT_ID)}:${encodeURIComponent(CLIENT_SECRET)}`) return [401, { error: 'invalid_client' }];
    if (form.get('grant_type') === 'refresh_token') {
      const refresh = form.get('refresh_token')!;
      const account = this.#tokens.get(refresh);
      // A refresh token is given once.
      this.#tokens.delete(refresh);
      if (account?.isOpen !== true) return [400, { error: 'invalid_grant' }];
      return [200, this.#tokensOf(account, {})];
    }
    const grant = this.#codes.get(form.get('code')!);
    this.#codes.delete(form.get('code')!);
    const isFit =
      grant?.redirectUri === form.get('redirect_uri') && grant.challenge === hash('sha256', form.get('code_verifier') ?? '', 'base64url');
    if (!isFit) return [400, { error: 'invalid_grant' }];
    return [200, this.#tokensOf(grant!.account, { nonce: grant!.nonce, auth_time: grant!.authTime })];
  }

  #tokensOf(account: Account, more: object): object {
    const iat = Math.floor(this.now() / 1000);
    const groups = this.groupsAt === 'token' ? { groups: account.groups } : {};
    const payload = {
      iss: this.url,
      aud: CLIENT_ID,
      sub: account.sub,
      name: account.name,
      iat,
      exp: iat + 300,
      ...groups,
      ...more,
      ...this.claims,
    };
    const [access, refresh] = [randomBytes(12).toString('hex'), randomBytes(12).toString('hex')];
    this.#tokens.set(access, account);
    if (this.givesRefreshTokens) this.#tokens.set(refresh, account);
    return {
      id_token: signed({ alg: 'RS256', kid: key.kid }, payload, key.privateKey),
      access_token: access,
      ...(this.givesRefreshTokens ? { refresh_token: refresh } : {}),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((closed) => this.#server.close(closed));
  }
}
