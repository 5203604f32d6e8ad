import { spawnSync } from 'node:child_process';
import { hash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { channels, features } from '../../../src/api.ts';
import { docsOf } from '../../../src/web/documents/documents.ts';
import { inheritedEnvironment } from '../../environment.ts';
import type { Part, Stand } from '../../proofs/proof.ts';
import { startChild } from '../../realtime/child.ts';
import { callsOf, heyApiCalls, openapiFetchCalls, orvalCalls, type CalledDocument } from './generated-calls.ts';
import { generate, languages, run as runCommand } from './languages.ts';

/**
 * openapi-typescript, @hey-api/openapi-ts and orval generate TypeScript from the document without a warning. The generated code compiles
 * under `strict`, and so do a game that uses it and a call of each operation, with all fields and with only the required ones; mistakes in
 * that game do not compile. openapi-generator generates a client in five languages, and a game in each calls a service with it. Those in C#
 * and Java are compiled with a call of each operation; the client in Python sends these calls.
 *
 * The first three generators need TypeScript's compiler API, which TypeScript 7 does not have. So they get a separate TypeScript 5 in a
 * temporary folder; npm fetches all generators into it. The languages are those of `scripts/languages.mjs`.
 */

const packages = {
  typescript: '5.9.3',
  'openapi-typescript': '7.13.0',
  'openapi-fetch': '0.17.0',
  '@hey-api/openapi-ts': '0.99.0',
  orval: '8.38.0',
  // The newest version that contains the program. Later versions download the program when they run.
  '@openapitools/openapi-generator-cli': '1.0.18-5.0.0-beta2',
};
const JAR_SHA256 = '5c62d437e0f319fe5e9065242e270a14fb0581b4a92c5833f44940e18717dc0b';

const game = `
import type { components, paths } from './openapi-typescript/schema';
import { createClient } from './hey-api/client';
import { createRoom, creditCoins, getCoinHistory, getRoom, joinRoom, kickPlayer, setRoomState } from './hey-api';
import type { HighscoreEntry, LedgerEntry, Room, Seat, Subscription, Trial } from './hey-api';

type Schemas = components['schemas'];
const seq: number = {} as number satisfies Schemas['Room']['seq'];
const coins: LedgerEntry['coins'] = ({} as Schemas['LedgerEntry']).coins;
const types: [Schemas['Seat'], Schemas['Trial'], Schemas['Subscription'], Schemas['HighscoreEntry']] = [{} as Seat, {} as Trial, {} as Subscription, {} as HighscoreEntry];
type Conflict = paths['/v1/coins/debit']['post']['responses'][409]['content']['application/json']['error']['code'];
const conflict: Conflict = 'insufficient_coins';
// @ts-expect-error a debit is never refused with this code
const badConflict: Conflict = 'room_full';

export async function play(): Promise<Room | undefined> {
  const client = createClient({ baseUrl: 'http://localhost:3000' });
  const installId = 'install-0001';
  const credited = await creditCoins({ client, body: { installId, coins: 5, key: 'level-7' } });
  if (credited.data === undefined) return undefined;
  const balance: number = credited.data.balanceAfterCoins;
  const { data: opened } = await createRoom({ client, body: { installId, maxPlayers: 2, minPlayers: 1 } });
  if (opened === undefined) return undefined;
  const path = { code: opened.room.code };
  await joinRoom({ client, path, body: { installId: 'install-0002', name: 'Bob' } });
  await setRoomState({ client, path, body: { installId, state: { balance, conflict, types, badConflict } } });
  await kickPlayer({ client, path, body: { installId, playerId: 'p2' } });
  // @ts-expect-error a kick needs a player
  await kickPlayer({ client, path, body: { installId } });
  // @ts-expect-error coins are needed
  await creditCoins({ client, body: { installId, key: 'level-8' } });
  const { data: page } = await getCoinHistory({ client, query: { limit: 10 } });
  const total: number | undefined = page?.entries.reduce((sum, entry) => sum + entry.coins, coins);
  const { data: later, error } = await getRoom({ client, path, query: { since: opened.room.seq, wait: total ?? 20 } });
  if (error !== undefined && error.error.code === 'room_not_found') return undefined;
  return later?.room;
}
`;

export const parts: readonly Part[] = [
  {
    ...{ proof: 'openapi', name: 'generators', seconds: 100, prove },
    about:
      'generators accept the OpenAPI document: their clients compile in TypeScript, C# and Java, and games in five languages call the service',
  },
];

async function prove({ folder, figures, closing }: Stand): Promise<void> {
  const report = (what: string, held: boolean, output = ''): boolean => {
    figures.report(what, held ? 'yes' : 'no', 'yes', held);
    if (!held) console.log(output.trim().replace(/^/gm, '    '));
    return held;
  };
  /** Runs a script of Node in the folder. A warning counts as a failure. */
  const run = (what: string, script: string, ...args: readonly string[]): void => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [script, ...args], {
      cwd: folder,
      encoding: 'utf8',
      env: inheritedEnvironment({ NO_COLOR: '1', CI: '1' }),
    });
    const output = `${stdout}${stderr}`;
    report(what, status === 0 && !/warn|deprecated|⚠|✘|error/i.test(output), output || `exit code ${status}`);
  };
  const bin = (name: string): string => join(folder, 'node_modules', name);

  const document = docsOf({ features, channels, operator: undefined, sandbox: undefined, playground: undefined, hasMetricsPort: false })()
    .openapi.text;
  writeFileSync(join(folder, 'openapi.json'), document);
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true, type: 'module', dependencies: packages }));
  const flags = ['--no-audit', '--no-fund', '--ignore-scripts', '--loglevel=error'];
  const npm = spawnSync('npm', ['install', ...flags], { cwd: folder, encoding: 'utf8' });
  if (!report('npm fetches the generators', npm.status === 0, npm.stderr)) return;
  mkdirSync(join(folder, 'openapi-typescript'));
  const schema = join('openapi-typescript', 'schema.ts');
  run('openapi-typescript generates without a warning', bin('openapi-typescript/bin/cli.js'), 'openapi.json', '-o', schema);
  const output = ['--output', 'hey-api', '--no-log-file'];
  run('@hey-api/openapi-ts generates without a warning', bin('@hey-api/openapi-ts/bin/run.js'), '--input', 'openapi.json', ...output);
  writeFileSync(
    join(folder, 'orval.config.mjs'),
    "export default { coinop: { input: './openapi.json', output: { target: './orval/client.ts', client: 'fetch' } } };",
  );
  run('orval generates without a warning', bin('orval/dist/bin/orval.mjs'), '--config', 'orval.config.mjs');
  const calls = callsOf(JSON.parse(document) as CalledDocument);
  figures.atLeast('operations, each of which is called', calls.length, 80);
  const written = { 'openapi-fetch': openapiFetchCalls, 'hey-api': heyApiCalls, orval: orvalCalls };
  for (const [name, write] of Object.entries(written)) writeFileSync(join(folder, `calls-${name}.ts`), write(calls));
  const generated = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) =>
    /^(hey-api|openapi-typescript|orval\/).*\.ts$/.test(file),
  );
  figures.atLeast('files that they wrote', generated.length, 11);
  writeFileSync(join(folder, 'game.ts'), game);
  const strict = '--noEmit --strict --noUncheckedIndexedAccess --target es2022 --lib es2023,dom,dom.iterable';
  const options = `${strict} --module esnext --moduleResolution bundler`.split(' ');
  run('what they generated and a game that uses it compile under strict', bin('typescript/bin/tsc'), ...options, 'game.ts', ...generated);
  for (const name of Object.keys(written))
    run(`a call of each operation compiles with the types of ${name}`, bin('typescript/bin/tsc'), ...options, `calls-${name}.ts`);

  const jar = bin('@openapitools/openapi-generator-cli/bin/openapi-generator.jar');
  const isPinned = hash('sha256', readFileSync(jar)) === JAR_SHA256;
  if (!report('the program of openapi-generator is the one that this proof names', isPinned)) return;
  const service = await startChild({ DATA_DIR: join(folder, 'data') });
  closing.push(() => service.stop());
  for (const language of languages) {
    const client = join(folder, language.generator[0]!);
    const made = generate(language, join(folder, 'openapi.json'), client, jar);
    language.writeCalls?.(client, calls);
    if (!report(`openapi-generator generates a client in ${language.name}`, made.succeeded, made.output)) continue;
    const compiled = language.compile === undefined ? undefined : runCommand(language.compile(client, jar));
    if (compiled !== undefined)
      report(`it compiles, with a game and a call of each operation in ${language.name}`, compiled.succeeded, compiled.output);
    if (compiled?.succeeded === false) continue;
    const called = runCommand(language.call(client, jar, service.url));
    const isRight = called.succeeded && called.stdout.trim() === language.printed;
    report(`the game in ${language.name} calls the service by it`, isRight, called.output);
    if (language.callAll === undefined) continue;
    const all = runCommand(language.callAll(client, service.url));
    report(`each operation is called in ${language.name}`, all.succeeded && all.stdout.trim() === String(calls.length), all.output);
  }
}
