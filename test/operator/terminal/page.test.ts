import { describe, expect, test } from 'vitest';
import type { z } from 'zod';
import { groups } from '../../../src/operator/terminal/groups.ts';
import { operations } from '../../../src/operator/endpoints.ts';

describe('the tool and the HTTP API', () => {
  const commands = groups
    .filter(({ name }) => name !== 'keys' && name !== 'data')
    .flatMap(({ name, commands: all }) => Object.entries(all).map(([command, each]) => ({ name: `${name} ${command}`, ...each })));

  test('have the same operations, except for keys and data', () => {
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
