import { generateKeyPairSync } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AppleIssuer, BUNDLE_ID, signedBy } from './issuer.ts';

type Said = Record<string, unknown>;

export interface Asked {
  readonly method: string;
  /** With the environment in front: `/production/inApps/v1/transactions/2…`. */
  readonly path: string;
  readonly authorization: string;
  readonly body: Said;
}

type Misbehaviour = (response: ServerResponse, asked: Asked) => void;

export const ISSUER_ID = '57246542-96fe-1a63-e053-0824d011072a';
export const KEY_ID = '2X9R4HXF34';

/** The App Store Server API as a test wants it, with certificates and an API key of its own. */
export class FakeApple implements AsyncDisposable {
  readonly chain = new AppleIssuer();
  readonly signing = this.chain.chain();
  readonly apiKey = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  /** What Apple says of each transaction, by environment and id: `production/2…`. */
  readonly transactions = new Map<string, Said>();
  /** What Apple says of the renewal of each subscription, by its original transaction. */
  readonly renewals = new Map<string, Said>();
  /** The notifications of the history, by environment and type: `production/REFUND`. */
  readonly history = new Map<string, string[]>();
  readonly asked: Asked[] = [];
  /** The time at which it signs its answers. */
  now: () => number = Date.now;
  /** Replaces the normal response. */
  misbehaviour: Misbehaviour | undefined;
  readonly #folder = mkdtempSync(join(tmpdir(), 'coinop-fake-apple-'));
  readonly #server = createServer((request, response) => void this.#answer(request, response));

  static async start(): Promise<FakeApple> {
    const fake = new FakeApple();
    await new Promise<void>((listening) => fake.#server.listen(0, '127.0.0.1', listening));
    return fake;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** The settings of a service that trusts this Apple. */
  get settings(): Record<string, string> {
    const [APPLE_ROOTS_FILE, APPLE_KEY_FILE] = [join(this.#folder, 'root.cer'), join(this.#folder, 'key.p8')];
    writeFileSync(APPLE_ROOTS_FILE, this.chain.der);
    writeFileSync(APPLE_KEY_FILE, this.apiKey.privateKey.export({ type: 'pkcs8', format: 'pem' }));
    return {
      STORE: 'apple',
      APPLE_BUNDLE_IDS: BUNDLE_ID,
      APPLE_ROOTS_FILE,
      APPLE_ISSUER_ID: ISSUER_ID,
      APPLE_KEY_ID: KEY_ID,
      APPLE_KEY_FILE,
      APPLE_API_URL: `${this.url}/production`,
      APPLE_SANDBOX_API_URL: `${this.url}/sandbox/`,
    };
  }

  sign(said: Said): string {
    return signedBy(this.signing, said);
  }

  /** Lets the API know a transaction. */
  knows(said: Said): void {
    this.transactions.set(`${String(said['environment']).toLowerCase()}/${said['transactionId']}`, said);
  }

  /** How often a path was asked that contains this text. */
  count(text: string): number {
    return this.asked.filter(({ path }) => path.includes(text)).length;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let text = '';
    for await (const chunk of request) text += chunk;
    const { pathname, searchParams } = new URL(request.url!, this.url);
    const asked = {
      method: request.method!,
      path: request.url!,
      authorization: request.headers.authorization ?? '',
      body: text.startsWith('{') ? (JSON.parse(text) as Said) : {},
    };
    this.asked.push(asked);
    if (this.misbehaviour !== undefined) return this.misbehaviour(response, asked);
    const [, environment, , , resource, id, action] = pathname.split('/');
    const said = this.transactions.get(`${environment}/${id}`);
    const again = (of: Said): string => this.sign({ ...of, signedDate: this.now() });
    if (resource === 'notifications') {
      const all = this.history.get(`${environment}/${asked.body['notificationType']}`) ?? [];
      const from = Number(searchParams.get('paginationToken') ?? 0);
      const hasMore = from + 20 < all.length;
      const notificationHistory = all.slice(from, from + 20).map((signedPayload) => ({ signedPayload }));
      return reply(response, 200, { notificationHistory, hasMore, ...(hasMore ? { paginationToken: String(from + 20) } : {}) });
    }
    if (pathname.includes('/transactions/consumption/')) return void response.writeHead(202).end();
    if (said === undefined) return appleError(404, 4040010)(response, asked);
    if (action === 'finish') return void response.writeHead(200).end();
    if (resource === 'transactions') return reply(response, 200, { signedTransactionInfo: again(said) });
    const originalTransactionId = String(said['originalTransactionId']);
    const renewal = this.renewals.get(originalTransactionId) ?? {
      originalTransactionId,
      environment: said['environment'],
      autoRenewStatus: 1,
    };
    const last = { originalTransactionId, status: 1, signedTransactionInfo: again(said), signedRenewalInfo: again(renewal) };
    return reply(response, 200, { data: [{ lastTransactions: [last] }] });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    rmSync(this.#folder, { recursive: true });
    this.#server.closeAllConnections();
    await new Promise((closed) => this.#server.close(closed));
  }
}

function reply(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

export function appleError(status: number, errorCode: number, headers: Record<string, string> = {}): Misbehaviour {
  return (response) => {
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
    reply(response, status, { errorCode, errorMessage: 'x' });
  };
}
