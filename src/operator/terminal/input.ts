import { parseArgs } from 'node:util';
import { Failure, flagProblem } from '../../process/command.ts';
import type { Command, CommandGroup, CommandInput } from './command.ts';

/** A parsed command line. */
export interface Asked {
  readonly group: CommandGroup | undefined;
  readonly command: Command | undefined;
  readonly input: CommandInput;
  readonly json: boolean;
  readonly yes: boolean;
  /** The name of the operator who makes a change, if several operators share one user of the operating system. */
  readonly by: string | undefined;
  readonly help: boolean;
}

/** @throws Failure for a group, command or flag that does not exist, and for words that are missing or too many */
export function readInput(words: readonly string[], groups: readonly CommandGroup[]): Asked {
  const [groupName = '', secondWord = ''] = words;
  const group = groups.find(({ name }) => name === groupName);
  const isUsual = group?.usual !== undefined && (secondWord === '' || secondWord.startsWith('-'));
  const commandName = isUsual ? group.usual : secondWord;
  const command = ownCommand(group, commandName);
  const isHelp = words.includes('--help') || words.includes('-h') || words.length === 0;
  if (isHelp) return { group, command, input: { words: [], flags: {} }, json: false, yes: false, by: undefined, help: true };
  if (group === undefined) throw new Failure(`There is no group "${groupName}": see --help.`);
  if (commandName === '') throw new Failure(`"${group.name}" needs a command: see ${group.name} --help.`);
  if (command === undefined) throw new Failure(`There is no command "${group.name} ${commandName}": see ${group.name} --help.`);
  const { flags, positionals, json, yes, by } = parsed(words, command, `${group.name} ${commandName}`);
  const given = positionals.slice(isUsual ? 1 : 2);
  const { words: wanted = [] } = command;
  if (given.length !== wanted.length) {
    const needs = wanted.length === 0 ? 'takes flags only' : `needs ${wanted.join(' ')}`;
    throw new Failure(`"${group.name} ${commandName}" ${needs}: see ${group.name} --help.`);
  }
  return { group, command, input: { words: given, flags }, json, yes, by, help: false };
}

function ownCommand(group: CommandGroup | undefined, name: string): Command | undefined {
  return group !== undefined && Object.hasOwn(group.commands, name) ? group.commands[name] : undefined;
}

function parsed(words: readonly string[], { flags = {}, changes = false, mayBeLogged = false }: Command, name: string) {
  const alone = Object.keys(flags).filter((flag) => flags[flag]!.value === undefined);
  const texts = [...Object.keys(flags).filter((flag) => !alone.includes(flag)), ...(changes || mayBeLogged ? ['by'] : [])];
  const options = {
    ...Object.fromEntries(texts.map((flag) => [flag, { type: 'string', multiple: true } as const])),
    ...Object.fromEntries(alone.map((flag) => [flag, { type: 'boolean' } as const])),
    json: { type: 'boolean' } as const,
    ...(changes ? { yes: { type: 'boolean' } as const } : {}),
  };
  try {
    const { values: found, positionals } = parseArgs({
      args: words.map((word) => guarded(word, Object.keys(options))),
      options,
      allowPositionals: true,
    });
    const values: Record<string, unknown> = found;
    const given: Record<string, string> = {};
    for (const flag of texts) {
      const [value, ...others] = (values[flag] ?? []) as string[];
      if (others.length > 0) throw new Failure(`--${flag} may be given once.`);
      if (value !== undefined) given[flag] = unguarded(value);
    }
    for (const flag of alone) if (values[flag] === true) given[flag] = 'true';
    const { by, ...others } = given;
    if (by !== undefined && !NAME.test(by)) throw new Failure('--by takes a name of 1 to 24 letters, digits, ".", "_" and "-".');
    return { flags: others, positionals: positionals.map(unguarded), json: values['json'] === true, yes: values['yes'] === true, by };
  } catch (error) {
    if (error instanceof Failure) throw error;
    throw new Failure(flagProblem(error as Error, `${name.split(' ')[0]!} --help`));
  }
}

const NAME = /^[\p{L}\p{N}._-]{1,24}$/u;

/**
 * Protects words such as `-50`, and ids that begin with a dash: `parseArgs` would take them for flags. It puts a NUL in front, which no
 * argument can contain.
 */
function guarded(word: string, flags: readonly string[]): string {
  const isId = /^-(?:[\w-]{21}|[\w-]{11})$/.test(word) && !flags.includes(word.slice(2));
  return isId || /^-\d+$/.test(word) ? `\0${word}` : word;
}

function unguarded(word: string): string {
  return word.replace(/^\0/, '');
}

/** The text of `--help`: all groups, or one group with its commands. */
export function helpOf(groups: readonly CommandGroup[], group: CommandGroup | undefined): string {
  if (group === undefined) {
    const lines = groups.map(({ name, summary, commands }) => `  ${name.padEnd(10)} ${summary}: ${Object.keys(commands).join(', ')}`);
    return `${HEAD}\n${lines.join('\n')}\n${FOOT}`;
  }
  const commands = Object.entries(group.commands).map(([name, { summary, words = [], flags = {} }]) => {
    const flagLines = Object.entries(flags).map(
      ([flag, { value, summary: of, isNeeded = false }]) =>
        `      --${(value === undefined ? flag : `${flag} ${value}`).padEnd(18)} ${of}${isNeeded ? ' Needed.' : ''}\n`,
    );
    return `  ${[group.name, name, ...words].join(' ')}\n      ${summary}\n${flagLines.join('')}`;
  });
  const note = group.note === undefined ? '' : `\n${group.note}\n`;
  return `${HEAD}${note}\n${commands.join('\n')}${FOOT}`;
}

const HEAD = `The operator's tool of coinop.

  npm run admin -- GROUP COMMAND [flags]        node src/commands/admin.ts GROUP COMMAND [flags]

It works on the Redis or the Redis Cluster of REDIS_URL, or on the private Redis of DATA_DIR, whether the service
runs or not.
`;

const FOOT = `
  --json       print one JSON document
  --yes        with a change: do not ask first
  --by NAME    with a change or a logged read: who you are, if several operators share one user. The log has it next to user@host
  --help       print this text; after a group, its commands

Exit code: 0 done, 1 refused: nothing was changed, 2 the command could not be completed: see the message.
`;
