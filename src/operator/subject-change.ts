import { z } from 'zod';
import { Refusal, type ErrorCode } from '../errors.ts';
import type { Reach } from '../server/identity/server-keys.ts';
import { operation, Reason, type Change, type Details, type Operation, type Operator, type OperatorServices } from './operation.ts';

type Fields = Readonly<Record<string, z.ZodType>>;

/** A kind of things that operators change, such as accounts, rooms or webhooks. */
interface Subject<Field extends string, Found, Why extends z.ZodType> {
  /** The first word of the names: `accounts`. */
  readonly group: string;
  /** The field that names one. It is in the path. */
  readonly field: Field;
  readonly shape: z.ZodType<string>;
  /** One, in examples. */
  readonly sample: string;
  readonly reach?: Reach;
  /** The shape of the reason. If a reason is required, the question ends with it. */
  readonly reason: Why;
  readonly errors: readonly ErrorCode[];
  readonly find: (name: string, services: OperatorServices) => Promise<Found | Refusal>;
  /** For the log, before the other details. */
  readonly what: (found: Found) => Details;
  /** For the log, after the other details of the outcome. */
  readonly noted?: (found: Found, reply: never) => Details;
}

type Input<Of extends Fields, Why extends z.ZodType> = z.output<z.ZodObject<Of>> & { readonly reason: z.output<Why> };

/** A change without the parts that its subject adds to every change. */
type Planned<Reply> = Omit<Change<Reply>, 'question' | 'what' | 'why'> & { readonly question: string; readonly what?: Details };

interface Declaration<Found, Of extends Fields, Why extends z.ZodType, Reply extends z.ZodObject> extends Omit<
  Operation<z.ZodObject, Reply>,
  'name' | 'method' | 'path' | 'input' | 'example' | 'prepare' | 'roleFor' | 'shown' | 'words'
> {
  /** The second word of the name, and the last word of the path. */
  readonly verb: string;
  /** The fields beside the subject's. A `reason` among them is in place of the subject's. */
  readonly fields?: Of;
  readonly words?: readonly (keyof Of & string)[];
  /** The body of the example. */
  readonly body: Readonly<Record<string, unknown>>;
  readonly roleFor?: (input: Input<Of, Why>, config: OperatorServices['config']) => Operation['role'];
  readonly shown: (reply: z.output<Reply>) => string[];
  /** Like `prepare` of an operation, but for the subject that was found. */
  readonly plan: (
    found: Found,
    input: Input<Of, Why>,
    services: OperatorServices,
    operator: Operator,
  ) => Promise<Planned<z.input<Reply>> | { readonly reply: z.input<Reply> } | Refusal>;
}

/** Returns a function that declares changes of one kind of subject. */
export function changesOf<const Field extends string, Found extends object, Why extends z.ZodType>(subject: Subject<Field, Found, Why>) {
  const { group, field, shape, sample, reach, reason: why, find } = subject;
  const isReasonAsked = !why.isOptional();
  return <const Of extends Fields, Reply extends z.ZodObject>(declaration: Declaration<Found, Of, Why, Reply>) => {
    const { verb, fields = {}, errors = [], body, plan, ...declared } = declaration;
    return operation({
      ...(declared as object as Omit<typeof declared, 'words' | 'roleFor' | 'shown'>),
      ...(reach === undefined ? {} : { reach }),
      name: `${group} ${verb}`,
      method: 'POST',
      path: `/v1/admin/${group}/{${field}}/${verb}`,
      input: z.object({ [field]: shape, ...fields, reason: (fields as Fields)['reason'] ?? why }),
      errors: [...subject.errors, ...errors],
      example:
        `curl -s $base/v1/admin/${group}/${sample}/${verb} -H "authorization: Bearer $COINOP_KEY" ` +
        `-H 'content-type: application/json' -d '${JSON.stringify(body)}'`,
      async prepare(given, services, operator) {
        const input = given as Input<Of, Why>;
        const found = await find((given as unknown as Record<Field, string>)[field], services);
        if (found instanceof Refusal) return found;
        const planned = await plan(found, input, services, operator);
        if (planned instanceof Refusal || 'reply' in planned) return planned;
        const { question, what, noted, ...change } = planned;
        const reason = (input.reason as string | undefined) ?? '';
        return {
          ...change,
          question: isReasonAsked ? `${question} Reason: ${reason}` : question,
          what: { ...subject.what(found), ...what },
          why: reason,
          noted: (reply) => ({ ...noted?.(reply), ...subject.noted?.(found, reply as never) }),
        };
      },
    });
  };
}

/** The reason of a change that needs none. */
export const OptionalReason = Reason.optional();
