import { hash } from 'node:crypto';
import { refuse } from '../errors.ts';
import type { ConsoleSession } from '../server/identity/server-keys.ts';
import type { Confirm, Operation, OperatorServices } from './operation.ts';

type Asked = Pick<Operation, 'name' | 'cannotBeUndone' | 'handsOutSecret'>;

/**
 * The name of the question about a change. It is made from the operation, its input, and the sentence with all figures. The console's page
 * shows the question, and sends this name with the change.
 */
export function nameOfQuestion({ name }: Asked, input: Readonly<Record<string, unknown>>, question: string): string {
  const fields = Object.entries(input)
    .filter(([, value]) => value !== undefined)
    .toSorted(([one], [other]) => (one < other ? -1 : 1));
  return hash('sha256', JSON.stringify([name, fields, question]), 'base64url').slice(0, 22);
}

/** Whether the console asks once more for the operator's key. */
export function needsKey({ cannotBeUndone, handsOutSecret }: Omit<Asked, 'name'>): boolean {
  return cannotBeUndone === true || handsOutSecret === true;
}

/**
 * Before a change of the console, checks that its user has confirmed the question as it is now. So a forged request is refused. A change is
 * refused too if its account has changed since the question was asked.
 */
export function confirmedIn(
  { says, confirmedUntil }: ConsoleSession,
  isPerson: boolean,
  declared: Asked,
  input: Readonly<Record<string, unknown>>,
  { now }: OperatorServices,
): Confirm {
  return async (question) => {
    if (needsKey(declared) && confirmedUntil <= now()) {
      const why = declared.cannotBeUndone === true ? 'cannot be undone' : 'hands out a secret';
      throw refuse('forbidden', {
        message: `This ${why}: ${isPerson ? 'prove once more that it is you' : 'type your key once more'}.`,
        needs: 'key',
      });
    }
    const seen = nameOfQuestion(declared, input, question);
    if (says !== seen)
      throw refuse('forbidden', {
        message:
          'Nothing was changed: the change would have another effect by now than the one you confirmed. Read it, and confirm it ' +
          'again.',
        needs: 'confirmation',
        question,
        seen,
      });
  };
}
