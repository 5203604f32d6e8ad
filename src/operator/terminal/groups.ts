import { operations } from '../endpoints.ts';
import type { Operation } from '../operation.ts';
import { keyOperations } from '../server-keys.ts';
import { grant, takeBack } from './coins.ts';
import type { Command, CommandGroup } from './command.ts';
import { dataCommands } from './data.ts';
import { exportToFile } from './log.ts';
import { commandOf } from './operate.ts';

type Group = Omit<CommandGroup, 'commands'> & { readonly own?: Readonly<Record<string, Command>> };

/** The groups of commands in the tool. They list the commands that only the tool has, or that it has in another form. */
const described: readonly Group[] = [
  {
    name: 'accounts',
    summary: 'accounts, their coins and their access',
    note:
      'ACCOUNT and WHO are an accountId, an installId or google:SUB. account: or install: in front says which, where a\n' +
      'text may be both. "-" reads it from standard input, so that no shell history has an installId. COINS may be negative.',
  },
  { name: 'coins', summary: 'coins of many accounts at once', own: { grant, 'take-back': takeBack } },
  { name: 'purchases', summary: 'coins and subscriptions bought in an app store' },
  { name: 'boards', summary: 'the boards of games' },
  { name: 'rooms', summary: 'rooms and who sits in them' },
  { name: 'saves', summary: 'what games keep of a player' },
  { name: 'trials', summary: 'trials of devices', note: 'DEVICE is a deviceId, or its hash, which accounts show prints.' },
  { name: 'webhooks', summary: 'where events are sent' },
  { name: 'todo', summary: 'what needs a person', usual: 'list' },
  { name: 'numbers', summary: 'coins, purchases, accounts, rooms and prizes of each day', usual: 'list' },
  { name: 'keys', summary: 'the keys of your own servers' },
  { name: 'data', summary: 'the data as a whole, after Redis lost it', own: dataCommands },
  { name: 'log', summary: 'what operators changed, by this tool and by HTTP', usual: 'list', own: { export: exportToFile } },
];

/** All groups. Each operation has a command, in the group with which its name begins. */
export function groupsOf(all: readonly Operation[]): CommandGroup[] {
  const names = new Set([...described, ...all].map(({ name }) => name.split(' ')[0]!));
  return [...names].map((name) => {
    const { own, ...group } = described.find((each) => each.name === name) ?? { name, summary: 'more' };
    const made = all.filter((each) => each.name.startsWith(`${name} `)).map((each) => [each.name.slice(name.length + 1), commandOf(each)]);
    return { ...group, commands: { ...Object.fromEntries(made), ...own } };
  });
}

export const groups: readonly CommandGroup[] = groupsOf([...operations, ...keyOperations]);
