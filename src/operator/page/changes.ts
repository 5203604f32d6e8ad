import { mayAct, type Role } from '../../server/identity/roles.ts';
import { operations } from '../endpoints.ts';
import { fieldsOf, type Field } from '../fields.ts';
import { isChange, type Operation } from '../operation.ts';
import { keyOperations } from '../server-keys.ts';

/** The changes that the console offers. A search is a POST too: it would run at a question without its turn among costly requests. */
export const changes: readonly Operation[] = [...operations, ...keyOperations].filter(isChange);

/** A change as its dialog on the page needs it. */
export interface ShownChange {
  /** The name in the log: `accounts adjust`. */
  readonly name: string;
  readonly title: string;
  readonly summary: string;
  readonly description: string;
  /** Braces hold fields. */
  readonly path: string;
  readonly handsOutSecret: boolean;
  readonly fields: readonly Field[];
}

const shown = new Map<string, ShownChange>();

export function shownChange(declared: Operation): ShownChange {
  const { name, summary, description = '', path, handsOutSecret = false } = declared;
  const command = name.replace(/^\S+ /, '').replaceAll('-', ' ');
  const { title = command.replace(/^./, (letter) => letter.toUpperCase()) } = declared;
  return { name, title, summary, description, path, handsOutSecret, fields: fieldsOf(declared) };
}

/** The changes that an operator may make. The service checks each once more. */
export function changesFor({ role = 'admin', game }: { readonly role?: Role; readonly game?: string }): ShownChange[] {
  return changes
    .filter((change) => mayAct(role, change.role) && (game === undefined || change.reach !== undefined))
    .map((change) => shown.get(change.name) ?? shown.set(change.name, shownChange(change)).get(change.name)!);
}
