import { timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import { pairsOf } from '../../redis/pairs.ts';
import type { ScriptRunner } from '../../redis/script-runner.ts';
import {
  changeServerKeys,
  endOf,
  hashOfSecret,
  KEY_ID,
  MOST_SERVER_KEYS,
  newToken,
  parseServerKey,
  partsOf,
  readServerKeys,
  readServerKeyUses,
  SERVER_KEYS,
  SERVER_KEYS_USED,
  serverKeyText,
  type ServerKeyRecord,
} from './server-key-record.ts';
import type { Role } from './roles.ts';
import type { Scope, ServerKey } from './server-keys.ts';

/** A key in Redis, without its hash. Times are milliseconds since 1970. */
export interface ListedKey extends Omit<ServerKeyRecord, 'hash'> {
  readonly id: string;
  readonly state: 'valid' | 'expired' | 'revoked';
  readonly usedAt: number | undefined;
  /** The record in Redis. */
  readonly text: string;
}

/** A key that was just made. The token is shown once: nothing keeps it. */
export interface MadeKey {
  readonly id: string;
  readonly token: string;
}

/** A change that is not possible. The message is a sentence for the operator. */
export class KeyChangeRefused extends Error {}

export interface NewKey {
  readonly name: string;
  readonly scopes: readonly Scope[];
  /** The role of a key with the scope admin. Left out: `admin`. */
  readonly role?: Role | undefined;
  readonly game?: string | undefined;
  readonly expiresAt?: number | undefined;
}

/** A name that any log and table can show. */
export const KeyName = z
  .string()
  .trim()
  .refine((name) => name !== '' && name.length <= 64, 'must have 1 to 64 characters')
  .refine((name) => !/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u.test(name), 'must hold no control or format characters');

/** Reads and changes the server keys in Redis. Every process of the service learns of a change at once (`key-ring.ts`). */
export class ServerKeyChanges {
  readonly #scripts: ScriptRunner;
  readonly #now: () => number;

  /** @param now milliseconds since 1970 */
  constructor(scripts: ScriptRunner, now: () => number) {
    this.#scripts = scripts;
    this.#now = now;
  }

  /** Keys of operators, also ended ones, the newest first. */
  async operators(): Promise<ListedKey[]> {
    return (await this.list()).filter(({ scopes }) => scopes.includes('admin'));
  }

  /** All keys, the newest first. Keys whose records cannot be read are left out: they open nothing. */
  async list(): Promise<ListedKey[]> {
    const [[, ...words], [, ...used]] = await Promise.all([
      this.#scripts.run(readServerKeys, { records: SERVER_KEYS }, {}),
      this.#scripts.run(readServerKeyUses, { used: SERVER_KEYS_USED }, {}),
    ]);
    const usedAt = new Map(pairsOf(used));
    const now = this.#now();
    const keys = pairsOf(words).flatMap(([id, text]): ListedKey[] => {
      const record = parseServerKey(text);
      if (record === undefined) return [];
      const { hash: _, ...shown } = record;
      const isOver = now >= endOf(record);
      const state = record.revokedAt === undefined ? (isOver ? 'expired' : 'valid') : 'revoked';
      return [{ ...shown, id, state, usedAt: Number(usedAt.get(id)) || undefined, text }];
    });
    return keys.toSorted((one, other) => other.createdAt - one.createdAt || (one.id < other.id ? -1 : 1));
  }

  /** @throws KeyChangeRefused if there is no such key */
  async find(id: string): Promise<ListedKey> {
    const key = KEY_ID.test(id) ? (await this.list()).find((listed) => listed.id === id) : undefined;
    if (key === undefined) throw new KeyChangeRefused('There is no server key with this id. An id has 8 characters: see "keys list".');
    return key;
  }

  /**
   * The key of an operator who uses the tool.
   * @throws KeyChangeRefused for a token that is no valid key of an operator
   */
  async ofOperator(token: string): Promise<ServerKey & { readonly role: Role }> {
    const parts = partsOf(token);
    const [, ...words] = await this.#scripts.run(readServerKeys, { records: SERVER_KEYS }, {});
    const record = parseServerKey(new Map(pairsOf(words)).get(parts?.id ?? '') ?? '');
    const isRight =
      parts !== undefined && record !== undefined && timingSafeEqual(Buffer.from(hashOfSecret(parts.secret)), Buffer.from(record.hash));
    if (!isRight) throw new KeyChangeRefused('OPERATOR_KEY is no server key of this data.');
    if (this.#now() >= endOf(record)) throw new KeyChangeRefused('OPERATOR_KEY has expired or was revoked.');
    const { name, scopes, role, game } = record;
    if (role === undefined) throw new KeyChangeRefused('OPERATOR_KEY belongs to a server, not to an operator: it lacks the scope admin.');
    if (game !== undefined) throw new KeyChangeRefused(`OPERATOR_KEY is for the game ${game} only: use it by HTTP.`);
    return { id: parts.id, name, scopes, role, game };
  }

  /**
   * Makes a key. At the bound, the key that ended first makes room.
   * @throws KeyChangeRefused if all of them are valid
   */
  async create(key: NewKey): Promise<MadeKey> {
    const made = newToken();
    await this.#change([[made.id, '', this.#recordOf(key, made.secret)], ...(await this.#room())]);
    return made;
  }

  /**
   * Makes a key that takes over from another one, with its name, scopes and game. Both are valid until `oldEndsAt`.
   * @throws KeyChangeRefused if the old key is not valid, or was replaced already
   */
  async rotate(id: string, oldEndsAt: number, expiresAt: number | undefined): Promise<MadeKey> {
    const old = await this.find(id);
    if (old.state !== 'valid') throw new KeyChangeRefused(`The key ${id} is ${old.state}: make a new one with "keys create".`);
    const heir = (await this.list()).find((key) => key.replaces === id && key.state === 'valid');
    if (heir !== undefined) throw new KeyChangeRefused(`The key ${heir.id} replaces ${id} already. Rotate that one, or revoke it first.`);
    const made = newToken();
    const { name, scopes, role, game } = old;
    await this.#change([
      [made.id, '', this.#recordOf({ name, scopes, role, game, expiresAt }, made.secret, id)],
      [id, old.text, changed(old.text, { expiresAt: Math.min(oldEndsAt, old.expiresAt ?? Infinity) })],
      ...(await this.#room()),
    ]);
    return made;
  }

  /**
   * Revokes a key.
   * @returns false if it was revoked before
   * @throws KeyChangeRefused if there is no such key
   */
  async revoke(id: string): Promise<boolean> {
    for (;;) {
      const key = await this.find(id);
      if (key.state === 'revoked') return false;
      // Repeats the change if another command changed the key meanwhile: a revocation must not fail because of that.
      if (await this.#tryChange([[id, key.text, changed(key.text, { revokedAt: this.#now() })]])) return true;
    }
  }

  #recordOf({ name, scopes, role, game, expiresAt }: NewKey, secret: string, replaces?: string): string {
    return serverKeyText({
      name,
      hash: hashOfSecret(secret),
      scopes: [...scopes],
      role,
      game,
      createdAt: this.#now(),
      expiresAt,
      replaces,
    });
  }

  /** The removal of the key that ended first, if the number of keys is at its bound. */
  async #room(): Promise<Change[]> {
    const keys = await this.list();
    if (keys.length < MOST_SERVER_KEYS) return [];
    const endedAt = (key: ListedKey): number => Math.min(key.revokedAt ?? Infinity, key.expiresAt ?? Infinity);
    const [oldestEnded] = keys.filter(({ state }) => state !== 'valid').toSorted((one, other) => endedAt(one) - endedAt(other));
    return oldestEnded === undefined ? [] : [[oldestEnded.id, oldestEnded.text, '']];
  }

  async #change(changes: readonly Change[]): Promise<void> {
    if (!(await this.#tryChange(changes))) throw new KeyChangeRefused('Another command changed a server key just now. Try again.');
  }

  async #tryChange(changes: readonly Change[]): Promise<boolean> {
    const args = { changes: JSON.stringify(changes), most: MOST_SERVER_KEYS };
    const [word] = await this.#scripts.run(changeServerKeys, { records: SERVER_KEYS, used: SERVER_KEYS_USED }, args);
    if (word === 'full') throw new KeyChangeRefused(`There are ${MOST_SERVER_KEYS} valid server keys: revoke one first.`);
    return word === 'changed';
  }
}

type Change = readonly [id: string, before: string, after: string];

/** Fields that a later version added to the record stay. */
function changed(text: string, fields: Partial<ServerKeyRecord>): string {
  return JSON.stringify({ ...(JSON.parse(text) as object), ...fields });
}
