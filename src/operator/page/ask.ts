import { z } from 'zod';
import { endpoint } from '../../declare.ts';
import { invalid, Refusal } from '../../errors.ts';
import { check } from '../../server/http/request-data.ts';
import { needsKey, nameOfQuestion } from '../confirmation.ts';
import { operatorWith, refuseWithoutKey } from '../endpoints.ts';
import { judge, type OperatorServices } from '../operation.ts';
import { changes } from './offered.ts';

/** Enough bytes for the longest body of an operation, and its name. */
const BODY_BYTES = 130 * 1024;

/** Runs an operation up to its question. It checks and counts everything, without changing anything. */
export const ask = endpoint({
  method: 'POST',
  path: '/console/ask',
  caller: 'none',
  keyScope: 'admin',
  // `judge` checks the operation.
  reach: 'own',
  summary: 'Describes a change in a sentence, and checks whether the operator may make it.',
  keyedBodyBytes: BODY_BYTES,
  body: z.object({ operation: z.string().max(40), input: z.looseObject({}) }),
  reply: z.object({
    /** Left out if there is nothing to do. */
    question: z.string().optional(),
    /** The page sends this name with the change, in the header x-console. */
    seen: z.string().optional(),
    /** The figure that a person has to type before the change. */
    typed: z.object({ what: z.string(), figure: z.number() }).optional(),
    /** Sentences about the limits on coins that the operator should know. */
    limits: z.array(z.string()).optional(),
    /** The reason why a second person has to approve the change. The operator may ask a second person by `requests ask`. */
    secondPerson: z.string().optional(),
    /** The coins that the operator may still change alone within 24 hours. Left out: any. */
    leftAlone: z.number().optional(),
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
    const judged = await judge(declared, given, services, operatorWith(key));
    if (judged instanceof Refusal) return judged;
    if ('reply' in judged) return asks;
    const { refusal, sentences, leftAlone } = judged.limits;
    const isForTwo = refusal?.details['needs'] === 'second_person';
    if (refusal !== undefined && !(isForTwo && key.isPerson === true)) return refusal;
    const { question, typed, foreseen } = judged.change;
    if (foreseen !== undefined) return foreseen;
    if (question === undefined) return asks;
    return {
      ...{ question, typed, seen: nameOfQuestion(declared, given, question), ...asks },
      ...(sentences.length === 0 ? {} : { limits: [...sentences] }),
      ...(leftAlone === undefined ? {} : { leftAlone }),
      ...(refusal === undefined ? {} : { secondPerson: refusal.message }),
    };
  },
});
