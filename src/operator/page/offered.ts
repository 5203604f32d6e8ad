import { mayAct, type Role } from '../../server/identity/roles.ts';
import { operations } from '../endpoints.ts';
import { fieldsOf, type Field } from '../fields.ts';
import { isChange, type Operation } from '../operation.ts';
import { consoleKeyOperations } from '../server-keys.ts';
import { requestOperations } from '../two-person/request-operations.ts';

const all: readonly Operation[] = [...operations, ...consoleKeyOperations, ...requestOperations];

/**
 * The changes that the console offers. A search is a POST too. If it ran for a question, it would not wait for its turn among costly
 * requests.
 */
export const changes = all.filter(isChange);

/** An operation in the form that the page needs: for the dialog of a change, or the filter of a read. */
export interface Offered {
  /** The name in the log: `accounts adjust`. */
  readonly name: string;
  readonly title: string;
  readonly summary: string;
  readonly description: string;
  /** Braces hold fields. */
  readonly path: string;
  readonly isChange: boolean;
  readonly handsOutSecret: boolean;
  readonly cannotBeUndone: boolean;
  readonly fields: readonly Field[];
}

export function offered(declared: Operation): Offered {
  const { name, summary, description = '', path, handsOutSecret = false, cannotBeUndone = false } = declared;
  const command = name.replace(/^\S+ /, '').replaceAll('-', ' ');
  const { title = command.replace(/^./, (letter) => letter.toUpperCase()) } = declared;
  return {
    name,
    title,
    summary,
    description,
    path,
    isChange: isChange(declared),
    handsOutSecret,
    cannotBeUndone,
    fields: fieldsOf(declared),
  };
}

/** The operations as the page gets them. Each is made only once, when the first operator who may run it signs in. */
export class Offers {
  readonly #made = new Map<Operation, Offered>();

  /** The operations that an operator may run. The service checks each once more. */
  to({ role, game }: { readonly role: Role; readonly game?: string | undefined }): Offered[] {
    const open = all.filter((each) => mayAct(role, each.role) && (game === undefined || each.reach !== undefined));
    for (const each of open) if (!this.#made.has(each)) this.#made.set(each, offered(each));
    return open.map((each) => this.#made.get(each)!);
  }
}
