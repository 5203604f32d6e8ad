import { randomBytes } from 'node:crypto';
import { appendFileSync } from 'node:fs';
import { Agent, request as httpRequest, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { gunzipSync } from 'node:zlib';
import { Cluster, Redis } from 'ioredis';
import { pino } from 'pino';
import { afterAll, expect, inject } from 'vitest';
import { z } from 'zod';
import { api } from './api.ts';
import { operatorApi } from '../src/operator/endpoints.ts';
import { consoleApi } from '../src/operator/page/endpoints.ts';
import { parseSessionKeys, type SessionKey } from '../src/config.ts';
import { JSON_MEDIA_TYPE } from '../src/web/documents/operation.ts';
import { clusterSeedsOf, isClusterUrl } from '../src/redis/cluster-url.ts';
import type { RedisLocation } from '../src/redis/connect.ts';
import type { DataMemory } from '../src/redis/data/known-data.ts';
import { GoogleStore } from '../src/stores/google/google-store.ts';
import type { GoogleSettings } from '../src/stores/google/settings.ts';
import type { AppStore, StoreOptions } from '../src/stores/store.ts';
import { declaredErrors, KEY_CODES, type Endpoint } from '../src/server/http/endpoint.ts';
import { monotonic as processClock } from '../src/server/monotonic.ts';
import { startService, type Service } from '../src/service.ts';
import { SMALLEST_USER } from './smallest-user.ts';
import type { PrivateRedisFigures } from '../src/serving/options.ts';
import type { Holding } from '../src/accounts/holdings.ts';
import type { Services } from '../src/declare.ts';
import { DATABASES, testConfig } from './environment.ts';

/** A service started for one test file, on a free port, with a clock that the test moves. */
export interface TestService extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  readonly service: Service;
  /** Moves the service's clock forwards. Redis keeps its own clock, so TTLs do not move. */
  advance(milliseconds: number): void;
  /** Moves the wall clock forwards, or back with a negative number, as an operator may. The monotonic clock does not change. */
  setClock(milliseconds: number): void;
  now(): number;
  get(path: string, options?: RequestOptions): Promise<TestReply>;
  post(path: string, body?: unknown, options?: RequestOptions): Promise<TestReply>;
}

export interface RequestOptions {
  /** Cookies to send: `name=value`, or Set-Cookie values of an earlier reply. */
  cookies?: string | string[];
  /** A session's token, for the header Authorization. */
  bearer?: string;
  headers?: Record<string, string>;
  method?: string;
}

export interface TestReply {
  readonly status: number;
  readonly headers: Headers;
  // `any`, because each test compares the body with its own value.
  // oxlint-disable-next-line no-explicit-any
  readonly body: any;
  /** `name=value` of each Set-Cookie header. */
  readonly cookies: string[];
  readonly setCookies: string[];
}

export const testKeys: SessionKey[] = parseSessionKeys(`test:${Buffer.alloc(32, 7).toString('base64url')}`);

export interface StartOptions {
  /** Settings as environment variables. RATE_LIMIT defaults to off, and so do the log of slow requests and the check of the Host. */
  settings?: Record<string, string>;
  redis?: RedisLocation;
  sessionKeys?: SessionKey[];
  /** Receives the log lines. Without it the log is silent. */
  logLines?: string[];
  /** Replaces the sandbox by the test's own Google. */
  storeSettings?: GoogleSettings;
  /** Replaces the sandbox by the test's own app store. */
  store?: (parts: StoreOptions) => AppStore;
  /** Replaces the holdings of `holdings.ts`. */
  holdings?: readonly Holding[];
  /** Default: the service forgets the id of its data when it ends. */
  dataMemory?: DataMemory;
  /** The process of a private Redis, as the service watches it. */
  privateRedis?: PrivateRedisFigures;
  /** Milliseconds by which the clock of the service's machine is ahead of Redis's. The service then has Redis's clock, which no test moves. */
  clockAheadMs?: number;
  /** Milliseconds by which Redis's clock is ahead for the scripts of this service. */
  redisAheadMs?: number;
  /** The time of a request. Default: so long that no request of a busy machine ends with 503. */
  redisDeadlineMs?: number;
  /** The clock moves only by `advance`. Otherwise a slow machine would refill rate limits during a test. */
  stoppedClock?: boolean;
}

/** Trusts no client of the tests. With a trusted proxy the service serves requests with every Host, so that tests may send any. */
const ANOTHER_MACHINE = '192.0.2.1';

export async function start({
  settings = {},
  redis,
  sessionKeys = testKeys,
  logLines,
  storeSettings,
  store = storeSettings && ((parts) => new GoogleStore({ ...parts, settings: () => storeSettings })),
  dataMemory,
  privateRedis,
  holdings,
  redisAheadMs,
  clockAheadMs,
  redisDeadlineMs = 30_000,
  stoppedClock = false,
}: StartOptions = {}): Promise<TestService> {
  let [offset, setBy] = [0, 0];
  const [startedAt, startedTick] = [Date.now(), processClock()];
  const now = (): number => (stoppedClock ? startedAt : Date.now()) + offset + setBy;
  const monotonic = (): number => (stoppedClock ? startedTick : processClock()) + offset;
  const config = testConfig({ PORT: '0', RATE_LIMIT: 'off', SLOW_REQUEST_MS: '0', TRUSTED_PROXIES: ANOTHER_MACHINE, ...settings });
  const log =
    logLines === undefined ? pino({ level: 'silent' }) : pino({ level: 'debug' }, { write: (line: string) => void logLines.push(line) });
  const location = redis ?? sharedRedis();
  const service = await startService(config, {
    redis: location,
    sessionKeys,
    log,
    ...(clockAheadMs === undefined ? { now } : { wallClock: () => Date.now() + clockAheadMs }),
    monotonic,
    ...(store === undefined ? {} : { store }),
    ...(dataMemory === undefined ? {} : { dataMemory }),
    ...(privateRedis === undefined ? {} : { privateRedis }),
    ...(holdings === undefined ? {} : { holdings }),
    ...(redisAheadMs === undefined ? {} : { redisAheadMs }),
    redisDeadlineMs,
    checksTags: true,
  });
  // Tests read and change data as they like, as a user with all rights.
  const client =
    'url' in location && isClusterUrl(location.url)
      ? clusterClient(location.url)
      : redis === undefined
        ? new Redis(ownDatabase(), { lazyConnect: true })
        : undefined;
  const url = `http://127.0.0.1:${service.port}`;
  if (redis === undefined) await whole(service);
  return {
    url,
    port: service.port,
    service: client === undefined ? service : { ...service, redis: client },
    now,
    advance: (milliseconds) => void (offset += milliseconds),
    setClock: (milliseconds) => void (setBy += milliseconds),
    get: (path, options) => request(url, path, { method: 'GET', ...options }),
    post: (path, body, options) =>
      request(url, path, { method: 'POST', ...options }, body === undefined ? undefined : JSON.stringify(body)),
    // 0 ms: the test has received all its replies, so no request is in flight.
    async [Symbol.asyncDispose]() {
      await service.drain(0);
      client?.disconnect();
    },
  };
}

/** Awaits something that all tests of the calling file use, and ends it after the last one: `const service = await forFile(start())`. */
export async function forFile<T extends AsyncDisposable>(made: Promise<T>): Promise<T> {
  const resource = await made;
  afterAll(() => resource[Symbol.asyncDispose]());
  return resource;
}

/**
 * A service listens some seconds after its start at the latest, also without a connection to Redis or the secret of its ledgers. On a busy
 * machine the connections take longer, as do the marks that the first service on a Cluster writes into each slot, and the first requests
 * would be 503. If a test keeps the service from becoming ready, this resolves after READY_MS.
 */
async function whole({ readiness }: Service): Promise<void> {
  const giveUpAt = performance.now() + READY_MS;
  const isWhole = async (): Promise<boolean> => {
    const { ok, degraded } = await readiness();
    return ok && degraded === undefined;
  };
  while (!(await isWhole()) && performance.now() < giveUpAt) await pause(50);
}

/** Less than a test has in the project `cluster`. */
const READY_MS = 25_000;

/** Whether the test file runs in the project `cluster`. */
export const isOnCluster = (): boolean => inject('redisClusters') !== undefined;

/**
 * URL of the Cluster of this test process, in the project `cluster`. Files that run at the same time must not share one, as with
 * `ownDatabase`.
 */
export function ownCluster(): string | undefined {
  const clusters = inject('redisClusters');
  if (clusters === undefined) return undefined;
  const url = clusters.urls[poolId() - 1];
  if (url === undefined) throw new Error(`test process ${poolId()} has no Cluster: ${clusters.urls.length} were started`);
  appendFileSync(clusters.usedBy, `${expect.getState().testPath}\n`);
  return url;
}

/** A client for the shared Redis. Of a Cluster it sends each command to the primary of its key. */
export function sharedClient(): Redis {
  const url = ownCluster();
  return url === undefined ? new Redis(ownDatabase()) : clusterClient(url);
}

/** A client with the commands of a connection to one Redis. */
function clusterClient(url: string): Redis {
  const { seeds, options } = clusterSeedsOf(url);
  const client = new Cluster([...seeds], { redisOptions: options });
  // ioredis asks one node only.
  const keys = async (pattern: string) => (await Promise.all(client.nodes('master').map((node) => node.keys(pattern)))).flat();
  return Object.assign(client, { keys }) as unknown as Redis;
}

/** The Redis that the files of this test process share. */
function sharedRedis(): RedisLocation {
  return { url: ownCluster() ?? asSmallestUser(ownDatabase()) };
}

/** Services use the shared Redis as a user with the fewest rights. So a command that `needed-rights.ts` does not list fails a test. */
function asSmallestUser(address: string): string {
  return `${address}&username=${SMALLEST_USER.name}${databaseNumber()}&password=${SMALLEST_USER.password}`;
}

/**
 * The database of this test process, in the Redis that all test files share. Files that run at the same time must not share queues: for
 * a service whose clock is ahead, the leases of other files' rooms would have ended.
 */
export function ownDatabase(): string {
  return `${inject('redisSocket')}?db=${databaseNumber()}`;
}

/** The name of a channel in this database. */
export const channelHere = (channel: string): string => `${databaseNumber()}:${channel}`;

function databaseNumber(): number {
  return poolId() % DATABASES;
}

/** Number of this test process. Those that run at the same time have different numbers. */
const poolId = (): number => Number(process.env['VITEST_POOL_ID'] ?? 0);

/** Sends a request and checks the reply against the endpoint's declaration: the shape of a success, the code of an error. */
export async function request(url: string, path: string, options: RequestOptions, text?: string): Promise<TestReply> {
  const cookies = [options.cookies ?? []].flat().map((cookie) => cookie.split(';')[0]!);
  const { status, headers, raw } = await send(url + path, options.method ?? 'GET', text, {
    ...(options.method === 'POST' ? { 'content-type': 'application/json' } : {}),
    ...(cookies.length > 0 ? { cookie: cookies.join('; ') } : {}),
    ...(options.bearer === undefined ? {} : { authorization: `Bearer ${options.bearer}` }),
    ...options.headers,
  });
  const isJson = JSON_MEDIA_TYPE.test(headers.get('content-type') ?? '');
  const reply = {
    status,
    headers,
    body: isJson && raw !== '' ? JSON.parse(raw) : raw,
    setCookies: headers.getSetCookie(),
    cookies: headers.getSetCookie().map((cookie) => cookie.split(';')[0]!),
  };
  checkAgainstDeclaration(options, path, reply);
  return reply;
}

/** Closes an idle connection before the service does so after 10 s. */
const agent = new Agent({ keepAlive: true, timeout: 4000 });

/** The headers that `fetch` of Node.js sends. */
const OF_FETCH = {
  accept: '*/*',
  'accept-language': '*',
  'sec-fetch-mode': 'cors',
  'user-agent': 'node',
  'accept-encoding': 'gzip, deflate',
};

/**
 * Uses half the CPU time of `fetch`: the tests send some hundred thousand requests.
 * @throws TypeError if the connection breaks, as `fetch` does
 */
async function send(
  address: string,
  method: string,
  text: string | undefined,
  headers: Record<string, string>,
): Promise<{ status: number; headers: Headers; raw: string }> {
  const lowerCased = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
  const parts: Buffer[] = [];
  let response: IncomingMessage;
  try {
    response = await new Promise<IncomingMessage>((resolve, reject) => {
      const sent = httpRequest(address, { method, agent, headers: { ...OF_FETCH, ...lowerCased } }, resolve);
      sent.on('error', reject);
      sent.end(text);
    });
    for await (const part of response) parts.push(part as Buffer);
  } catch (error) {
    throw new TypeError('fetch failed', { cause: error });
  }
  const received = new Headers();
  for (let at = 0; at < response.rawHeaders.length; at += 2) received.append(response.rawHeaders[at]!, response.rawHeaders[at + 1]!);
  const bytes = Buffer.concat(parts);
  const isZipped = received.get('content-encoding') === 'gzip' && bytes.length > 0;
  return { status: response.statusCode!, headers: received, raw: (isZipped ? gunzipSync(bytes) : bytes).toString() };
}

const errorBody = z.strictObject({
  ok: z.literal(false),
  error: z.looseObject({ code: z.string(), message: z.string() }),
  requestId: z.string(),
});

function checkAgainstDeclaration({ method = 'GET', bearer = '' }: RequestOptions, path: string, reply: TestReply): void {
  expect(reply.headers.get('x-request-id')).toMatch(/^[\w.-]{1,128}$/);
  const endpoint = endpointAt(method, path);
  if (reply.status >= 400) {
    const { error } = errorBody.parse(reply.body);
    if (endpoint !== undefined)
      // Any endpoint may refuse a server key.
      expect(
        [...declaredErrors(endpoint), ...(bearer.startsWith('coinop_sk_') ? KEY_CODES : [])],
        `${method} ${endpoint.path} does not declare ${error.code}`,
      ).toContain(error.code);
    note(endpoint, error.code);
  } else if (endpoint !== undefined && reply.status === 200 && method !== 'HEAD') {
    const isPage = endpoint.pageUnless !== undefined && path.split('?')[1] !== endpoint.pageUnless;
    const mediaType = isPage ? 'text/html; charset=utf-8' : (endpoint.mediaType ?? 'application/json');
    expect([mediaType, ...(endpoint.otherMediaTypes ?? [])]).toContain(reply.headers.get('content-type'));
    if (isPage || !JSON_MEDIA_TYPE.test(mediaType)) return;
    // A document such as openapi.json has no `ok`. Every other body has `ok` and no undeclared field.
    if (endpoint.mediaType !== undefined) endpoint.reply.parse(reply.body);
    else successBodyOf(endpoint).parse(reply.body);
  }
}

/** Cached for each endpoint: zod compiles a shape at its first use, which takes longer than the request. */
const successBodies = new WeakMap<Endpoint<Services>, z.ZodType>();

function successBodyOf(endpoint: Endpoint<Services>): z.ZodType {
  const known = successBodies.get(endpoint);
  if (known !== undefined) return known;
  const made = z.strictObject({ ok: z.literal(true), ...endpoint.reply.shape });
  successBodies.set(endpoint, made);
  return made;
}

/** All endpoints, each path with its pattern. As in uWS, a fixed segment has priority over a parameter. */
const routes = [...api, ...operatorApi, ...consoleApi()]
  .flatMap((endpoint: Endpoint<Services>) =>
    [endpoint.path, ...(endpoint.aliases ?? [])].map((template) => ({
      endpoint,
      pattern: new RegExp(`^${endpoint.method} ${template.replace(/\{\w+\}/g, '[^/]+')}$`),
      parameters: endpoint.path.split('{').length,
    })),
  )
  .toSorted((one, other) => one.parameters - other.parameters);

export function endpointAt(method: string, path: string): Endpoint<Services> | undefined {
  const asked = `${method} ${path.split('?')[0]}`;
  return routes.find(({ pattern }) => pattern.test(asked))?.endpoint;
}

/** Records a provoked error code for test/closing/errors.test.ts. */
export function note(endpoint: Endpoint<Services> | undefined, code: string): void {
  appendFileSync(
    join(inject('notesDir'), `provoked-${process.pid}`),
    `${endpoint === undefined ? '-' : `${endpoint.method} ${endpoint.path}`} ${code}\n`,
  );
}

/** A random id. All test files share one Redis, so ids must not repeat. */
export function freshId(prefix = 'install'): string {
  return `${prefix}-${randomBytes(9).toString('base64url')}`;
}

/** Signs an install in and returns its session cookie as `name=value`. */
export async function signIn(service: TestService, installId: string): Promise<string> {
  const { status, cookies } = await service.post('/v1/login', { installId });
  expect(status).toBe(200);
  return cookies.find((cookie) => cookie.startsWith('svc_session='))!;
}

/** Signs an install in and returns the token of its session. */
export async function tokenFor(service: TestService, installId: string): Promise<string> {
  return (await signIn(service, installId)).slice('svc_session='.length);
}

/** Status and error code of a reply, such as `409 nonce_used`, or `200`. */
export const codeOf = ({ status, body }: TestReply): string => (status === 200 ? '200' : `${status} ${body.error.code}`);

export const sleep = (milliseconds: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, milliseconds));
