import { describe, expect, test } from 'vitest';
import type { z } from 'zod';
import { accounts } from '../../../src/operator/terminal/accounts.ts';
import { boards } from '../../../src/operator/terminal/boards.ts';
import { coins } from '../../../src/operator/terminal/coins.ts';
import { keys } from '../../../src/operator/terminal/server-keys.ts';
import { log } from '../../../src/operator/terminal/log.ts';
import { purchases } from '../../../src/operator/terminal/purchases.ts';
import { rooms } from '../../../src/operator/terminal/rooms.ts';
import { trials } from '../../../src/operator/terminal/trials.ts';
import { webhooks } from '../../../src/operator/terminal/webhooks.ts';
import { operations } from '../../../src/operator/endpoints.ts';

const groups = [accounts, coins, purchases, boards, rooms, trials, webhooks, keys, log];

describe('the tool and the HTTP API', () => {
  const commands = groups
    .filter((group) => group !== keys)
    .flatMap(({ name, commands: all }) => Object.entries(all).map(([command, each]) => ({ name: `${name} ${command}`, ...each })));

  test('have the same operations, except for keys', () => {
    expect(operations.map(({ name }) => name).toSorted()).toEqual(commands.map(({ name }) => name).toSorted());
  });

  test('agree on the operations that change data: their commands ask first, and their endpoints need a reason, except for webhooks', () => {
    const takesReason = operations.filter(({ input }) => 'reason' in input.shape);
    const mayGoWithout = takesReason.filter(({ input }) => (input.shape['reason'] as z.ZodType).safeParse(undefined).success);
    const logged = commands.filter(({ mayBeLogged }) => mayBeLogged === true).map(({ name }) => name);
    const changing = takesReason.filter(({ name }) => !logged.includes(name));
    expect(
      commands
        .filter(({ changes }) => changes === true)
        .map(({ name }) => name)
        .toSorted(),
    ).toEqual(changing.map(({ name }) => name).toSorted());
    for (const { name, method } of operations) if (method === 'GET') expect(changing.map((each) => each.name)).not.toContain(name);
    expect(mayGoWithout.map(({ name }) => name).filter((name) => !name.startsWith('webhooks '))).toEqual(logged);
  });
});
