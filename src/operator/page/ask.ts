import { z } from 'zod';
import { endpoint } from '../../declare.ts';
import { invalid, Refusal } from '../../errors.ts';
import { check } from '../../server/http/request-data.ts';
import { needsKey, nameOfQuestion } from '../confirmation.ts';
import { performWith, refuseWithoutKey } from '../endpoints.ts';
import type { OperatorServices, TypedFigure } from '../operation.ts';
import { changes } from './offered.ts';

/** Room for the longest body of an operation, plus its name. */
const BODY_BYTES = 129 * 1024;

/** Thrown to stop an operation at its question. */
class Question extends Error {
  readonly typed: TypedFigure | undefined;

  constructor(question: string, typed: TypedFigure | undefined) {
    super(question);
    this.typed = typed;
  }
}

/** Runs an operation up to its question: it checks and counts everything, and changes nothing. */
export const ask = endpoint({
  method: 'POST',
  path: '/console/ask',
  caller: 'none',
  keyScope: 'admin',
  // `perform` checks the operation.
  reach: 'own',
  summary: 'Describes a change in a sentence, and checks whether the operator may make it.',
  keyedBodyBytes: BODY_BYTES,
  body: z.object({ operation: z.string().max(40), input: z.looseObject({}) }),
  reply: z.object({
    /** Left out if there is nothing to do. */
    question: z.string().optional(),
    /** The page sends it with the change, in the header x-console. */
    seen: z.string().optional(),
    /** The figure that a person types before the change. */
    typed: z.object({ what: z.string(), figure: z.number() }).optional(),
    cannotBeUndone: z.boolean(),
    needsKey: z.boolean(),
  }),
  errors: ['server_only', ...new Set(changes.flatMap(({ errors = [] }) => errors))],
  example: '',
  deadlineMs: 20_000,
  async handle({ key, body: { operation: name, input } }, services: OperatorServices) {
    if (key === undefined) return refuseWithoutKey();
    const declared = changes.find((change) => change.name === name);
    if (declared === undefined) return invalid('operation', 'Is no change of operators');
    const given = check(declared.input, input)!;
    const asks = { cannotBeUndone: declared.cannotBeUndone === true, needsKey: needsKey(declared) };
    try {
      const done = await performWith(key, declared, given, services, async (question, typed) => {
        throw new Question(question, typed);
      });
      return done instanceof Refusal ? done : asks;
    } catch (error) {
      if (!(error instanceof Question)) throw error;
      const { message: question, typed } = error;
      return { question, typed, seen: nameOfQuestion(declared, given, question), ...asks };
    }
  },
});
