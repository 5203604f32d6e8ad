import { execFile, spawnSync } from 'node:child_process';
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { fileURLToPath } from 'node:url';
import { parseAst } from 'rolldown/parseAst';
import { describe, expect, test } from 'vitest';
import { settingNames } from '../src/config.ts';
import { inheritedEnvironment } from './environment.ts';
import { samplesOf, type Sample } from './page-samples.ts';

const project = fileURLToPath(new URL('..', import.meta.url));
const pages = globSync('{*.md,src/*.md,docs/**/*.md}', { cwd: project }).sort();

const samples: Sample[] = pages.flatMap(samplesOf);
const of = (...languages: string[]): Sample[] => samples.filter(({ language }) => languages.includes(language));

/** The names from the reader's game that samples use. A sample's own declarations have priority. */
const READER = `
import type { Client } from '${project}src/clients/javascript/client.ts';
import type { ListedRoom } from '${project}src/clients/javascript/rooms.ts';
declare global {
  const client: Client;
  const code: string;
  const accountId: string;
  const match: { id: number };
  function draw(...parts: unknown[]): void;
  function say(from: string, data: unknown): void;
  function later(match: { id: number }): Promise<void>;
  function isLegal(from: string, data: unknown): boolean;
  function askPlayer(question: string): boolean;
  function signInWith(provider: string, nonce?: string): Promise<string>;
  function showBalance(coins: number): void;
  function undo(type: string, coins: number): void;
  function showList(rooms: readonly ListedRoom[]): void;
  function showProblem(error: { code: string; message: string }): void;
  function showConnection(status: string): void;
  function showCoins(coins: number): void;
  function showAds(shown: boolean): void;
  function showSeat(playerId: string): void;
  function lastCursor(): Promise<string | undefined>;
  function keepCursor(cursor: string): Promise<void>;
  function forget(accountId: string): Promise<void>;
  function addUp(accountId: string, coins: number): Promise<void>;
}
`;

/** The imports of a page's other samples, for samples without imports. */
const IMPORTED: Readonly<Record<string, string>> = {
  'README.md': `import { playRoom } from 'coinop/client/rooms';`,
  'docs/clients/javascript.md': `import { coinop } from 'coinop/client';`,
  'docs/authority.md': `import type { ServerClient } from 'coinop/client/server'; declare const coinop: ServerClient;`,
  'CONTRIBUTING.md':
    `import { z } from '${project}node_modules/zod/index.js'; import type { Holding } from '${project}src/accounts/holdings.ts'; ` +
    `import { heldFields, isoTime } from '${project}src/accounts/merge-rules.ts';`,
};

/** A page's globals beside its script: each element with an id is a global of this name (HTML, named access on the Window object). */
const elementsOf = (markup: string): string =>
  [...markup.matchAll(/<(\w+)[^>]* id="(\w+)"/g)].map(([, tag, id]) => `declare const ${id}: HTMLElementTagNameMap['${tag}'];`).join(' ');

/** A sample as a module, on the lines that it has on its page. */
function moduleOf({ place, language, text }: Sample): string {
  const script = /([\s\S]*<script type="module">)\n([\s\S]*?)<\/script>/.exec(text);
  const line = (script?.[1] ?? '').split('\n').length - (script ? 0 : 1);
  // A page without a build has no types.
  const source =
    script?.[2]!
      .replaceAll(/(playRoom|quickMatch)\(/g, '$1<{ state: any; data: any; private: any; message: any }>(')
      .replace('savesOf(', 'savesOf<any>(') ?? text;
  const known = /^\s*import /m.test(source) ? '' : (IMPORTED[place.split(':')[0]!] ?? '');
  const head = `${known} ${language === 'html' ? elementsOf(text) : ''} export {};`;
  return head + '\n'.repeat(Number(place.split(':')[1]) + line) + source;
}

test('every sample in TypeScript, JavaScript and HTML compiles under tsc --strict', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'coinop-samples-'));
  const code = of('js', 'ts', 'html');
  try {
    writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
    writeFileSync(join(folder, 'reader.d.ts'), READER);
    for (const [index, sample] of code.entries()) writeFileSync(join(folder, `${index}.ts`), moduleOf(sample));
    const from = (name: string): string[] => [join(project, 'src/clients/javascript', name)];
    const paths = {
      'coinop/client': from('client.ts'),
      'coinop/client/rooms': from('rooms.ts'),
      'coinop/client/saves': from('saves.ts'),
      'coinop/client/server': from('server.ts'),
      ...Object.fromEntries(
        ['https://coinop.example', 'http://127.0.0.1:3000'].flatMap((url) => [
          [`${url}/client.js`, from('client.ts')],
          [`${url}/rooms.js`, from('rooms.ts')],
          [`${url}/saves.js`, from('saves.ts')],
        ]),
      ),
      jose: [join(project, 'node_modules/jose/dist/types/index.d.ts')],
    };
    writeFileSync(
      join(folder, 'tsconfig.json'),
      JSON.stringify({
        extends: join(project, 'src/web/browser/tsconfig.json'),
        compilerOptions: { paths, typeRoots: [join(project, 'node_modules/@types')], noUncheckedIndexedAccess: false },
        include: ['.'],
      }),
    );
    // Several threads check the same types again, and would take twice the CPU time.
    const options = ['--noEmit', '--singleThreaded', '--project', folder];
    const { stdout } = await promisify(execFile)(join(project, 'node_modules/.bin/tsc'), options, { cwd: folder }).catch(
      (error: { stdout: string }) => error,
    );
    const problems = stdout.replaceAll(
      /^(\d+)\.ts\((\d+),\d+\)/gm,
      (_, index, line) => `${code[Number(index)]!.place.split(':')[0]}:${line}`,
    );
    expect(problems).toBe('');
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('every sample is in a language that is compiled or parsed here, or on a page whose samples `npm run prove:clients` runs', () => {
  expect(samples.length).toBeGreaterThan(60);
  const here = ['ts', 'js', 'jsx', 'html', 'sh', 'json'];
  const others = samples.filter(({ language, place }) => !here.includes(language) && !place.startsWith(`docs/clients/${language}.md:`));
  expect(others.map(({ place }) => place)).toEqual([]);
});

test('every sample in JSX can be parsed', () => {
  for (const { text } of of('jsx')) expect(() => parseAst(text, { lang: 'jsx' })).not.toThrow();
});

test('every sample in JSON is JSON', () => {
  for (const { text } of of('json')) expect(() => JSON.parse(text)).not.toThrow();
});

describe('every sample for a shell', () => {
  const { scripts } = JSON.parse(readFileSync(join(project, 'package.json'), 'utf8')) as { scripts: Readonly<Record<string, string>> };
  const shell = of('sh');
  const wrong = (problemsOf: (sample: Sample) => readonly string[]): string[] =>
    shell.flatMap((sample) => problemsOf(sample).map((problem) => `${sample.place}: ${problem}`));

  test('is one that bash can parse', () => {
    // bash warns of a locale that the machine lacks.
    const env = inheritedEnvironment({ LC_ALL: 'C' });
    const problems = wrong(({ text }) => {
      const { stderr } = spawnSync('bash', ['-n'], { input: text, encoding: 'utf8', env });
      return stderr === '' ? [] : [stderr];
    });
    expect(problems).toEqual([]);
  });

  test('names scripts of package.json, files and settings that exist', () => {
    const problems = wrong(({ text }) => {
      const code = text.replaceAll(/(^|\s)#.*$/gm, '');
      return [
        ...[...code.matchAll(/npm run (?:--silent )?([\w:]+)/g)].filter(([, name]) => scripts[name!] === undefined),
        ...[...code.matchAll(/(?:^|\s)node (src\/[\w./-]+|docs\/[\w./-]+)/gm)].filter(([, file]) => !existsSync(join(project, file!))),
        ...[...code.matchAll(/(?:^|[;&|] *)((?:[A-Z_]+=\S+ +)+)npm (?:start|run)/gm)]
          .flatMap(([, given]) => [...given!.matchAll(/([A-Z_]+)=/g)])
          .filter(([, name]) => !OTHER_SETTINGS.includes(name!) && !(settingNames as readonly string[]).includes(name!)),
      ].map(([problem]) => problem.trim());
    });
    expect(problems).toEqual([]);
  });
});

/** Of Node and of the test runner, which config.ts does not read. */
const OTHER_SETTINGS = ['TEST_LONG', 'PAGES'];
