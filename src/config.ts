import { createPublicKey } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { isAbsolute, resolve } from 'node:path';
import { BlockList, isIP } from 'node:net';
import { z } from 'zod';

/**
 * The settings. Only this file reads settings from the environment. `readConfig` checks all of them at the start: a bad setting stops the
 * start with a message that names the setting.
 */

const wholeNumber = (minimum: number, maximum: number) =>
  z
    .string()
    .regex(/^\d+$/, 'must be a whole number')
    .transform(Number)
    .pipe(z.number().min(minimum, `must be at least ${minimum}`).max(maximum, `must be at most ${maximum}`));

const offOr = <Value extends z.ZodType>(value: Value) => z.union([z.literal('off').transform(() => undefined), value]).optional();

const list = z.string().transform((text) =>
  text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== ''),
);

const HostName = z.string().regex(/^[\w.:%-]+$/, 'must be an address or a host name such as 0.0.0.0');

const Origins = list.pipe(z.array(z.string().refine(isOrigin, 'must be origins such as https://play.example, without wildcards')));

/** Whether a text is an origin as browsers write it. Origins are compared as text, so another spelling would never match. */
function isOrigin(text: string): boolean {
  return URL.canParse(text) && new URL(text).origin === text && !text.includes('*');
}

const Proxies = list.pipe(z.array(z.string().refine(isAddressOrRange, 'must be addresses or ranges such as 10.0.0.0/8')));

function isAddressOrRange(text: string): boolean {
  const [address = '', bits, ...rest] = text.split('/');
  const version = isIP(address);
  if (version === 0 || rest.length > 0) return false;
  return bits === undefined || (/^\d+$/.test(bits) && Number(bits) <= (version === 4 ? 32 : 128));
}

function isP256PublicKey(der: Buffer): boolean {
  try {
    return createPublicKey({ key: der, format: 'der', type: 'spki' }).asymmetricKeyDetails?.namedCurve === 'prime256v1';
  } catch {
    return false;
  }
}

const REDIS_URL_RULE =
  'must be an address such as redis://user:password@host:6379/0 or redis-cluster://host:7001,host:7002, or with rediss';

/**
 * Why a URL of Redis cannot be used. The Redis client would fail on the URL or misread it, and its errors would not name the setting. The
 * answer must not quote the URL, which may contain a password. It may quote the names of the URL's options.
 */
function problemOfRedisUrl(text: string): string | undefined {
  const [, rest] = /^rediss?(?:-cluster)?:\/\/(.*)$/s.exec(text) ?? [];
  if (rest === undefined) return REDIS_URL_RULE;
  // A password with an unencoded / or # would end the host there. The client would then connect to a host with the user's name.
  const credentials = rest.slice(0, Math.max(0, rest.lastIndexOf('@')));
  const isCluster = /^rediss?-cluster:/.test(text);
  if (/[/?#]|%(?![0-9A-Fa-f]{2})/.test(credentials) || !isDecodable(credentials)) return ENCODE_RULE;
  if (isCluster && credentials.includes('@')) return ENCODE_RULE;
  const options = /\?([^#]*)/.exec(rest)?.[1];
  if (options !== undefined) return optionsProblem([...new URLSearchParams(options).keys()]);
  if (rest.includes('#')) return ENCODE_RULE;
  const isWhole = isCluster ? isWholeClusterUrl(text) : URL.canParse(text) && /^(\/\d*)?$/.test(new URL(text).pathname);
  return isWhole ? undefined : REDIS_URL_RULE;
}

const ENCODE_RULE = 'must have its user and its password percent-encoded: / as %2F, # as %23, ? as %3F, @ as %40, % as %25';

function optionsProblem(names: readonly string[]): string {
  const named = names.filter((name) => /^\w{1,32}$/.test(name)).join(', ');
  return `must have nothing behind a ?: coinop supports no options there${named === '' ? '' : ` (${named})`}. The path names the database: redis://host:6379/1`;
}

/**
 * The form of a Cluster's URL: `redis-cluster://user:password@host:port,host:port`, with optional credentials and ports.
 * `redis/cluster-url.ts` parses it.
 */
const CLUSTER_URL =
  /^rediss?-cluster:\/\/([^@/?#]*@)?(\[[0-9A-Fa-f:.]+\]|[\w.-]+)(:\d{1,5})?(,(\[[0-9A-Fa-f:.]+\]|[\w.-]+)(:\d{1,5})?)*\/?$/;

/** Whether a Cluster's URL has the right form, and ports that exist. `isClusterUrl` of `redis/cluster-url.ts` checks only the scheme. */
function isWholeClusterUrl(text: string): boolean {
  const ports = text.replace(/^.*@/, '').matchAll(/:(\d+)(?=,|\/?$)/g);
  return CLUSTER_URL.test(text) && [...ports].every(([, port]) => Number(port) > 0 && Number(port) < 65_536);
}

function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}

/**
 * Whether a text is a base URL. It may have no query, because the service appends paths, and no password, because the service shows the URL
 * to clients.
 */
function isBaseUrl(text: string): boolean {
  return /^https?:\/\/[^/?#@]+(\/[^?#]*)?$/i.test(text) && URL.canParse(text);
}

/** Schemes that a link on a page must not have, because they run code or open no app. */
const NO_APP_SCHEMES = /^(?:about|blob|data|file|filesystem|ftp|http|javascript|vbscript|view-source|ws|wss):/i;

/** Whether a text is a universal link, or a link with an app's own scheme, with `{token}` somewhere after the host. */
function isAppLink(text: string): boolean {
  return /^[a-z][a-z0-9+.-]*:\/\/[^/?#\s{}]+[/?#]\S*\{token\}\S*$/i.test(text) && URL.canParse(text) && !NO_APP_SCHEMES.test(text);
}

/** The form of a provider's name, which clients and people see. */
const PROVIDER_NAME = /^[a-z0-9][a-z0-9_-]{0,31}$/;

/** OpenID providers: `name=issuer=client,client;…`. `stores/openid/provider-table.ts` checks the content of the rows. */
const OpenIdProviders = z.string().transform((text, { issues }) => {
  const rows = text.split(';').flatMap((row) => (row.trim() === '' ? [] : [row.trim()]));
  return rows.map((row) => {
    const [, name = '', issuer = '', clients = ''] = /^([^=]*)=([^=]*)=(.*)$/.exec(row) ?? [];
    const clientIds = clients.split(',').flatMap((client) => (client.trim() === '' ? [] : [client.trim()]));
    if (!PROVIDER_NAME.test(name.trim()) || clientIds.length === 0 || clientIds.some((client) => !/^[\x21-\x7e]{1,255}$/.test(client)))
      issues.push({
        code: 'custom',
        message: 'must be a list such as acme=https://id.acme.example=client-1,client-2;other=…',
        input: text,
      });
    return { name: name.trim(), issuer: issuer.trim(), clientIds };
  });
});

/** An issuer with which operators sign in to the console. */
const ConsoleProvider = z.strictObject({
  name: z.string().regex(PROVIDER_NAME),
  issuer: z.string(),
  clientId: z.string().regex(/^[\x21-\x7e]{1,255}$/),
  /** Undefined: this is a public client, which only PKCE protects. */
  clientSecret: z.string().min(1).max(1024).optional(),
  /** The role of the members of each group. */
  groups: z.record(z.string().min(1).max(255), z.string()),
  /** The claim that lists a person's groups. */
  claim: z.string().min(1).max(255).default('groups'),
  /** The scopes that the console asks for. Undefined: the scope is `openid`, with `profile` and `groups` if the issuer has them. */
  scope: z
    .string()
    .regex(/^openid( [\x21-\x7e]{1,100}){0,10}$/)
    .optional(),
});

export type ConsoleProvider = z.output<typeof ConsoleProvider>;

/** OpenID providers of the console, as JSON. `operator/sign-in/console-providers.ts` checks the content of the rows. */
const ConsoleProviders = z.string().transform((text, { issues }): ConsoleProvider[] => {
  const { data, error } = z.array(ConsoleProvider).max(10).safeParse(jsonIn(text));
  // The message must not quote the text, which contains secrets.
  const [{ path } = { path: [] }] = error?.issues ?? [];
  const at = path.length === 0 ? '' : `: see ${path.join('.')}`;
  if (error !== undefined)
    issues.push({
      code: 'custom',
      message: `must be JSON such as [{"name":"acme","issuer":"https://id.acme.example","clientId":"console","clientSecret":"…","groups":{"coinop-support":"support"}}]${at}`,
      input: '',
    });
  return data ?? [];
});

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/**
 * Session keys: `kid:base64url,…`. The first key signs, and every key verifies. So an operator can change keys while existing sessions stay
 * valid.
 */
const SessionKeys = list.pipe(
  z
    .array(
      z
        .string()
        .regex(
          /^[A-Za-z0-9_.-]{1,32}:[A-Za-z0-9_-]{43,}$/,
          'must be kid:base64url with at least 32 random bytes, or several of these, separated by commas',
        )
        .transform((text) => {
          const colon = text.indexOf(':');
          return { kid: text.slice(0, colon), secret: Buffer.from(text.slice(colon + 1), 'base64url') };
        }),
    )
    .min(1, 'must hold at least one key')
    .refine((keys) => new Set(keys.map((key) => key.kid)).size === keys.length, 'must not name one kid twice'),
);

export type SessionKey = z.output<typeof SessionKeys>[number];

/**
 * Parses one or more keys in the format of SESSION_KEYS.
 * @throws ZodError
 */
export function parseSessionKeys(text: string): SessionKey[] {
  return SessionKeys.parse(text);
}

const PackageNames = list.pipe(
  z.array(z.string().regex(/^[A-Za-z]\w*(\.[A-Za-z]\w*)+$/, 'must be package names such as com.example.game')),
);

const AppleIds = list.pipe(z.array(z.string().regex(/^[A-Za-z0-9.-]{1,255}$/, 'must be bundle ids or services ids')));

/** An id from App Store Connect: the id of an issuer, a key or a team. */
const AppleKeyId = z.string().regex(/^[\w-]{1,64}$/, 'must be the id that App Store Connect shows');

/** Base64 with padding, the form in which the Play Console shows its keys. */
const base64Key = (rule: string, fits: (bytes: Buffer) => boolean) =>
  z
    .string()
    .regex(/^[A-Za-z0-9+/]+={0,2}$/, rule)
    .transform((text) => Buffer.from(text, 'base64'))
    .refine(fits, rule);

const ProvenOperations = list.pipe(z.array(z.enum(['credit', 'highscores'], 'must be credit, highscores or both')));

/**
 * All settings. The schema has the ranges and fixed defaults of the settings. Each docstring gives the unit, the effect, and a default if
 * it depends on other settings.
 */
const Environment = z.object({
  /** The mode of the service. `production`: cookies are Secure, SESSION_KEYS and PUBLIC_URL are required, STORE defaults to google. */
  NODE_ENV: z.enum(['development', 'test', 'production'], 'must be development, test or production').default('development'),
  /** The TCP port on which the service listens. 0: the system picks a free port, and the start line shows it. */
  PORT: wholeNumber(0, 65_535).default(3000),
  /** The address on which the service listens. */
  HOST: HostName.default('127.0.0.1'),
  /**
   * A separate TCP port that serves `/metrics` of all workers. 0: the system picks a free port, and the log names it. Default: PORT serves
   * `/metrics`.
   */
  METRICS_PORT: wholeNumber(0, 65_535).optional(),
  /** The address on which METRICS_PORT listens. */
  METRICS_HOST: HostName.default('127.0.0.1'),
  /**
   * The base URL that people use. Pairing links begin with it, and its origin is allowed. With https, cookies are Secure. Default: taken
   * from the Host header of each request. Required in production.
   */
  PUBLIC_URL: z
    .string()
    .refine(isBaseUrl, 'must be an address such as https://play.example, without a query')
    .transform((url) => url.replace(/\/+$/, ''))
    .optional(),
  /** A link that opens a pairing in the app, with `{token}` in place of the pairing's token. The page of a pairing link offers it. */
  APP_LINK: z
    .string()
    .refine(isAppLink, 'must be an address with {token}, such as https://play.example/open?pair={token} or mygame://pair/{token}')
    .optional(),
  /**
   * Whether the playground is open. `on`: the page at `/` has the playground, and the page of a pairing link may make a guest. Default:
   * `on`; `off` in production.
   */
  PLAYGROUND: z.enum(['on', 'off'], 'must be on or off').optional(),
  /** The URL of a Redis 7.0 or newer, or of a Redis Cluster. Default: the service starts a private Redis. */
  REDIS_URL: z
    .string()
    .check(({ value, issues }) => {
      const message = problemOfRedisUrl(value);
      if (message !== undefined) issues.push({ code: 'custom', message, input: value });
    })
    .optional(),
  /**
   * The number of replicas that must have a coin operation, move, purchase or sign-out before the service acknowledges it. 0: the service
   * does not wait for replicas.
   */
  REDIS_WAIT_REPLICAS: wholeNumber(0, 5).default(0),
  /** The folder with the data of the private Redis and the session key for development. A relative path starts at the working directory. */
  DATA_DIR: z.string().min(1).default('./data'),
  /**
   * The id by which an operator accepts the data in Redis in place of lost data. The service and `npm run admin -- data accept` print the
   * id. The id fits no other data, so the setting may stay set.
   */
  ACCEPT_DATA: z
    .string()
    .regex(/^[A-Za-z0-9_-]{22}$/, 'must be the id of data that the service or npm run admin -- data accept printed')
    .optional(),
  /** The number of worker processes. They share the port. */
  WORKERS: wholeNumber(1, 64).default(1),
  /**
   * The keys that sign cookies and session tokens. Default: one key, which the first start makes and keeps in DATA_DIR. Required in
   * production.
   */
  SESSION_KEYS: SessionKeys.optional(),
  /** `on`: any client may send a session's token to `POST /v1/sessions/verify` and gets the id of its account. */
  SESSION_VERIFY: z.enum(['on', 'off'], 'must be on or off').default('off'),
  /**
   * Origins, besides the service's own, whose pages may send cookies and read answers (CORS). In development on a loopback address, pages
   * from all origins of this machine may do so too.
   */
  ALLOWED_ORIGINS: Origins.default([]),
  /**
   * SameSite of the service's cookies. `none`: browsers also send them from pages of other sites, which ALLOWED_ORIGINS must name too. The
   * cookies are then Secure and Partitioned, in development as well.
   */
  COOKIE_SAME_SITE: z.enum(['lax', 'none'], 'must be lax or none').default('lax'),
  /** Addresses of proxies whose headers X-Forwarded-For and X-Forwarded-Proto the service trusts. */
  TRUSTED_PROXIES: Proxies.default([]),
  /** Whether client addresses have limits. `off`: only SOCKETS_PER_ADDRESS applies. For load tests. */
  RATE_LIMIT: z.enum(['on', 'off']).default('on'),
  /** The most requests a second from one client address (an IPv6 /64 counts as one), in each worker. */
  RATE_LIMIT_PER_SECOND: wholeNumber(1, 1_000_000).default(50),
  /** The most requests that one client address may send at once, in each worker. */
  RATE_LIMIT_BURST: wholeNumber(1, 1_000_000).default(200),
  /**
   * The most creations a minute from one client address, over all workers. Creations are: a login, a resolve, a room (also by a rematch), a
   * pairing, a nonce, a trial, a subscription purchase, a store sign-in, a sandbox issue, the first write of an account, and the first
   * score of a board.
   */
  RATE_LIMIT_CREATIONS_PER_MINUTE: wholeNumber(1, 1_000_000).default(60),
  /** The most wrong room codes, pairing tokens and purchase tokens a minute from one client address, over all workers. */
  RATE_LIMIT_MISSES_PER_MINUTE: wholeNumber(1, 1_000_000).default(30),
  /** The most acts a second over the live channels of one client address, in each worker. Twice as many may come at once. */
  RATE_LIMIT_ACTS_PER_SECOND: wholeNumber(1, 1_000_000).default(300),
  /** The most requests a second with one server key, in each worker. Twice as many may come at once. */
  RATE_LIMIT_SERVER_KEY_PER_SECOND: wholeNumber(1, 1_000_000).default(1000),
  /**
   * The most events a second from one client address that other limits do not count: new connections, requests for /health and the sandbox
   * store, and refused requests. Twice as many may come at once.
   */
  RATE_LIMIT_UNCOUNTED_PER_SECOND: wholeNumber(1, 1_000_000).default(1000),
  /** Whether the service has the endpoints below `/v1/admin`, for server keys with the scope `admin`. */
  ADMIN_API: z.enum(['on', 'off'], 'must be on or off').default('off'),
  /** Whether the service has the page for operators at /console, which needs ADMIN_API=on. Default: `on`; `off` in production. */
  CONSOLE: z.enum(['on', 'off'], 'must be on or off').optional(),
  /** The most coins that an operator of the role `support` may add or remove by one correction. */
  SUPPORT_ADJUST_COINS: wholeNumber(0, 1_000_000_000_000).default(1000),
  /** The most coins that all corrections of one operator of the role `support` may add and remove together in a UTC day. */
  SUPPORT_DAILY_COINS: wholeNumber(0, 1_000_000_000_000).default(10_000),
  /** The most coins of all corrections and grants of one operator of the role `economist` together in a UTC day. Default: any. */
  ECONOMIST_DAILY_COINS: offOr(wholeNumber(0, 1_000_000_000_000)),
  /**
   * Corrections and grants above this number of coins need the consent of a second person. The coins that one operator, or all operators
   * for one account, gave or took alone within 24 hours count together. The tool is exempt, because its user has access to Redis. Default:
   * no second person is needed.
   */
  TWO_PERSON_COINS: offOr(wholeNumber(0, 1_000_000_000_000)),
  /** The OpenID providers with which people sign in to the console, as JSON. The page then takes no server keys. Default: it takes them. */
  CONSOLE_SIGN_IN: ConsoleProviders.default([]),
  /**
   * For the operator's tool: the operator's server key. The key decides what the tool may do, and the operators' log names the key.
   */
  OPERATOR_KEY: z
    .string()
    .regex(/^coinop_sk_[a-z0-9]{8}_[0-9A-Za-z]{32}$/, 'must be a server key: coinop_sk_…')
    .optional(),
  /**
   * The most requests in flight in each process, counted once their bodies are complete. The service refuses further requests with
   * `overloaded`.
   */
  MAX_IN_FLIGHT: wholeNumber(1, 100_000).default(2000),
  /** Hours between two audits of all data in the background. Only one of the processes on this Redis audits at a time. 0: no audits. */
  AUDIT_EVERY_HOURS: wholeNumber(0, 8760).default(0),
  /** The lowest level of log lines that the service writes. */
  LOG_LEVEL: z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']).default('info'),
  /** The requests that get a log line, besides failed and slow requests: none, those answered with 400 and above, or all. */
  LOG_REQUESTS: z.enum(['off', 'refused', 'all'], 'must be off, refused or all').default('off'),
  /** The milliseconds of work after which a request is logged as slow. 0: never. */
  SLOW_REQUEST_MS: wholeNumber(0, 3_600_000).default(250),
  /** The path of the JSON file with the catalogue. The service reads the file again when it changes. Default: the sample catalogue. */
  CATALOGUE_FILE: z.string().min(1).optional(),
  /** The path of a file with words that players' names must not contain. */
  NAME_WORDS_FILE: z.string().min(1).optional(),
  /** The games that get a board: all (`open`), or only games of the catalogue. Default: `open`; `catalogue` with CATALOGUE_FILE. */
  BOARDS: z.enum(['open', 'catalogue'], 'must be open or catalogue').optional(),
  /** Who may credit coins. `server`: only a server key with the scope `coins` may call `coins/credit` and `coins/purchase`. */
  COIN_AUTHORITY: z.enum(['client', 'server'], 'must be client or server').default('client'),
  /** The most coins that an account may credit itself in a UTC day, credits and purchases together. 0: no cap. Server keys have no cap. */
  CREDIT_DAILY_CAP: wholeNumber(0, 1_000_000_000_000).default(0),
  /** The most ledger entries that one client address may write in a day without a server key, over all workers. 0: no limit. */
  LEDGER_ENTRIES_PER_DAY: wholeNumber(0, 1_000_000_000).default(100_000),
  /** The most bytes of one save, as compact JSON in UTF-8. */
  SAVE_BYTES: wholeNumber(1, 65_536).default(65_536),
  /** The most bytes of saves that one client address may write in a day without a server key, over all workers. 0: no limit. */
  SAVE_BYTES_PER_DAY: wholeNumber(0, 1_000_000_000_000).default(67_108_864),
  /** Number of days after which ledger entries and their idempotency keys are deleted. 0: never. */
  LEDGER_RETENTION_DAYS: wholeNumber(0, 36_500).default(0),
  /** The effect of a refund of coins that are already spent. `debt`: the balance becomes negative. `floor`: the balance stays at 0. */
  REFUNDS: z.enum(['debt', 'floor'], 'must be debt or floor').default('debt'),
  /** Whether changes of accounts become events, which servers read at `GET /v1/events`. */
  EVENTS: z.enum(['on', 'off'], 'must be on or off').default('off'),
  /** Number of days for which the log keeps events. */
  EVENTS_DAYS: wholeNumber(1, 365).default(7),
  /** `on`: the URL of a webhook may begin with `http:`, and may lead to a private address. */
  WEBHOOKS_PRIVATE: z.enum(['on', 'off'], 'must be on or off').default('off'),
  /** Seconds for which a host keeps the role after the host's connection is lost. */
  HOST_GRACE_SECONDS: wholeNumber(1, 3600).default(30),
  /** The most open WebSockets from one client address (IPv6: one /64), over all workers. */
  SOCKETS_PER_ADDRESS: wholeNumber(1, 1_000_000).default(200),
  /**
   * The highest number of open connections from one client address, over all workers. Default: 400, or 2 × SOCKETS_PER_ADDRESS if this is
   * more.
   */
  CONNECTIONS_PER_ADDRESS: wholeNumber(1, 1_000_000).optional(),
  /** The most incomplete request bodies from one client address, in each process. Further bodies are refused as `rate_limited`. */
  BODIES_PER_ADDRESS: wholeNumber(1, 1_000_000).default(32),
  /** The most WebSockets that watch one room, in each process. */
  WATCHERS_PER_ROOM: wholeNumber(1, 1_000_000).default(10_000),
  /** The most channels that may open in a second, in each process. Further channels wait, or their clients are told when to come back. */
  CHANNELS_PER_SECOND: wholeNumber(1, 1_000_000).default(1000),
  /**
   * The most bytes a second that one room pushes to its watchers, in each process. If a room needs more, it skips states. Default: 40 KiB ×
   * SOCKETS_PER_ADDRESS, at least 64 KiB.
   */
  ROOM_BYTES_PER_SECOND: wholeNumber(65_536, 1_000_000_000_000).optional(),
  /** Seconds for which a room lives after its last change. */
  ROOM_TTL_SECONDS: wholeNumber(10, 604_800).default(7200),
  /** Whether a report of a subscription by an app, which nobody has verified, gives access. `ignore`: it does not. */
  SUBSCRIPTION_REPORTS: z.enum(['accept', 'ignore']).default('accept'),
  /** Length of a device's trial, in days. */
  TRIAL_DAYS: wholeNumber(1, 3650).default(7),
  /** The app stores that the service uses: a list, `sandbox` or `off`. Default: `sandbox`; `google` in production. */
  STORE: z
    .string()
    .regex(/^[a-z]+(,[a-z]+)*$/, 'must be google, apple, both, sandbox or off')
    .optional(),
  /**
   * Whether purchases that nobody paid for (of licence testers, or in app review) give coins and access. `capped`: at most
   * TEST_COINS_PER_DAY coins, and access for at most a day. Default: `on`; `off` in production.
   */
  TEST_PURCHASES: z.enum(['on', 'off', 'capped']).optional(),
  /** The most coins that test purchases give an account in a UTC day with TEST_PURCHASES=capped. All accounts together get ten times as many. */
  TEST_COINS_PER_DAY: wholeNumber(1, 1_000_000_000).default(1000),
  /** The seed for the random faults of the sandbox store. Undefined (`off`): the sandbox store has no faults. */
  SANDBOX_CHAOS: z
    .union([z.literal('off').transform(() => undefined), wholeNumber(0, 4_294_967_295)], 'must be off or a whole number, the seed')
    .optional(),
  /** OAuth client ids: users sign in with Google's ID tokens that have one of these audiences. Empty: no ID token signs in. */
  GOOGLE_CLIENT_IDS: list
    .pipe(z.array(z.string().regex(/^[\w-]+\.apps\.googleusercontent\.com$/, 'must be OAuth client ids: ….apps.googleusercontent.com')))
    .default([]),
  /**
   * Bundle ids and services ids: users sign in with Apple's ID tokens that have one of these audiences. Empty: no ID token of Apple's signs
   * in.
   */
  APPLE_CLIENT_IDS: AppleIds.default([]),
  /** Bundle ids of the apps whose purchases in the App Store the service accepts. Empty: it accepts none. */
  APPLE_BUNDLE_IDS: AppleIds.default([]),
  /** The ids of these apps in App Store Connect. Notifications of the App Store must have one of them. Empty: any. */
  APPLE_APP_IDS: list
    .pipe(
      z.array(
        z
          .string()
          .regex(/^[1-9]\d{0,14}$/, 'must be ids of apps such as 1234567890')
          .transform(Number),
      ),
    )
    .default([]),
  /** Path of the file with Apple's root certificates, in PEM or DER. Without the file the service accepts no purchases from Apple. */
  APPLE_ROOTS_FILE: z.string().min(1).optional(),
  /** The key (.p8) of App Store Connect with which the service calls Apple's API: the key's issuer, its id, and its path. */
  APPLE_ISSUER_ID: AppleKeyId.optional(),
  APPLE_KEY_ID: AppleKeyId.optional(),
  APPLE_KEY_FILE: z.string().min(1).optional(),
  /**
   * The key (.p8) of Sign in with Apple with which the service revokes at Apple the sign-in of a deleted account: the team, the key's id,
   * and its path.
   */
  APPLE_TEAM_ID: AppleKeyId.optional(),
  APPLE_SIGN_IN_KEY_ID: AppleKeyId.optional(),
  APPLE_SIGN_IN_KEY_FILE: z.string().min(1).optional(),
  /** `on`: players who want their money back have consented that the service tells Apple whether they got the coins, and spent them. */
  APPLE_CONSUMPTION_CONSENT: z.enum(['on', 'off']).default('off'),
  /** The base URLs of Apple's API, for tests. */
  APPLE_API_URL: z.string().min(1).optional(),
  APPLE_SANDBOX_API_URL: z.string().min(1).optional(),
  /** Further OpenID providers with which players sign in: `name=issuer=client,client;…`. */
  OPENID_PROVIDERS: OpenIdProviders.default([]),
  /** Package names of the apps whose purchases and install proofs the service accepts. Empty: it accepts none. */
  GOOGLE_PACKAGE_NAMES: PackageNames.default([]),
  /** Path of the JSON key file of the service account that calls Google's APIs. Without the file the service accepts no purchases. */
  GOOGLE_SERVICE_ACCOUNT_FILE: z.string().min(1).optional(),
  /** Audience of the Pub/Sub push subscription of real-time developer notifications. */
  GOOGLE_NOTIFICATIONS_AUDIENCE: z.string().min(1).optional(),
  /** The address of the service account that signs the pushes of this subscription. */
  GOOGLE_NOTIFICATIONS_EMAIL: z.email('must be the address of the service account that Pub/Sub signs as').optional(),
  /** The decryption key of classic Play Integrity tokens. If one of the PLAY_INTEGRITY keys is missing, Google decodes the tokens. */
  PLAY_INTEGRITY_DECRYPTION_KEY: base64Key('must be base64 of 32 bytes', (bytes) => bytes.length === 32).optional(),
  /** The verification key of classic Play Integrity tokens. */
  PLAY_INTEGRITY_VERIFICATION_KEY: base64Key('must be base64 of a P-256 public key (DER)', isP256PublicKey).optional(),
  /** Operations for which an account needs a proven install. `credit` includes `coins/purchase`. Calls with a server key need no proof. */
  REQUIRE_INSTALL_PROOF: ProvenOperations.default([]),
});

/**
 * Settings that are secrets, or may contain a secret. Each secret can be read from a file once, at the start. The name of the setting with
 * the file's path ends with `_FILE`.
 */
const SECRETS = [
  'SESSION_KEYS',
  'REDIS_URL',
  'OPERATOR_KEY',
  'CONSOLE_SIGN_IN',
  'PLAY_INTEGRITY_DECRYPTION_KEY',
  'PLAY_INTEGRITY_VERIFICATION_KEY',
] as const;

const fileOf = (name: string): string => `${name}_FILE`;

/** The names of settings whose value is the path of a file with a secret. */
const SECRET_FILES = [...SECRETS.map(fileOf), 'GOOGLE_SERVICE_ACCOUNT_FILE', 'APPLE_KEY_FILE', 'APPLE_SIGN_IN_KEY_FILE'];

/** The paths of files with secrets that an environment names, by setting. The files may not exist. */
export function secretFilesIn(environment: Record<string, string | undefined>): { readonly setting: string; readonly path: string }[] {
  return SECRET_FILES.flatMap((setting) => {
    const path = environment[setting];
    return path === undefined || path === '' ? [] : [{ setting, path }];
  });
}

/** The names of all settings. */
export const settingNames: readonly string[] = [...Object.keys(Environment.shape), ...SECRETS.map(fileOf)];

export interface Config extends z.output<typeof Environment> {
  production: boolean;
  BOARDS: 'open' | 'catalogue';
  CONNECTIONS_PER_ADDRESS: number;
  ROOM_BYTES_PER_SECOND: number;
  STORE: string;
  TEST_PURCHASES: 'on' | 'off' | 'capped';
  PLAYGROUND: 'on' | 'off';
}

/** An error that stops the start. The message is for the operator, one line for each problem. */
export class SettingError extends Error {}

/** Returns the problems of well-formed settings: one line for each problem, which begins with the setting's name. */
export type SettingsCheck = (config: Config) => string[];

/**
 * Reads and checks the settings.
 * @param checks further checks, whose problems are reported together with malformed settings
 * @throws SettingError with a line for each bad setting
 */
export function readConfig(environment: Record<string, string | undefined>, ...checks: SettingsCheck[]): Config {
  const { config, problems } = readSettings(environment, ...checks);
  if (problems.length > 0) throw new SettingError(problems.join('\n'));
  return config;
}

/** Like `readConfig`, but does not throw: a malformed setting gets its default, and `problems` has a line for each bad setting. */
export function readSettings(
  environment: Record<string, string | undefined>,
  ...checks: SettingsCheck[]
): { config: Config; problems: string[] } {
  // An empty value means "not set", because compose files and CI systems write settings in this way.
  const given = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== undefined && value !== ''));
  const malformed = addFromFiles(given);
  for (const { path, message } of Environment.safeParse(given).error?.issues ?? []) {
    const name = String(path[0]);
    if (!malformed.has(name)) malformed.set(name, `${name} ${message}`);
  }
  const config = completed(Environment.parse(Object.fromEntries(Object.entries(given).filter(([name]) => !malformed.has(name)))));
  // In `config` a malformed setting has its default. A problem that names the setting may come only from the default, so it is dropped.
  const isReliable = (problem: string): boolean => !problem.match(/\b[A-Z]+(_[A-Z]+)+\b/g)?.some((name) => malformed.has(name));
  const problems = [
    ...malformed.values(),
    ...[productionProblems, portProblems, consoleProblems, ...checks].flatMap((check) => check(config)).filter(isReliable),
  ];
  return { config, problems };
}

/** Reads the settings whose values are in files. @returns the problems of the files, by setting */
function addFromFiles(given: Record<string, string | undefined>): Map<string, string> {
  const problems = new Map<string, string>();
  for (const name of SECRETS) {
    const path = given[fileOf(name)];
    if (path === undefined) continue;
    if (given[name] !== undefined) problems.set(name, `${name} and ${fileOf(name)} must not both be set`);
    else {
      try {
        const text = readFileSync(path, 'utf8').trim();
        if (text === '') problems.set(name, `${fileOf(name)} names an empty file: ${path}`);
        else given[name] = text;
      } catch (error) {
        problems.set(name, `${fileOf(name)} must be a file that this user can read: ${path} (${(error as NodeJS.ErrnoException).code})`);
      }
    }
  }
  return problems;
}

/** For each socket of SOCKETS_PER_ADDRESS, the default of ROOM_BYTES_PER_SECOND has this many bytes a second: 40 states of 1 KB. */
const ROOM_BYTES_A_SOCKET = 40 * 1024;

function completed(settings: z.output<typeof Environment>): Config {
  const production = settings.NODE_ENV === 'production';
  // In the sandbox store every client can buy for free. So in production the service uses it only with STORE=sandbox.
  const STORE = settings.STORE ?? (production ? 'google' : 'sandbox');
  // The sample catalogue does not list the operator's games, so with BOARDS=catalogue none of them could get a board.
  const BOARDS = settings.BOARDS ?? (settings.CATALOGUE_FILE === undefined ? 'open' : 'catalogue');
  return {
    ...settings,
    production,
    STORE,
    TEST_PURCHASES: settings.TEST_PURCHASES ?? (production ? 'off' : 'on'),
    BOARDS,
    PLAYGROUND: settings.PLAYGROUND ?? (production ? 'off' : 'on'),
    // Each WebSocket is a connection, and its client makes HTTP requests besides.
    CONNECTIONS_PER_ADDRESS: settings.CONNECTIONS_PER_ADDRESS ?? Math.max(400, 2 * settings.SOCKETS_PER_ADDRESS),
    // One address may watch one room with all of its sockets, so the default grows with SOCKETS_PER_ADDRESS.
    ROOM_BYTES_PER_SECOND: settings.ROOM_BYTES_PER_SECOND ?? Math.max(65_536, ROOM_BYTES_A_SOCKET * settings.SOCKETS_PER_ADDRESS),
    DATA_DIR: isAbsolute(settings.DATA_DIR) ? settings.DATA_DIR : resolve(settings.DATA_DIR),
  };
}

/**
 * Whether the console is open. `closed`: the page at /console only says how to open the console, as in development without ADMIN_API.
 * `off`: the page at /console does not exist, as in production unless CONSOLE is `on`.
 */
export function consoleOf({ production, CONSOLE, ADMIN_API }: Config): 'open' | 'closed' | 'off' {
  if (CONSOLE === 'off' || (production && CONSOLE === undefined)) return 'off';
  return ADMIN_API === 'on' ? 'open' : 'closed';
}

/**
 * Whether pages from any port of this machine may call the service. This is so in development on a loopback address. A service for other
 * machines must not trust the loopback origins of its users' machines, because any program on them can serve pages.
 */
export function allowsLoopbackOrigins({ production, HOST }: Pick<Config, 'production' | 'HOST'>): boolean {
  return !production && isLoopback(HOST);
}

/**
 * Whether a host name or address always means this machine.
 * @param host an address, with or without brackets, or a name (RFC 6761, section 6.3)
 */
export function isLoopback(host: string): boolean {
  const address = host.replace(/^\[(.*)\]$/, '$1');
  const version = isIP(address);
  return version === 0 ? /^(?:.+\.)?localhost\.?$/i.test(address) : LOOPBACK.check(address, version === 4 ? 'ipv4' : 'ipv6');
}

/**
 * The loopback addresses: RFC 1122, section 3.2.1.3; RFC 4291, section 2.5.3. The range of IPv4 includes its addresses mapped into IPv6.
 */
const LOOPBACK = new BlockList();
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4');
LOOPBACK.addAddress('::1', 'ipv6');

function portProblems({ PORT, METRICS_PORT }: Config): string[] {
  return METRICS_PORT !== undefined && METRICS_PORT !== 0 && METRICS_PORT === PORT ? ['METRICS_PORT must be another port than PORT'] : [];
}

function consoleProblems({ CONSOLE, ADMIN_API }: Config): string[] {
  return CONSOLE === 'on' && ADMIN_API === 'off' ? ['CONSOLE=on needs ADMIN_API=on: the console shows what /v1/admin gives'] : [];
}

function productionProblems({ production, SESSION_KEYS, PUBLIC_URL }: Config): string[] {
  const problems: string[] = [];
  if (production && SESSION_KEYS === undefined) {
    problems.push(
      'SESSION_KEYS must be set in production, or SESSION_KEYS_FILE: kid:base64url of 32 random bytes, e.g. "a:$(openssl rand -base64 32 | tr +/ -_ | tr -d =)"',
    );
  }
  if (production && PUBLIC_URL === undefined) {
    // Without PUBLIC_URL, the Host header of the request that opens a pairing would decide where the pairing's link leads.
    problems.push('PUBLIC_URL must be set in production: the address that people use, e.g. https://play.example');
  }
  return problems;
}
