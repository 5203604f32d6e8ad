import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { cases } from '../conformance/cases/cases.ts';
import { inBrowsers, inUnity, languages } from '../conformance/languages.ts';
import { mistakes } from '../conformance/mistakes.ts';
import { playable, Player, type Language } from '../conformance/play.ts';
import { childEnvironment } from '../environment.ts';
import { languageProgram } from '../languages.ts';
import type { Part, Stand } from '../proofs/proof.ts';
import { compile, compiled } from './csharp.ts';
import { godot, inGodot } from './godot.ts';
import { pairs } from './players.ts';
import { proveInBrowser } from './unity-browser.ts';
import { isThere } from './there.ts';
import { provePages } from './pages.ts';
import { proveCoins, provePair, proveReadmes } from './real.ts';

const project = fileURLToPath(new URL('../..', import.meta.url));

export const parts: readonly Part[] = [
  {
    ...{ proof: 'clients', name: 'cases', seconds: 120, prove: playAll },
    about: 'plays all cases of the conformance run with the client of each language',
  },
  {
    ...{ proof: 'clients', name: 'unity', seconds: 80, prove: playInUnity },
    about:
      'compiles what the C# client has for Unity against stand-ins of Unity, plays all cases with it, and runs its part for browsers in Chromium',
  },
  {
    ...{ proof: 'clients', name: 'csharp', seconds: 20, prove: checkCsharp },
    about: 'checks what the C# client has of its own: JSON with random values, files, and the main thread with calls of other threads',
  },
  {
    ...{ proof: 'clients', name: 'types', seconds: 20, prove: checkTypes },
    about: 'checks the types of the Python client with mypy, strict',
  },
  {
    ...{ proof: 'clients', name: 'godot', seconds: 20, prove: tryGodotStores },
    about: 'tries the stores and the JSON of the client in GDScript, and compiles each of its scripts',
  },
  {
    ...{ proof: 'clients', name: 'coins', seconds: 60, prove: proveCoins },
    about: 'players in each language earn coins, while they, the service and its Redis are killed',
  },
  ...pairs.map(([first, second, moves]): Part => ({
    ...{ proof: 'clients', name: `${first}-${second}`, seconds: 90, prove: provePair(first, second, moves) },
    about: `players in ${first} and ${second} make ${moves} moves in one room, while each is killed and offline, and so are the service and its Redis`,
  })),
  {
    ...{ proof: 'clients', name: 'readme', seconds: 40, prove: proveReadmes },
    about:
      'compiles and runs the programs of the READMEs of the clients, of which one each plays tic-tac-toe against the page of the example',
  },
  {
    ...{ proof: 'clients', name: 'pages', seconds: 40, prove: provePages },
    about: 'runs the samples of the page of each language as they are written',
  },
  {
    ...{ proof: 'clients', name: 'planted', seconds: 600, prove: plantAll },
    about: 'plants mistakes in the client of each language, each of which the cases have to catch',
  },
];

const runs = (stand: Stand, { name, command, build }: Language): boolean =>
  [command, build].every((each) => each === undefined || isThere(stand, name, each[0]!));

async function playAll(stand: Stand): Promise<void> {
  const columns: string[][] = [];
  const played = languages.filter((language) => runs(stand, language));
  for (const language of played) columns.push(await playWith(stand, language));
  console.log(`\n| case | ${played.map(({ name }) => name).join(' | ')} |\n|---|${played.map(() => '---|').join('')}`);
  for (const [index, { kind, name }] of cases.entries())
    console.log(`| ${kind}: ${name} | ${columns.map((column) => column[index]).join(' | ')} |`);
}

/** Plays all cases with one client. Returns the seconds of each, `NO` for one that it does not play, and `cannot` for one that it lacks. */
async function playWith({ figures, closing }: Stand, language: Language): Promise<string[]> {
  const player = new Player(language);
  closing.push(() => player.close());
  const outcomes: string[] = [];
  const played = playable(language, cases);
  for (const each of cases) {
    if (!played.includes(each)) {
      outcomes.push('cannot');
      continue;
    }
    const startedAt = performance.now();
    const problem = await player.play(each);
    outcomes.push(problem === undefined ? `${((performance.now() - startedAt) / 1000).toFixed(2)} s` : 'NO');
    if (problem !== undefined) console.log(`${language.name}: ${each.kind}: ${each.name}\n    ${problem}`);
  }
  const failures = outcomes.filter((each) => each === 'NO').length;
  figures.exactly(`cases of ${cases.length} that the client in ${language.name} does not play`, failures, 0);
  return outcomes;
}

async function playInUnity(stand: Stand): Promise<void> {
  if (!runs(stand, inUnity)) return;
  // In a browser nothing of it runs without Unity.
  compile(inBrowsers.command[1]!, inBrowsers.build!);
  await playWith(stand, inUnity);
  await proveInBrowser(stand);
}

async function checkCsharp(stand: Stand): Promise<void> {
  if (!isThere(stand, 'csharp', languageProgram('clients', 'mcs'))) return;
  const sources = fileURLToPath(new URL('csharp/Checks.cs', import.meta.url));
  const [program, ...words] = compiled(join(stand.folder, 'checks.exe'), sources);
  const folder = mkdtempSync(join(stand.folder, 'kept-'));
  const { status, stdout, stderr } = spawnSync(program!, ['--debug', ...words, folder, String(stand.flags.seed % 2 ** 31)], {
    ...{ env: childEnvironment({}), encoding: 'utf8' as const },
  });
  if (status !== 0) console.log(stdout + stderr);
  stand.figures.exactly('exit code of the checks', status, 0);
  stand.figures.report('checks', stdout.trim().split('\n').at(-1)!);
}

async function tryGodotStores(stand: Stand): Promise<void> {
  if (!isThere(stand, 'gdscript', godot)) return;
  const run = ([program, ...words]: readonly string[]) => spawnSync(program!, words, { env: childEnvironment({}), encoding: 'utf8' });
  const script = fileURLToPath(new URL('gdscript/stores.gd', import.meta.url));
  const { stdout } = run([...inGodot(script), join(stand.folder, 'kept')]);
  console.log(stdout);
  stand.figures.atLeast('checks of stores and JSON', Number(stdout.trim().split('\n').at(-1)), 50);
  stand.figures.exactly('of these wrong', stdout.split('WRONG').length - 1, 0);
  const addon = join(project, 'src/clients/gdscript/addons/coinop');
  const scripts = readdirSync(addon, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.gd'));
  const broken = scripts.filter((name) => run([...inGodot(`res://addons/coinop/${name}`).slice(0, -1), '--check-only']).status !== 0);
  stand.figures.exactly(`of ${scripts.length} scripts with an error or an untyped variable`, broken.length, 0);
}

async function checkTypes(stand: Stand): Promise<void> {
  const mypy = languageProgram('clients', 'mypy');
  if (!isThere(stand, 'mypy', mypy)) return;
  const { status, stdout } = spawnSync(mypy, ['--strict', '--cache-dir', join(stand.folder, 'mypy'), 'coinop'], {
    ...{ cwd: join(project, 'src/clients/python'), env: childEnvironment({}), encoding: 'utf8' as const },
  });
  if (status !== 0) console.log(stdout);
  stand.figures.exactly('exit code of mypy --strict', status, 0);
}

async function plantAll(stand: Stand): Promise<void> {
  // Copies of the clients and their drivers. What a client imports from the rest of the project are types.
  for (const path of ['src/clients', 'test/conformance/drivers'])
    cpSync(join(project, path), join(stand.folder, path), { recursive: true });
  writeFileSync(join(stand.folder, 'package.json'), '{"type":"module"}');
  for (const language of languages) {
    const { name, command, build } = language;
    if (!runs(stand, language)) continue;
    const moved = (words: readonly string[]): string[] => words.map((word) => word.replace(project, `${stand.folder}/`));
    const [program, ...words] = command;
    const copied = {
      name,
      command: [program!, ...moved(words)],
      lacks: language.lacks ?? [],
      ...(build && { build: [build[0]!, ...moved(build.slice(1))] }),
    };
    for (const { name: what, file, before, after } of mistakes.filter(({ language }) => language === name)) {
      const path = join(stand.folder, 'src/clients', name, file);
      const right = readFileSync(path, 'utf8');
      const found = right.split(before).length - 1;
      writeFileSync(
        path,
        right.replace(before, () => after),
      );
      const caught = found === 1 ? await firstCaught(copied) : undefined;
      writeFileSync(path, right);
      const outcome = found === 1 ? (caught ?? 'by no case') : `${file} has its text ${found} times`;
      stand.figures.report(`${name}: ${what}`, caught === undefined ? 'no' : 'caught', 'caught', caught !== undefined);
      console.log(`    ${outcome}`);
    }
  }
}

/** The name of the first case that the client does not play. */
async function firstCaught(language: Language): Promise<string | undefined> {
  const player = new Player(language);
  try {
    for (const each of playable(language, cases)) if ((await player.play(each)) !== undefined) return each.name;
    return undefined;
  } finally {
    await player.close();
  }
}
