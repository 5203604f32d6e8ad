import type { z } from 'zod';
import type { Config } from '../config.ts';
import type { Auditor, KeyLife, RedisType } from '../consistency/auditor.ts';
import type { Caller } from '../server/identity/caller.ts';
import type { CallerScripts } from './caller-scripts.ts';
import type { FieldValues, HeldFields } from './fields.ts';
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
   * Moves data of a guest to its account: data in other slots, or in keys that cannot simply be joined. Safe to repeat, and to stop
   * anywhere.
   * @returns whether more data may arrive under the guest's name. If so, all holdings are called again LATE_MS later, with `isLast`
   */
  readonly handOver?: (move: Handover, services: HoldingServices) => Promise<boolean>;
  /** Erases data of a deleted account in other slots, or data that is too large for one script. Safe to repeat, and to stop anywhere. */
  readonly erase?: (account: DeletedAccount, services: HoldingServices) => Promise<void>;
  /** Hides a banned account's data from others, or shows it again. Safe to repeat, and to stop anywhere. */
  readonly hide?: (account: { readonly accountId: string; readonly isBanned: boolean }, services: HoldingServices) => Promise<void>;
  /** The data in the owner's export. */
  readonly exported?: Exported;
  /** The data that an operator sees of one account. */
  readonly shown?: Shown;
  /** Checks of the data in an audit. Each audit gets new ones. */
  readonly auditors?: () => readonly Auditor[];
}

/** The services that holdings may take: only services that the operator's tool has too. */
export interface HoldingServices {
  readonly scripts: CallerScripts;
  readonly config: Pick<Config, 'ROOM_TTL_SECONDS' | 'SUBSCRIPTION_REPORTS' | 'TRIAL_DAYS'>;
  /** Gives for each game whether the lower (`asc`) or the higher (`desc`) score is better. */
  readonly catalogue: { orderOf(game: string): 'asc' | 'desc' };
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** A key of the account, without the prefix `{<account id>}:`. */
export interface HeldKey {
  /** A pattern if an account may have several such keys: `/seats:\d+/`. */
  readonly name: string | RegExp;
  /** The audit reports such a key of another type. */
  readonly type: RedisType;
  /** For a pattern: the names under which the keys are found, joined and deleted. Left out: `erase` deletes the keys, or they expire. */
  readonly namesAt?: (now: number) => readonly string[];
  /** Whether the audit reports a key that expires, or one that never expires. Left out: an auditor of the holding checks that. */
  readonly life?: KeyLife;
  /**
   * After a guest moved into an account, the guest's key:
   * - `joins`: the account's set or hash gets the missing members, and the guest's key is deleted. Its expiry is not taken over.
   * - `goes`: is deleted.
   * - `stays`: stays under the guest's name, which other data still uses.
   * - `handed_over`: is taken over and deleted by the holding's `handOver`.
   */
  readonly whenMoved: 'joins' | 'goes' | 'stays' | 'handed_over';
  /**
   * When the account is deleted, the key:
   * - `goes`: is deleted once everything else is erased.
   * - `goes_last`: is deleted in the last step, because it shows where data of the account may still arrive late.
   * - `erased`: is deleted by the holding's `erase`.
   * - `stays`: stays, or expires.
   */
  readonly whenDeleted: 'goes' | 'goes_last' | 'erased' | 'stays';
}

export interface Handover {
  readonly guestId: string;
  readonly accountId: string;
  /** No data of the guest can arrive any more. */
  readonly isLast: boolean;
}

export interface DeletedAccount {
  readonly accountId: string;
  /** The account and, for a guest, the account that it moved into: the guest's data may be under that account by now. */
  readonly owners: readonly string[];
  /** The guests that moved into the account. They are deleted with it, each by a call of its own. */
  readonly guests: readonly string[];
}

/** Fields of a reply, by name. Undefined ones are left out. */
export type ReplyFields = Readonly<Record<string, unknown>>;

export interface ExportedAccount {
  readonly caller: Caller;
  readonly accountId: string;
  /** The account, then the guests that moved into it. */
  readonly owners: readonly [accountId: string, ...guests: string[]];
  readonly fields: FieldValues;
  /** How often all sessions were ended together. */
  readonly generation: number;
}

export interface Exported {
  /** Fields of the reply of `GET /v1/account/export`. Each is optional: a page has some of them. */
  readonly shape: z.ZodRawShape;
  /** Fields of the first page. */
  readonly firstPage?: (account: ExportedAccount, services: HoldingServices) => ReplyFields | Promise<ReplyFields>;
  /** Data that may be too much for the first page. */
  readonly pages?: ExportPages;
}

export interface ExportPages {
  /** The first letter of cursors that lead to these pages. No two holdings have the same. */
  readonly letter: string;
  /** The place of the first page. */
  readonly firstPlace: string;
  isPlace(text: string): boolean;
  /** Reads the part at a place. */
  read(account: ExportedAccount, place: string, services: HoldingServices): Promise<ExportPart>;
}

export interface ExportPart {
  /** Items of lists in the reply, by the name of the list. */
  readonly lists: Readonly<Record<string, readonly unknown[]>>;
  /** The place of the next part. Undefined: this is the last one. */
  readonly next: string | undefined;
  /** The cost of the part, in reads of one object. A page of the export has a bound of reads; Infinity ends it. */
  readonly reads: number;
}

export interface ShownAccount {
  readonly accountId: string;
  /** The account, then the guests that moved into it. */
  readonly owners: readonly [accountId: string, ...guests: string[]];
  readonly fields: FieldValues;
  readonly standing: Standing;
  /** The time about which the operator asks, in milliseconds since 1970. */
  readonly at: number | undefined;
}

export interface Shown {
  /** Fields of the reply of `GET /v1/admin/accounts/{accountId}`. */
  readonly shape: z.ZodRawShape;
  readonly show: (account: ShownAccount, services: HoldingServices) => ReplyFields | Promise<ReplyFields>;
}

type Intersected<Union> = (Union extends unknown ? (each: Union) => void : never) extends (all: infer All extends z.ZodRawShape) => void
  ? All
  : never;

/** The fields of all these holdings in the export. */
export type ExportedShape<Held> = Intersected<Held extends { readonly exported: { readonly shape: infer Shape } } ? Shape : never>;

/** The fields of all these holdings in the operator's view. */
export type ShownShape<Held> = Intersected<Held extends { readonly shown: { readonly shape: infer Shape } } ? Shape : never>;

/** The names by which keys of an account are looked up or deleted now. @param which chooses the keys */
export function keyNames(holdings: readonly Holding[], now: number, which: (key: HeldKey) => boolean): string[] {
  return holdings
    .flatMap(({ keys = [] }) => keys.filter(which))
    .flatMap(({ name, namesAt }) => (typeof name === 'string' ? name : (namesAt?.(now) ?? [])));
}
