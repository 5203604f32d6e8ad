import { hash, randomInt } from 'node:crypto';
import { z } from 'zod';
import { defineScript } from '../../redis/script.ts';
import { roleIn, roleWord } from './roles.ts';
import { scopes } from './server-keys.ts';

/** The Redis key of a hash: a server key's id → its record. Changes are published on a channel of the same name. */
export const SERVER_KEYS = '{server-keys}';

/** The Redis key of a hash: a server key's id → when the key was last used, in milliseconds since 1970. */
export const SERVER_KEYS_USED = '{server-keys}:used';

/** The most server keys. Each process reads all keys every few seconds, so their number has to be small. */
export const MOST_SERVER_KEYS = 200;

/** The prefix of every server key. A bearer with this prefix is a server key, never a session. */
export const SERVER_KEY_PREFIX = 'coinop_sk_';

const ID_LENGTH = 8;
/**
 * Characters of a key's secret. 32 characters of an alphabet of 62 have 190 random bits: nobody guesses a secret, so wrong keys need no
 * limit of their own.
 */
const SECRET_LENGTH = 32;
const TOKEN_LENGTH = SERVER_KEY_PREFIX.length + ID_LENGTH + 1 + SECRET_LENGTH;

const TOKEN = /^coinop_sk_([a-z0-9]{8})_([0-9A-Za-z]{32})$/;

export const KEY_ID = /^[a-z0-9]{8}$/;

const milliseconds = z.number().int().min(0);

/** The record of a server key in Redis. Times are milliseconds since 1970. */
const Stored = z.object({
  name: z.string(),
  /** SHA-256 of the secret, in base64url. The secret itself is not stored. */
  hash: z.string().regex(/^[\w-]{43}$/),
  /** The scopes of the key. The role of an operator is among them (`roles.ts`). Scopes that this version does not know are ignored. */
  scopes: z.array(z.string()),
  game: z.string().optional(),
  createdAt: milliseconds,
  expiresAt: milliseconds.optional(),
  revokedAt: milliseconds.optional(),
  /** The id of the older key that this key replaces. */
  replaces: z.string().optional(),
});

const Record = Stored.transform(({ scopes: words, ...stored }) => {
  const role = roleIn(words);
  return { ...stored, scopes: scopes.filter((scope) => (scope === 'admin' ? role !== undefined : words.includes(scope))), role };
});

export type ServerKeyRecord = z.output<typeof Record>;

/** The text of a key's record in Redis. */
export function serverKeyText({ scopes: granted, role, ...record }: ServerKeyRecord): string {
  const words = granted.map((scope) => (scope === 'admin' ? roleWord(role ?? 'admin') : scope));
  return JSON.stringify({ ...record, scopes: words } satisfies z.input<typeof Stored>);
}

/** The record of a key. Undefined if the text is not a valid record: the key is then not accepted. */
export function parseServerKey(text: string): ServerKeyRecord | undefined {
  try {
    return Record.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

export function isServerKey(bearer: string): boolean {
  return bearer.startsWith(SERVER_KEY_PREFIX);
}

/** The id and the secret of a key. Undefined if the token is malformed. The length is checked first, because a client may send 8 KB. */
export function partsOf(token: string): { readonly id: string; readonly secret: string } | undefined {
  if (token.length !== TOKEN_LENGTH) return undefined;
  const [, id, secret] = TOKEN.exec(token) ?? [];
  return id === undefined ? undefined : { id, secret: secret! };
}

export function hashOfSecret(secret: string): string {
  return hash('sha256', secret, 'base64url');
}

/** Makes a new key: its id, its secret, and the token that contains both. */
export function newToken(): { id: string; secret: string; token: string } {
  const id = randomText(DIGITS_AND_SMALL, ID_LENGTH);
  const secret = randomText(DIGITS_AND_LETTERS, SECRET_LENGTH);
  return { id, secret, token: `${SERVER_KEY_PREFIX}${id}_${secret}` };
}

const DIGITS_AND_SMALL = '0123456789abcdefghijklmnopqrstuvwxyz';
const DIGITS_AND_LETTERS = `${DIGITS_AND_SMALL}ABCDEFGHIJKLMNOPQRSTUVWXYZ`;

function randomText(characters: string, length: number): string {
  return Array.from({ length }, () => characters[randomInt(characters.length)]).join('');
}

/** When the key ends, in milliseconds since 1970: 0 if it was revoked, `Infinity` if it has no end. */
export function endOf({ expiresAt, revokedAt }: Pick<ServerKeyRecord, 'expiresAt' | 'revokedAt'>): number {
  return revokedAt === undefined ? (expiresAt ?? Infinity) : 0;
}

export const changeServerKeys = defineScript({
  file: new URL('change-server-keys.lua', import.meta.url),
  keys: ['records', 'used'],
  args: ['changes', 'most'],
  answers: ['changed', 'conflict', 'full'],
  // If a failover lost a revocation, the key would be valid again.
  durable: true,
});

export const noteServerKeyUse = defineScript({
  file: new URL('note-server-key-use.lua', import.meta.url),
  keys: ['records', 'used'],
  args: ['uses'],
  answers: ['noted'],
});
