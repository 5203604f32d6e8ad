import type { z } from 'zod';
import type { Config } from '../config.ts';
import type { Auditor, KeyLife, RedisType, Texts } from '../consistency/auditor.ts';
import type { Caller } from '../server/identity/caller.ts';
import type { Parts } from '../redis/unreadable.ts';
import type { CallerScripts } from './caller-scripts.ts';
import type { FieldValues, HeldFields } from './merge-rules.ts';
import type { Standing } from './standing.ts';

/**
 * The data that a feature keeps of an account, and how it is moved, deleted, exported, shown to operators and audited. `src/holdings.ts`
 * lists all holdings. A test fails for a key or a field of an account that no holding names.
 */
export interface Holding {
  /** The name of the data, for people: `scores`. No two holdings have the same name. */
  readonly name: string;
  readonly fields?: readonly HeldFields[];
  readonly keys?: readonly HeldKey[];
  /**
   * Moves data of a guest to the account that the guest moved into: data in other slots, or in keys that cannot simply be joined. Safe to
   * repeat, and to stop at any point.
   * @returns whether more data may arrive under the guest's name. If so, the `handOver` of all holdings is called again LATE_MS later, with
   * `isLast`
   */
  readonly handOver?: (move: Handover, services: HoldingServices) => Promise<boolean>;
  /**
   * Is called after an account, into which guests had moved, was merged into another account. Deletes the first account's data about these
   * guests, because the other account has a copy. Safe to repeat, and to stop at any point.
   */
  readonly dropGuests?: (
    account: { readonly accountId: string; readonly guests: readonly string[] },
    services: HoldingServices,
  ) => Promise<void>;
  /** Erases a deleted account's data that is in other slots, or too large for one script. Safe to repeat, and to stop at any point. */
  readonly erase?: (account: DeletedAccount, services: HoldingServices) => Promise<void>;
  /** Hides a banned account's data from others, or makes it visible again. Safe to repeat, and to stop at any point. */
  readonly hide?: (account: { readonly accountId: string; readonly isBanned: boolean }, services: HoldingServices) => Promise<void>;
  /** How this data is exported for the account's owner. */
  readonly exported?: Exported;
  /** How this data is shown to operators, for one account. */
  readonly shown?: Shown;
  /** Makes the auditors that check this data. Each audit makes new auditors. */
  readonly auditors?: () => readonly Auditor[];
}

/** The services that functions of a holding may take: only services that the operator's tool has too. */
export interface HoldingServices {
  readonly scripts: CallerScripts;
  readonly config: Pick<Config, 'OPENID_PROVIDERS' | 'ROOM_TTL_SECONDS' | 'SUBSCRIPTION_REPORTS' | 'TRIAL_DAYS'>;
  /** Tells for a game whether the lower (`asc`) or the higher (`desc`) score is better. */
  readonly catalogue: { orderOf(game: string): 'asc' | 'desc' };
  /** The time by Redis's clock, in milliseconds since 1970. */
  readonly now: () => number;
}

/** A Redis key of the account, named without the prefix `{<account id>}:`. */
export interface HeldKey {
  /** The name of the key, or a pattern if an account may have several keys of this kind: `/seats:\d+/`. */
  readonly name: string | RegExp;
  /** The type of the key in Redis. The audit reports a key with another type. */
  readonly type: RedisType;
  /**
   * For a pattern: gives the names of the keys that the account may have, so that they can be joined or deleted. If left out, `erase`
   * deletes the keys, or they expire.
   */
  readonly namesAt?: (now: number) => readonly string[];
  /** Whether the key has to expire or must not expire. The audit reports a violation. If left out, both are right. */
  readonly life?: KeyLife;
  /** The name under which the audit counts such keys. If left out, the keys are not counted. */
  readonly counted?: string;
  /** The texts that the key may have. The audit reports other texts. If left out, an auditor of the holding checks the content. */
  readonly texts?: Texts;
  /**
   * What happens to the guest's key after a guest moved into an account:
   * - `joins`: the account's set, sorted set or hash gets the members that it lacks, and the guest's key is deleted. The account's key does
   *   not get the expiry of the guest's key.
   * - `goes`: is deleted.
   * - `stays`: stays under the guest's name, which other data still uses.
   * - `handed_over`: the holding's `handOver` moves the content and deletes the key.
   */
  readonly whenMoved: 'joins' | 'goes' | 'stays' | 'handed_over';
  /**
   * What happens to the key when the account is deleted:
   * - `goes`: is deleted after all other data is erased.
   * - `goes_last`: is deleted in the last step, because the key shows where data of the account may still arrive some time after the
   *   deletion.
   * - `erased`: is deleted by the holding's `erase`.
   * - `stays`: stays, or expires.
   */
  readonly whenDeleted: 'goes' | 'goes_last' | 'erased' | 'stays';
}

export interface Handover {
  readonly guestId: string;
  readonly accountId: string;
  /** Whether this is the last call for the move: no more data of the guest can arrive after it. */
  readonly isLast: boolean;
}

export interface DeletedAccount {
  readonly accountId: string;
  /** The account and, for a guest, the account that the guest moved into: the guest's data may be under that account's id by now. */
  readonly owners: readonly string[];
  /** The guests that moved into the account. The guests are deleted together with the account, and `erase` is called for each guest. */
  readonly guests: readonly string[];
}

/** Fields of a reply, by name. A field that is undefined is left out of the reply. */
export type ReplyFields = Readonly<Record<string, unknown>>;

export interface ExportedAccount {
  readonly caller: Caller;
  readonly accountId: string;
  /** The ids under which the account's data may be: the account, then the guests that moved into it. */
  readonly owners: readonly [accountId: string, ...guests: string[]];
  readonly fields: FieldValues;
  /** Counts how many times all sessions of the account were ended together. */
  readonly generation: number;
}

export interface Exported {
  /** The fields that this data adds to the reply of `GET /v1/account/export`. Each is optional: a page has only some of the fields. */
  readonly shape: z.ZodRawShape;
  /** Reads the fields of the first page. */
  readonly firstPage?: (account: ExportedAccount, services: HoldingServices) => ReplyFields | Promise<ReplyFields>;
  /** Reads data that may be too much for the first page. */
  readonly pages?: ExportPages;
}

export interface ExportPages {
  /** The first letter of cursors that lead to pages of this holding. No two holdings have the same letter. */
  readonly letter: string;
  /** The rest of the cursor that leads to the first of these pages. A place says from where a page reads on. */
  readonly firstPlace: string;
  isPlace(text: string): boolean;
  /** Reads the part of the data that begins at a place. */
  read(account: ExportedAccount, place: string, services: HoldingServices): Promise<ExportPart>;
}

export interface ExportPart {
  /** Items of lists in the reply, by the name of the list. */
  readonly lists: Readonly<Record<string, readonly unknown[]>>;
  /** The text after the letter in the cursor of the next part. Undefined: this is the last part. */
  readonly next: string | undefined;
  /**
   * The cost of the part, in reads of one object. A page of the export ends when its parts reach a bound of reads. Infinity ends the page
   * at once.
   */
  readonly reads: number;
}

export interface ShownAccount {
  readonly accountId: string;
  /** The ids under which the account's data may be: the account, then the guests that moved into it. */
  readonly owners: readonly [accountId: string, ...guests: string[]];
  readonly fields: FieldValues;
  readonly standing: Standing;
  /** The time about which the operator asks, in milliseconds since 1970. Undefined: no certain time. */
  readonly at: number | undefined;
}

export interface Shown {
  /** The fields that this data adds to the reply of `GET /v1/admin/accounts/{accountId}`. */
  readonly shape: z.ZodRawShape;
  /** @param parts notes the damaged parts, which are left out. If `show` throws because of damaged data, all its fields are left out */
  readonly show: (account: ShownAccount, services: HoldingServices, parts: Parts) => ReplyFields | Promise<ReplyFields>;
}

type Intersected<Union> = (Union extends unknown ? (each: Union) => void : never) extends (all: infer All extends z.ZodRawShape) => void
  ? All
  : never;

/** The type of the fields that all these holdings add to the export. */
export type ExportedShape<Held> = Intersected<Held extends { readonly exported: { readonly shape: infer Shape } } ? Shape : never>;

/** The type of the fields that all these holdings add to the operator's view of an account. */
export type ShownShape<Held> = Intersected<Held extends { readonly shown: { readonly shape: infer Shape } } ? Shape : never>;

/** The names under which keys of an account may be at the time `now`. @param which chooses the keys */
export function keyNames(holdings: readonly Holding[], now: number, which: (key: HeldKey) => boolean): string[] {
  return holdings
    .flatMap(({ keys = [] }) => keys.filter(which))
    .flatMap(({ name, namesAt }) => (typeof name === 'string' ? name : (namesAt?.(now) ?? [])));
}
