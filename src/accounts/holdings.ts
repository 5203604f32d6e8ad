import type { z } from 'zod';
import type { Config } from '../config.ts';
import type { Auditor, KeyLife } from '../consistency/auditor.ts';
import type { Caller } from '../server/identity/caller.ts';
import type { CallerScripts } from './caller-scripts.ts';
import type { FieldValues, HeldFields } from './fields.ts';
import type { Standing } from './standing.ts';

/**
 * What a feature keeps of an account, and what becomes of it when the account moves, is deleted, exported, shown to an operator or
 * audited. `src/holdings.ts` lists all holdings. A test fails for a key or a field of an account that none of them has.
 */
export interface Holding {
  /** What is kept, for people: `scores`. No two holdings have the same name. */
  readonly name: string;
  readonly fields?: readonly HeldFields[];
  readonly keys?: readonly HeldKey[];
  /**
   * Hands over to an account what a guest that moved into it has in other slots, or in keys that do not simply join. May be repeated,
   * and stop anywhere.
   * @returns whether more may arrive under the guest's name. Then all holdings are called again, LATE_MS later, with `isLast`
   */
  readonly handOver?: (move: Handover, parts: HoldingParts) => Promise<boolean>;
  /** Erases what a deleted account has in other slots, or what is too large for one script. May be repeated, and stop anywhere. */
  readonly erase?: (account: DeletedAccount, parts: HoldingParts) => Promise<void>;
  /** Hides from others what they see of a banned account, or shows it again. May be repeated, and stop anywhere. */
  readonly hide?: (account: { readonly accountId: string; readonly isBanned: boolean }, parts: HoldingParts) => Promise<void>;
  /** What its owner gets in the export. */
  readonly exported?: Exported;
  /** What an operator sees of one account. */
  readonly shown?: Shown;
  /** Checks what is kept, for an audit. A new one for each audit. */
  readonly auditors?: () => readonly Auditor[];
}

/** What holdings work with. The operator's tool has no more of a service than this. */
export interface HoldingParts {
  readonly scripts: CallerScripts;
  readonly config: Pick<Config, 'ROOM_TTL_SECONDS' | 'SUBSCRIPTION_REPORTS' | 'TRIAL_DAYS'>;
  /** Tells for each game whether the lower (`asc`) or the higher (`desc`) score is the better one. */
  readonly catalogue: { orderOf(game: string): 'asc' | 'desc' };
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** A key of the account, behind `{<account id>}:`. */
export interface HeldKey {
  /** A pattern where an account may have several: `/seats:\d+/`. */
  readonly name: string | RegExp;
  /** Of a pattern: the names by which the keys are found, joined and deleted now. Left out: `erase` deletes the keys, or they expire. */
  readonly namesAt?: (now: number) => readonly string[];
  /** Whether the audit names a key that expires, or one that never does. Left out: an auditor of the holding knows. */
  readonly life?: KeyLife;
  /**
   * When the guest has moved into an account:
   * - `joins`: the account's set or hash gets what it lacks, and the guest's is deleted. The key of the account gets no expiry from the guest's.
   * - `goes`: deleted.
   * - `stays`: under the guest's name, which other data still uses.
   * - `handed_over`: the holding's `handOver` takes it over and deletes it.
   */
  readonly whenMoved: 'joins' | 'goes' | 'stays' | 'handed_over';
  /**
   * When the account is deleted:
   * - `goes`: once everything else is erased.
   * - `goes_last`: with the last look, because it tells where else the account may have something that arrives late.
   * - `erased`: by the holding's `erase`.
   * - `stays`: or expires.
   */
  readonly whenDeleted: 'goes' | 'goes_last' | 'erased' | 'stays';
}

export interface Handover {
  readonly guestId: string;
  readonly accountId: string;
  /** Nothing of the guest can arrive any more. */
  readonly isLast: boolean;
}

export interface DeletedAccount {
  readonly accountId: string;
  /** The account and, for a guest, the account that it moved into: things of the guest may be filed under that account by now. */
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
  /** What the first page has. */
  readonly first?: (account: ExportedAccount, parts: HoldingParts) => ReplyFields | Promise<ReplyFields>;
  /** What may be too much for the first page. */
  readonly pages?: ExportPages;
}

export interface ExportPages {
  /** The first letter of cursors that lead to these pages. No two holdings have the same. */
  readonly letter: string;
  /** The place of the first page. */
  readonly first: string;
  isPlace(text: string): boolean;
  /** Reads the part at a place. */
  read(account: ExportedAccount, place: string, parts: HoldingParts): Promise<ExportPart>;
}

export interface ExportPart {
  /** Items of lists in the reply, by the name of the list. */
  readonly lists: Readonly<Record<string, readonly unknown[]>>;
  /** The place of the next part. Undefined: this is the last one. */
  readonly next: string | undefined;
  /** What the part cost, in looks at one thing. A page of the export has a bound of them; Infinity ends it. */
  readonly looks: number;
}

export interface ShownAccount {
  readonly accountId: string;
  /** The account, then the guests that moved into it. */
  readonly owners: readonly [accountId: string, ...guests: string[]];
  readonly fields: FieldValues;
  readonly standing: Standing;
  /** A time about which the operator asks, in milliseconds since 1970. */
  readonly at: number | undefined;
}

export interface Shown {
  /** Fields of the reply of `GET /v1/admin/accounts/{accountId}`. */
  readonly shape: z.ZodRawShape;
  readonly show: (account: ShownAccount, parts: HoldingParts) => ReplyFields | Promise<ReplyFields>;
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
