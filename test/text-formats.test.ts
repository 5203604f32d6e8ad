import { globSync, readFileSync } from 'node:fs';
import { Redis } from 'ioredis';
import { afterAll, describe, expect, inject, test } from 'vitest';
import { purchaseLine, toldSubscription } from '../src/accounts/purchase-lines.ts';
import { sessionEntry } from '../src/accounts/session-list.ts';
import { signInEntry } from '../src/accounts/sign-ins.ts';
import { standingFormats } from '../src/accounts/standing.ts';
import { seasonPrize } from '../src/features/catalogue/model.ts';
import { filedEntry, filedGuest, filedOperation, ledgerEntry, seasonPayout } from '../src/features/coins/model.ts';
import { boardMember, playerEntry } from '../src/features/highscores/entry-format.ts';
import { seasonThreshold } from '../src/features/highscores/model.ts';
import { noteText } from '../src/features/notes/model.ts';
import { listedRoom, listEntry, roomSummary } from '../src/features/rooms/list/list-model.ts';
import { playerRecord, privatePart } from '../src/features/rooms/record.ts';
import { indexedRoom } from '../src/features/rooms/room-index.ts';
import { served } from '../src/features/rooms/channel-uptime.ts';
import { endedSave, saveVersion } from '../src/features/saves/model.ts';
import { ScriptRunner } from '../src/redis/script-runner.ts';
import { defineScript } from '../src/redis/script.ts';
import { snakeCase } from '../src/redis/script-text.ts';
import type { AnyFormat, Kind } from '../src/redis/text-format.ts';
import { lua } from './lua-files.ts';
import { seeded } from './seeded.ts';

const formats: readonly Declared[] = [
  ...[ledgerEntry, filedEntry, filedGuest, filedOperation, seasonPayout, seasonPrize, seasonThreshold, boardMember, playerEntry],
  ...[
    listEntry,
    listedRoom,
    roomSummary,
    playerRecord,
    privatePart,
    served,
    indexedRoom,
    sessionEntry,
    signInEntry,
    purchaseLine,
    noteText,
    toldSubscription,
    saveVersion,
    endedSave,
    ...Object.values(standingFormats),
  ],
];

type Declared = AnyFormat & {
  readonly parse: (text: string) => Readonly<Record<string, unknown>> | undefined;
  readonly write: (values: never) => string;
};

const TEXTS = 400;
const redis = new Redis({ path: inject('redisSocket') });
const scripts = new ScriptRunner(redis, { now: Date.now });
afterAll(() => redis.disconnect());

test('this test has every format', () => {
  const root = new URL('../src/', import.meta.url);
  const declared = globSync('**/*.ts', { cwd: root }).flatMap((file) => {
    const texts = readFileSync(new URL(file, root), 'utf8').matchAll(/\bdefineFormat\(\s*'(\w+)'/g);
    return [...texts].map(([, name]) => name);
  });
  expect(formats.map(({ name }) => name).toSorted()).toEqual(declared.toSorted());
});

describe.each(formats.map((format) => [format.name, format] as const))('%s', (_, format) => {
  const { name, layout } = format;
  const random = seeded(name.length);
  const fields = layout.parts.map(({ field }) => field);
  const names = fields.map(snakeCase).join(', ');
  const read = define(`local ${names} = string.match(text, '<${name}>')\nreturn {'read', ${names}}`);
  const leftOut = layout.parts.filter(({ kind }) => kind.isOptional === true).map(({ field }) => field);
  const writeWith = (written: readonly string[]) => {
    const list = written.map(snakeCase).join(', ');
    return define(`local ${names} = string.match(text, '<${name}>')\nreturn {'read', string.format('<${name}: ${list}>', ${list})}`);
  };
  const [writeAll, writeRequired] = [writeWith(fields), writeWith(fields.filter((field) => !leftOut.includes(field)))];
  const readOne = fields.map((field) => define(`return {'read', (string.match(text, '<${name}: ${snakeCase(field)}>'))}`));

  function define(body: string) {
    const file = lua(`format-${name}-${Math.floor(Math.random() * 1e9)}`, `-- KEYS key\n-- ARGV text\n-- Answers read\n${body}`);
    return defineScript({ file, keys: ['key'], args: ['text'], answers: ['read'], formats: [format], readOnly: true });
  }
  const run = async (script: ReturnType<typeof define>, text: string): Promise<string[]> =>
    (await scripts.run(script, { key: '{format}' }, { text })).slice(1);

  const someValues = (): Readonly<Record<string, unknown>> =>
    Object.fromEntries(
      layout.parts.map(({ field, kind }) => [
        field,
        kind.isOptional === true && random() < 0.5 ? undefined : kind.parse(textOf(kind, random)),
      ]),
    );

  test('Lua reads each field that TypeScript wrote, and writes the same text, which TypeScript reads', async () => {
    await Promise.all(
      Array.from({ length: TEXTS }, async () => {
        const values = someValues();
        const text = format.write(values as never);
        expect(format.parse(text)).toEqual(values);
        const words = layout.parts.map(({ field, kind }) => (values[field] === undefined ? '' : kind.print(values[field])));
        expect(await run(read, text)).toEqual(words);
        expect((await Promise.all(readOne.map((script) => run(script, text)))).flat()).toEqual(words);
        const isFull = leftOut.every((field) => values[field] !== undefined);
        if (isFull || leftOut.length === 0) expect(await run(writeAll, text)).toEqual([text]);
        else expect(await run(writeRequired, text)).toEqual([text]);
      }),
    );
  });

  test('both read a damaged text in the same way, or refuse it', async () => {
    let refused = 0;
    await Promise.all(
      Array.from({ length: TEXTS }, async () => {
        const text = damaged(format.write(someValues() as never), random);
        const [found, values] = [await run(read, text), format.parse(text)];
        if (values === undefined) refused++;
        expect([text, found.length > 0]).toEqual([text, values !== undefined]);
        if (values === undefined) return;
        // A damaged number may begin with zeros. An optional field that is empty is not there.
        const words = layout.parts.map(({ field, kind }) => (values[field] === undefined ? '' : kind.print(values[field])));
        const same = layout.parts.map(({ kind }, at) => (found[at] === '' ? '' : kind.print(kind.parse(found[at]!))));
        expect(same).toEqual(words);
      }),
    );
    expect(refused).toBeGreaterThan(TEXTS / 10);
  });
});

/** Without NUL, at which string.format of Lua ends a short text. No field holds it. */
const CHARACTERS = [...'09azAZ_-~!:=*+." \t\n\r>', ' ', 'é', '👾', '\u00a0'];

/** A text of the kind. */
function textOf(kind: Kind<unknown>, random: () => number): string {
  const isOf = new RegExp(`^${kind.js}$`);
  const some = CHARACTERS.filter((character) => isOf.test(character));
  const length = typeof kind.length === 'number' ? kind.length : 1 + Math.floor(random() * 9);
  const text = Array.from({ length }, () => some[Math.floor(random() * some.length)]!).join('');
  if (kind.directive !== '%d') return kind.print(kind.parse(text));
  return String(Number(text) * (kind.isSigned === true && random() < 0.5 ? -1 : 1));
}

/** A text with one character removed, added or replaced. */
function damaged(text: string, random: () => number): string {
  const characters = [...text];
  const at = Math.floor(random() * (characters.length + 1));
  const other = CHARACTERS[Math.floor(random() * CHARACTERS.length)]!;
  const kind = Math.floor(random() * 3);
  characters.splice(at, kind === 0 ? 0 : 1, ...(kind === 1 ? [] : [other]));
  return characters.join('');
}
