import { operations } from '../endpoints.ts';
import type { Operation } from '../operation.ts';
import { accounts } from './accounts.ts';
import { boards } from './boards.ts';
import { coins } from './coins.ts';
import type { CommandGroup } from './command.ts';
import { data } from './data.ts';
import { log } from './log.ts';
import { commandOf, groupOf } from './operate.ts';
import { purchases } from './purchases.ts';
import { rooms } from './rooms.ts';
import { keys } from './server-keys.ts';
import { trials } from './trials.ts';
import { webhooks } from './webhooks.ts';

/** All groups of the tool. */
export const groups: readonly CommandGroup[] = withCommands(
  [accounts, coins, purchases, boards, rooms, trials, webhooks, keys, data, log],
  operations,
);

/** Groups with a command for each operation that has none of its own, in the group with which its name begins. */
export function withCommands(own: readonly CommandGroup[], all: readonly Operation[]): CommandGroup[] {
  const made = all
    .filter(({ name }) => !own.some((group) => name.startsWith(`${group.name} `) && name.slice(group.name.length + 1) in group.commands))
    .map((declared) => commandOf(declared));
  const namesOfGroups = new Set([...own, ...made].map(({ name }) => name.split(' ')[0]!));
  return [...namesOfGroups].map((name) => {
    const group = own.find((each) => each.name === name) ?? { name, summary: 'more', commands: {} };
    const added = groupOf(group, ...made.filter((command) => command.name.startsWith(`${name} `)));
    return { ...group, commands: { ...group.commands, ...added.commands } };
  });
}
