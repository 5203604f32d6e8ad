import { timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import { readHash } from '../../redis/reads.ts';
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
  SERVER_KEYS,
  SERVER_KEYS_USED,
  serverKeyText,
  type ServerKeyRecord,
} from './server-key-record.ts';
import type { Role } from './roles.ts';
import type { Scope, ServerKey } from './server-keys.ts';

/** A server key as Redis has it, but without its hash. Times are milliseconds since 1970. */
export interface ListedKey extends Omit<ServerKeyRecord, 'hash'> {
  readonly id: string;
  readonly state: 'valid' | 'expired' | 'revoked';
  readonly usedAt: number | undefined;
  /** The text of the key's record in Redis. */
  readonly text: string;
}

/** A key that was just made. The token can be shown only now, because only a hash of it is kept. */
export interface MadeKey {
  readonly id: string;
  readonly token: string;
}

/** Why a change of a key is not possible. The message is a sentence for the operator to read. */
export class KeyChangeRefused extends Error {}

const isFull = () => new KeyChangeRefused(`There are ${MOST_SERVER_KEYS} valid server keys: revoke one first.`);

export interface NewKey {
  readonly name: string;
  readonly scopes: readonly Scope[];
  /** The role, only for a key with the scope admin. Default: `admin`. */
  readonly role?: Role | undefined;
  readonly game?: string | undefined;
  readonly expiresAt?: number | undefined;
}

/** The name of a key: it may not have characters that would spoil a log line or a table. */
export const KeyName = z
  .string()
  .trim()
  .refine((name) => name !== '' && name.length <= 64, 'must have 1 to 64 characters')
  .refine((name) => !/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u.test(name), 'must hold no control or format characters');

/** Reads and changes the server keys in Redis. Every process of the service learns of a change at once (`key-ring.ts`). */
export class ServerKeyChanges {
  readonly #scripts: ScriptRunner;
  readonly #now: () => number;

  /** @param now the present time, in milliseconds since 1970 */
  constructor(scripts: ScriptRunner, now: () => number) {
    this.#scripts = scripts;
    this.#now = now;
  }

  /** The keys of operators, the newest first. Expired and revoked keys are included. */
  async operators(): Promise<ListedKey[]> {
    return (await this.list()).filter(({ scopes }) => scopes.includes('admin'));
  }

  /** All keys, the newest first. Keys whose records cannot be read are left out, because they are not accepted anyway. */
  async list(): Promise<ListedKey[]> {
    const [records, used] = await Promise.all([readHash(this.#scripts, SERVER_KEYS), readHash(this.#scripts, SERVER_KEYS_USED)]);
    const usedAt = new Map(used);
    const now = this.#now();
    const keys = records.flatMap(([id, text]): ListedKey[] => {
      const record = parseServerKey(text);
      if (record === undefined) return [];
      const { hash: _, ...shown } = record;
      const isOver = now >= endOf(record);
      const state = record.revokedAt === undefined ? (isOver ? 'expired' : 'valid') : 'revoked';
      return [{ ...shown, id, state, usedAt: Number(usedAt.get(id)) || undefined, text }];
    });
    return keys.toSorted((one, other) => other.createdAt - one.createdAt || (one.id < other.id ? -1 : 1));
  }

  /** The key with this id. @throws KeyChangeRefused if there is no such key */
  async find(id: string): Promise<ListedKey> {
    const key = KEY_ID.test(id) ? (await this.list()).find((listed) => listed.id === id) : undefined;
    if (key === undefined) throw new KeyChangeRefused('There is no server key with this id. An id has 8 characters: see "keys list".');
    return key;
  }

  /**
   * The key of an operator who uses the tool, with the role of the operator.
   * @throws KeyChangeRefused if the token is not a valid key of an operator
   */
  async ofOperator(token: string): Promise<ServerKey & { readonly role: Role }> {
    const parts = partsOf(token);
    const record = parseServerKey(new Map(await readHash(this.#scripts, SERVER_KEYS)).get(parts?.id ?? '') ?? '');
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
   * Makes a key. If there are MOST_SERVER_KEYS already, the key that ended first is removed.
   * @throws KeyChangeRefused if all existing keys are valid
   */
  async create(key: NewKey): Promise<MadeKey> {
    const made = newToken();
    await this.#change([[made.id, '', this.#recordOf(key, made.secret)], ...(await this.#room())]);
    return made;
  }

  /** A key that may be rotated. @throws KeyChangeRefused if it is not valid, or was replaced already, or if there is no room for another key */
  async replaceable(id: string): Promise<ListedKey> {
    const old = await this.find(id);
    if (old.state !== 'valid') throw new KeyChangeRefused(`The key ${id} is ${old.state}: make a new one with "keys create".`);
    const heir = (await this.list()).find((key) => key.replaces === id && key.state === 'valid');
    if (heir !== undefined) throw new KeyChangeRefused(`The key ${heir.id} replaces ${id} already. Rotate that one, or revoke it first.`);
    await this.checkRoom();
    return old;
  }

  /** @throws KeyChangeRefused if all existing keys are valid */
  async checkRoom(): Promise<void> {
    if ((await this.list()).filter(({ state }) => state === 'valid').length >= MOST_SERVER_KEYS) throw isFull();
  }

  /**
   * Makes a key that replaces an old key, with the same name, scopes and game. The old key stays valid until `oldEndsAt`.
   * @throws KeyChangeRefused if the old key is not valid, or was replaced already
   */
  async rotate(id: string, oldEndsAt: number, expiresAt: number | undefined): Promise<MadeKey> {
    const old = await this.replaceable(id);
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
   * @returns false if the key was revoked before
   * @throws KeyChangeRefused if there is no such key
   */
  async revoke(id: string): Promise<boolean> {
    for (;;) {
      const key = await this.find(id);
      if (key.state === 'revoked') return false;
      // A revocation must not fail because another command changed the key since it was read. So it is tried again on the new text.
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

  /** If there are MOST_SERVER_KEYS keys: the change that removes the key which ended earliest. */
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
    if (word === 'full') throw isFull();
    return word === 'changed';
  }
}

type Change = readonly [id: string, before: string, after: string];

/** The text of the record after some fields were changed. Fields that a later version added to the record stay. */
function changed(text: string, fields: Partial<ServerKeyRecord>): string {
  return JSON.stringify({ ...(JSON.parse(text) as object), ...fields });
}
