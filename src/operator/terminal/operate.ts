import { hostname, userInfo } from 'node:os';
import type { z } from 'zod';
import { Refusal } from '../../errors.ts';
import { accountsNamed, Who } from '../named-accounts.ts';
import { fieldsOf, namesIn, type Field } from '../fields.ts';
import { beforeChange, isChange, perform, recorded, type Change, type Operation } from '../operation.ts';
import { Failure } from '../../process/command.ts';
import { shownReply, unreadableParts } from '../shown/shown-reply.ts';
import type { Command, CommandInput, Flag, Tool } from './command.ts';
import { durationOf } from './duration.ts';
import { SIGN_IN_NAMES } from '../../stores/stores.ts';
import { textOfParts } from './table.ts';

/** A command that runs an operation, as the endpoints in `operator/endpoints.ts` do. With `--json` it prints the reply that they send. */
export function commandOf<Input extends z.ZodObject, Reply extends z.ZodObject>(operation: Operation<Input, Reply>): Command {
  const { name, summary, role, method, path, input, needsNoService = false } = operation;
  const inWords = [...namesIn(path), ...(operation.words ?? [])];
  const isOfAccount = inWords[0] === 'accountId';
  const takesReason = 'reason' in input.shape;
  const changes = isChange(operation);
  // The fields are computed only for the command that runs.
  const fields = once(() => fieldsOf(operation));
  const field = (word: string): Field => fields().find((declared) => declared.name === word)!;
  const byFlag = once(
    () => new Map(fields().flatMap((declared) => (inWords.includes(declared.name) ? [] : [[flagOf(declared), declared] as const]))),
  );
  return {
    summary,
    role,
    get words() {
      return inWords.map((word) => (word === 'accountId' ? 'ACCOUNT' : (field(word).word ?? word.toUpperCase())));
    },
    get flags() {
      return Object.fromEntries([...byFlag()].map(([flag, declared]) => [flag, flagHelp(declared)]));
    },
    changes,
    mayBeLogged: takesReason && !changes,
    plan({ words, flags }) {
      const given = [
        ...inWords.map((word, index) => [field(word), words[index]] as const),
        ...[...byFlag()].map(([flag, declared]) => [declared, flags[flag]] as const),
      ];
      const data = parsed(name, isOfAccount ? input.omit({ accountId: true } as never) : input, given, method === 'POST');
      const [who = ''] = words;
      if (isOfAccount) checkWho(who);
      return async (tool) => {
        if (!needsNoService && (changes || (takesReason && flags['reason'] !== undefined))) await tool.checkData();
        const account = isOfAccount ? { accountId: await accountOf(who, tool) } : {};
        const reply = await perform<z.output<Reply>>(operation, { ...data, ...account }, tool.services, tool.operator, (question, limits) =>
          tool.confirm([...limits, question].join('\n')),
        );
        if (reply instanceof Refusal) {
          if (!needsNoService) await tool.checkData();
          throw failureOf(reply);
        }
        // Undefined fields are left out, as in the answers of the endpoints.
        const { logged: _, unreadable = [], ...fields } = reply as typeof reply & { readonly unreadable?: readonly string[] };
        const parts = [...(operation.shown?.(reply as never) ?? shownReply(fields)), ...unreadableParts(unreadable)];
        return { text: textOfParts(parts), json: reply };
      };
    },
  };
}

/** The flags for fields, for a command that handles them itself. */
export function flagsOf(operation: Pick<Operation, 'input'>): Readonly<Record<string, Flag>> {
  return Object.fromEntries(fieldsOf(operation).map((field) => [flagOf(field), flagHelp(field)]));
}

/** The values of flags that a command handles itself. @throws Failure if they do not fit */
export function valuesOf<Shape extends z.ZodObject>(
  name: string,
  shape: Shape,
  flags: CommandInput['flags'],
  isTyped: boolean,
): z.output<Shape> {
  return parsed(
    name,
    shape,
    fieldsOf({ input: shape }).map((field) => [field, flags[flagOf(field)]]),
    isTyped,
  );
}

/** @param isTyped whether the shape takes numbers and lists, as a body does. In a query all values are texts */
function parsed<Shape extends z.ZodObject>(
  name: string,
  shape: Shape,
  given: readonly (readonly [Field, string | undefined])[],
  isTyped: boolean,
): z.output<Shape> {
  const missing = given.find(([{ isRequired }, value]) => isRequired && value === undefined)?.[0];
  if (missing !== undefined) throw new Failure(`"${name}" needs --${flagOf(missing)} ${placeholderOf(missing)}.`);
  const values = given.map(([field, value]) => [field.name, value && isTyped ? valueOf(field, value) : value]);
  const { data, error } = shape.safeParse(Object.fromEntries(values));
  if (error !== undefined) throw new Failure(sentenceOf(error.issues[0]!));
  return data;
}

function flagOf({ name, unit, flag = name.slice(0, name.length - (unit?.length ?? 0)) }: Field): string {
  return flag.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

function placeholderOf({ name, word, unit, type, format, choices = [] }: Field): string {
  if (word !== undefined) return word;
  if (unit !== undefined || format === 'date-time') return 'TIME';
  if (format === 'date') return 'DAY';
  if (type === 'array') return 'LIST';
  if (choices.length > 0 && choices.length <= MOST_NAMED) return choices.join('|');
  return type === 'integer' ? 'N' : name.toUpperCase();
}

/** Most choices that a placeholder names. */
const MOST_NAMED = 3;

function flagHelp(field: Field): Flag {
  const { isRequired, description, choices = [] } = field;
  const value = placeholderOf(field);
  const sentences = [
    description.replaceAll('`', ''),
    choices.length > MOST_NAMED ? `Of ${choices.join(', ')}.` : '',
    EXAMPLES[field.unit ?? value] ?? '',
  ];
  return {
    ...(field.isFalseIfLeftOut ? {} : { value }),
    summary: sentences.filter((text) => text !== '').join(' '),
    isNeeded: isRequired,
  };
}

const EXAMPLES: Readonly<Record<string, string>> = {
  TIME: 'Such as 2026-11-22T12:00:00Z.',
  DAY: 'Such as 2026-11-22.',
  Minutes: 'Such as 1d; 0m: none.',
  Days: 'Such as 90d.',
};

/** Converts a text from the command line into a field of a body. */
function valueOf(field: Field, text: string): unknown {
  const { type, unit } = field;
  if (type === 'array') return text.split(',').map((word) => word.trim());
  if (unit !== undefined) return durationOf(flagOf(field), text) / UNITS_MS[unit];
  if (type === 'integer') return /^[-+]?\d{1,13}$/.test(text) ? Number(text) : Number.NaN;
  return text;
}

const UNITS_MS = { Minutes: 60_000, Days: 86_400_000 };

function once<Value>(make: () => Value): () => Value {
  let made: { readonly value: Value } | undefined;
  return () => (made ??= { value: make() }).value;
}

/** Runs a change that only the tool has. Its entry in the operators' log is written before it, and the outcome after it. */
export async function loggedChange<Result>(
  { services, operator }: Tool,
  change: Pick<Change<Result>, 'what' | 'why' | 'noted'> & { readonly action: string },
  act: () => Promise<Result>,
): Promise<Result> {
  return (await recorded({ ...change, by: operator.by, act }, services)).reply as Result;
}

/**
 * The account that a word names.
 * @throws Failure if there is none, or several
 */
async function accountOf(who: string, { services, checkData }: Tool): Promise<string> {
  const accounts = await beforeChange(accountsNamed(who, services));
  if (accounts.length === 0) {
    await checkData();
    throw new Failure(`${NO_ACCOUNT} It may be mistyped, or an install that never wrote anything.`);
  }
  const [account, other] = accounts.filter(
    ({ foundBy, deletedAt }, index) => index === 0 || deletedAt === undefined || !STORES.includes(foundBy),
  );
  if (other !== undefined)
    throw new Failure(
      /^(order|room):/.test(who)
        ? 'Several accounts have a seat there: take one accountId of "accounts find".'
        : 'Two accounts have this name, one as its accountId and one as its installId: put account: or install: in front.',
    );
  return account!.accountId;
}

/** A user of an app store may have an account and an older, deleted one. */
const STORES: readonly string[] = ['openid', ...SIGN_IN_NAMES];

const NO_ACCOUNT = 'There is no such account.';

function checkWho(who: string): void {
  const { error } = Who.safeParse(who);
  if (error !== undefined) throw new Failure(`ACCOUNT: ${error.issues[0]!.message}.`);
}

function sentenceOf({ path, message }: { readonly path: readonly PropertyKey[]; readonly message: string }): string {
  return `${String(path[0] ?? 'The command')}: ${message}.`;
}

function failureOf({ message, code }: Refusal): Failure {
  return new Failure(`${message.replace(/\.$/, '')}. Nothing was changed (${code}).`);
}

/**
 * The operator's name in the log and in ledgers: the user of the operating system, and the host.
 * @param name the operator's own name, because in a container all operators are the same user
 */
export function operatorName(name?: string): string {
  const system = `${userName()}@${hostname()}`.replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\s]/gu, '');
  return (name === undefined ? system : `${name} as ${system}`).slice(0, 64);
}

function userName(): string {
  try {
    return userInfo().username;
  } catch {
    // A container may run as a user id without a name.
    return `uid${process.getuid?.() ?? ''}`;
  }
}
