import { hostname, userInfo } from 'node:os';
import type { z } from 'zod';
import { STORE_NAMES } from '../../config.ts';
import { Refusal } from '../../errors.ts';
import { accountsNamed, Who } from '../find.ts';
import { beforeChange, perform, recorded, type Change, type Operation } from '../operation.ts';
import { Failure } from '../../process/command.ts';
import type { Command, CommandInput, Flag, Tool } from './command.ts';

interface OperationCommand<Reply> {
  /** The first word may be `ACCOUNT`: anything that `accounts find` takes. The others are fields of the operation's input. */
  readonly words?: readonly string[];
  readonly flags?: Readonly<Record<string, Flag>>;
  readonly changes?: boolean;
  /** False: the change needs no reason. */
  readonly needsReason?: boolean;
  /** Flags with which the operators' log keeps the read. */
  readonly logged?: readonly string[];
  /** The fields of the operation's input, besides the account. */
  readonly input: (given: CommandInput) => Readonly<Record<string, unknown>>;
  readonly text: (reply: Reply) => string;
}

/** A command that runs an operation, as the endpoints of `operator/endpoints.ts` do. `--json` prints the reply that they send. */
export function commandOf<Input extends z.ZodObject, Reply extends z.ZodObject>(
  operation: Operation<Input, Reply>,
  { words = [], flags = {}, changes = false, needsReason = true, logged = [], input, text }: OperationCommand<z.output<Reply>>,
): Command {
  const isOfAccount = words[0] === 'ACCOUNT';
  return {
    summary: operation.summary,
    role: operation.role,
    words,
    flags: changes ? { ...flags, reason: { value: 'TEXT', summary: `why, for other operators${needsReason ? '. Needed' : ''}` } } : flags,
    changes,
    mayBeLogged: logged.length > 0,
    plan(given) {
      const reason = given.flags['reason'];
      if (changes && needsReason && reason === undefined) throw new Failure(`"${operation.name}" needs --reason TEXT.`);
      const fields = input(given);
      const shape = isOfAccount ? operation.input.omit({ accountId: true } as never) : operation.input;
      const { data, error } = shape.safeParse(changes ? { ...fields, reason } : fields);
      if (error !== undefined) throw new Failure(sentenceOf(error.issues[0]!));
      const [who = ''] = given.words;
      if (isOfAccount) checkWho(who);
      return async (tool) => {
        if (changes || logged.some((flag) => given.flags[flag] !== undefined)) await tool.checkData();
        const account = isOfAccount ? { accountId: await accountOf(who, tool) } : {};
        const reply = await perform<z.output<Reply>>(operation, { ...data, ...account }, tool.parts, tool.operator, (question) =>
          tool.confirm(question),
        );
        if (reply instanceof Refusal) {
          await tool.checkData();
          throw failureOf(reply);
        }
        // Undefined fields are left out, as in the answers of the endpoints.
        return { text: text(reply), json: reply };
      };
    },
  };
}

/** Runs a change that only the tool has, between the two halves of its entry in the operators' log. */
export async function loggedChange<Result>(
  { parts, operator }: Tool,
  change: Pick<Change<Result>, 'what' | 'why' | 'noted'> & { readonly action: string },
  act: () => Promise<Result>,
): Promise<Result> {
  return (await recorded({ ...change, by: operator.by, act }, parts)).reply as Result;
}

/**
 * The account that a word names.
 * @throws Failure if there is none, or several
 */
async function accountOf(who: string, { parts, checkData }: Tool): Promise<string> {
  const accounts = await beforeChange(accountsNamed(who, parts));
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
const STORES: readonly string[] = STORE_NAMES;

const NO_ACCOUNT = 'There is no such account.';

export function checkWho(who: string): void {
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
