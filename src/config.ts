import { createPublicKey } from 'node:crypto';
import { isAbsolute, resolve } from 'node:path';
import { isIP } from 'node:net';
import { z } from 'zod';

/**
 * The environment, read once at start. No setting is read anywhere else.
 * Every setting is checked here; a bad one stops the start with a message that names it.
 */

const wholeNumber = (minimum: number, maximum: number) =>
  z
    .string()
    .regex(/^\d+$/, 'must be a whole number')
    .transform(Number)
    .pipe(z.number().min(minimum, `must be at least ${minimum}`).max(maximum, `must be at most ${maximum}`));

const list = z.string().transform((text) =>
  text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== ''),
);

const Origins = list.pipe(z.array(z.string().refine(isOrigin, 'must be origins such as https://play.example, without wildcards')));

/** Spelled as browsers send it: compared as text, another spelling would never match. */
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

/** What ioredis would stumble over or read as something else; its own errors would name no setting. */
function isRedisUrl(text: string): boolean {
  if (!/^rediss?:\/\//.test(text) || !URL.canParse(text)) return false;
  const { username, password, pathname } = new URL(text);
  try {
    decodeURIComponent(username + password);
  } catch {
    return false;
  }
  return /^(\/\d*)?$/.test(pathname);
}

/** Paths are put behind it, so it holds no query; and it is shown, so no password. */
function isBaseUrl(text: string): boolean {
  return /^https?:\/\/[^/?#@]+(\/[^?#]*)?$/i.test(text) && URL.canParse(text);
}

/** `kid:base64url,…`: the first key signs, every key verifies, so that a key rotates without signing anybody out. */
const SessionKeys = list.pipe(
  z
    .array(
      z
        .string()
        .regex(
          /^[A-Za-z0-9_.-]{1,32}:[A-Za-z0-9_-]{43,}$/,
          'must be kid:base64url with at least 32 random bytes, more of them after commas',
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
 * One key or several, as `SESSION_KEYS` takes them.
 * @throws ZodError
 */
export function parseSessionKeys(text: string): SessionKey[] {
  return SessionKeys.parse(text);
}

const PackageNames = list.pipe(
  z.array(z.string().regex(/^[A-Za-z]\w*(\.[A-Za-z]\w*)+$/, 'must be package names such as com.example.game')),
);

/** A base64 text of this many bytes, as the Play Console shows its keys. */
const base64Key = (rule: string, fits: (bytes: Buffer) => boolean) =>
  z
    .string()
    .regex(/^[A-Za-z0-9+/]+={0,2}$/, rule)
    .transform((text) => Buffer.from(text, 'base64'))
    .refine(fits, rule);

/** What an install must be proven genuine for. */
const ProvenOperations = list.pipe(z.array(z.enum(['credit', 'highscores'], 'must be credit, highscores or both')));

const Environment = z.object({
  NODE_ENV: z.enum(['development', 'test', 'production'], 'must be development, test or production').default('development'),
  PORT: wholeNumber(0, 65_535).default(3000),
  HOST: z
    .string()
    .regex(/^[\w.:%-]+$/, 'must be an address or a host name such as 0.0.0.0')
    .default('127.0.0.1'),
  PUBLIC_URL: z
    .string()
    .refine(isBaseUrl, 'must be an address such as https://play.example, without a query')
    .transform((url) => url.replace(/\/+$/, ''))
    .optional(),
  REDIS_URL: z.string().refine(isRedisUrl, 'must be an address such as redis://user:password@host:6379/0, or with rediss://').optional(),
  DATA_DIR: z.string().min(1).default('./data'),
  WORKERS: wholeNumber(1, 64).default(1),
  SESSION_KEYS: SessionKeys.optional(),
  ALLOWED_ORIGINS: Origins.default([]),
  TRUSTED_PROXIES: Proxies.default([]),
  RATE_LIMIT: z.enum(['on', 'off']).default('on'),
  RATE_LIMIT_PER_SECOND: wholeNumber(1, 1_000_000).default(50),
  RATE_LIMIT_BURST: wholeNumber(1, 1_000_000).default(200),
  RATE_LIMIT_CREATIONS_PER_MINUTE: wholeNumber(1, 1_000_000).default(60),
  RATE_LIMIT_MISSES_PER_MINUTE: wholeNumber(1, 1_000_000).default(30),
  MAX_IN_FLIGHT: wholeNumber(1, 100_000).default(2000),
  LOG_LEVEL: z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']).default('info'),
  CATALOGUE_FILE: z.string().min(1).optional(),
  BOARDS: z.enum(['open', 'catalogue'], 'must be open or catalogue').optional(),
  CREDIT_DAILY_CAP: wholeNumber(0, 1_000_000_000_000).default(0),
  LEDGER_RETENTION_DAYS: wholeNumber(0, 36_500).default(0),
  HOST_GRACE_SECONDS: wholeNumber(1, 3600).default(30),
  SOCKETS_PER_ADDRESS: wholeNumber(1, 1_000_000).default(200),
  CONNECTIONS_PER_ADDRESS: wholeNumber(1, 1_000_000).optional(),
  BODIES_PER_ADDRESS: wholeNumber(1, 1_000_000).default(32),
  WATCHERS_PER_ROOM: wholeNumber(1, 1_000_000).default(10_000),
  ROOM_BYTES_PER_SECOND: wholeNumber(65_536, 1_000_000_000_000).optional(),
  ROOM_TTL_SECONDS: wholeNumber(10, 604_800).default(7200),
  SUBSCRIPTION_REPORTS: z.enum(['accept', 'ignore']).default('accept'),
  TRIAL_DAYS: wholeNumber(1, 3650).default(7),
  STORE: z.enum(['google', 'sandbox', 'off'], 'must be google, sandbox or off').optional(),
  GOOGLE_CLIENT_IDS: list
    .pipe(z.array(z.string().regex(/^[\w-]+\.apps\.googleusercontent\.com$/, 'must be OAuth client ids: ….apps.googleusercontent.com')))
    .default([]),
  GOOGLE_PACKAGE_NAMES: PackageNames.default([]),
  GOOGLE_SERVICE_ACCOUNT_FILE: z.string().min(1).optional(),
  GOOGLE_NOTIFICATIONS_AUDIENCE: z.string().min(1).optional(),
  GOOGLE_NOTIFICATIONS_EMAIL: z.email('must be the address of the service account that Pub/Sub signs as').optional(),
  PLAY_INTEGRITY_DECRYPTION_KEY: base64Key('must be base64 of 32 bytes', (bytes) => bytes.length === 32).optional(),
  PLAY_INTEGRITY_VERIFICATION_KEY: base64Key('must be base64 of a P-256 public key (DER)', isP256PublicKey).optional(),
  REQUIRE_INSTALL_PROOF: ProvenOperations.default([]),
});

/** Every setting there is. */
export const settingNames: readonly string[] = Object.keys(Environment.shape);

export interface Config extends z.output<typeof Environment> {
  production: boolean;
  BOARDS: 'open' | 'catalogue';
  CONNECTIONS_PER_ADDRESS: number;
  ROOM_BYTES_PER_SECOND: number;
  STORE: 'google' | 'sandbox' | 'off';
}

/** Something that stops the start. The message is for the person who started it; a line for each thing to set right. */
export class SettingError extends Error {}

/** Tells what is wrong with settings that are well-formed: a line each, the setting's name first. */
export type SettingsCheck = (config: Config) => string[];

/**
 * @param checks what other parts of the service find wrong, reported together with what is malformed
 * @throws SettingError with a line for each bad setting
 */
export function readConfig(environment: Record<string, string | undefined>, ...checks: SettingsCheck[]): Config {
  // An empty value means "not set": compose files and CI systems write settings that way.
  const given = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== undefined && value !== ''));
  const malformed = new Map<string, string>();
  for (const { path, message } of Environment.safeParse(given).error?.issues ?? []) {
    const name = String(path[0]);
    if (!malformed.has(name)) malformed.set(name, `${name} ${message}`);
  }
  const config = completed(Environment.parse(Object.fromEntries(Object.entries(given).filter(([name]) => !malformed.has(name)))));
  // What only follows from a malformed setting, here taken for one that is not set, would mislead.
  const isOwn = (problem: string): boolean => !problem.match(/\b[A-Z]+(_[A-Z]+)+\b/g)?.some((name) => malformed.has(name));
  const problems = [...malformed.values(), ...[productionProblems, ...checks].flatMap((check) => check(config)).filter(isOwn)];
  if (problems.length > 0) throw new SettingError(problems.join('\n'));
  return config;
}

/** Bytes a second that a room pushes, for each socket that one address may open: 40 states of 1 KB. */
const ROOM_BYTES_A_SOCKET = 40 * 1024;

function completed(settings: z.output<typeof Environment>): Config {
  const production = settings.NODE_ENV === 'production';
  // Whoever can reach a sandbox can buy from it for nothing: in production it has to be asked for by name.
  const STORE = settings.STORE ?? (production ? 'google' : 'sandbox');
  // The sample catalogue names nobody's games.
  const BOARDS = settings.BOARDS ?? (settings.CATALOGUE_FILE === undefined ? 'open' : 'catalogue');
  return {
    ...settings,
    production,
    STORE,
    BOARDS,
    // Each socket is a connection, and people ask for other things besides.
    CONNECTIONS_PER_ADDRESS: settings.CONNECTIONS_PER_ADDRESS ?? Math.max(400, 2 * settings.SOCKETS_PER_ADDRESS),
    // One address can watch a room on all the sockets that it may open: the two grow together.
    ROOM_BYTES_PER_SECOND: settings.ROOM_BYTES_PER_SECOND ?? Math.max(65_536, ROOM_BYTES_A_SOCKET * settings.SOCKETS_PER_ADDRESS),
    DATA_DIR: isAbsolute(settings.DATA_DIR) ? settings.DATA_DIR : resolve(settings.DATA_DIR),
  };
}

function productionProblems({ production, SESSION_KEYS, PUBLIC_URL }: Config): string[] {
  const problems: string[] = [];
  if (production && SESSION_KEYS === undefined) {
    problems.push(
      'SESSION_KEYS must be set in production: kid:base64url of 32 random bytes, e.g. "a:$(openssl rand -base64 32 | tr +/ -_ | tr -d =)"',
    );
  }
  if (production && PUBLIC_URL === undefined) {
    // Without it the Host header of whoever opens a pairing decides where its link leads.
    problems.push('PUBLIC_URL must be set in production: the address that people use, e.g. https://play.example');
  }
  return problems;
}
