import { spawnSync } from 'node:child_process';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { childEnvironment } from '../environment.ts';
import { freePort } from '../free-port.ts';
import { languageProgram } from '../languages.ts';
import { samplesOf, type Sample } from '../page-samples.ts';
import { Place } from '../proofs/place.ts';
import type { Stand } from '../proofs/proof.ts';
import { compiled } from './csharp.ts';
import { godot, makeGodotProject } from './godot.ts';

const clients = fileURLToPath(new URL('../../src/clients', import.meta.url));
const pathOf = (name: string): string => fileURLToPath(new URL(`pages/${name}`, import.meta.url));

/** What a sample calls only if the service refuses something. */
const REFUSED = /^(show_?problem|undo)$/i;
/** A purchase of no store is refused. */
const BOUGHT = 'token-from-the-store';

type Ran = (samples: readonly Sample[], url: string, folder: string) => string;

/** How the samples of each page are run. Returns a line for each problem, among other lines. */
const languages: Readonly<Record<string, Ran>> = {
  python(samples, url, folder) {
    const given = join(folder, 'python.json');
    writeFileSync(given, JSON.stringify(samples));
    const typed = join(folder, 'samples.py');
    writeFileSync(typed, typedPython(samples));
    const mypy = [
      languageProgram('clients', 'mypy'),
      '--check-untyped-defs',
      '--no-error-summary',
      '--cache-dir',
      join(folder, 'mypy'),
      typed,
    ];
    const ran = run([languageProgram('clients', 'python3'), pathOf('python.py'), url, given], { PYTHONPATH: join(clients, 'python') });
    return run(mypy, { MYPYPATH: join(clients, 'python') }) + ran;
  },
  csharp(samples, url, folder) {
    const source = join(folder, 'pages.cs');
    writeFileSync(source, csharpProgram(samples));
    // A sample ends where the reader's game would use what it has got, and some have nothing to wait for.
    return run([...compiled(join(folder, 'pages.exe'), source, '-nowarn:219,1998'), url, folder]);
  },
  gdscript(samples, url, folder) {
    const game = join(folder, 'godot');
    makeGodotProject(game, url);
    cpSync(pathOf('main.gd'), join(game, 'main.gd'));
    writeFileSync(join(game, 'samples.gd'), gdscriptProgram(samples));
    writeFileSync(
      join(game, 'main.tscn'),
      '[gd_scene format=3]\n[ext_resource type="Script" path="res://main.gd" id="1"]\n[node name="Main" type="Node"]\nscript = ExtResource("1")\n',
    );
    const output = run([godot, '--headless', '--no-header', '--path', game, 'res://main.tscn'], { HOME: folder });
    return output.includes('All samples have run') ? output : `${output}error: not all samples have run`;
  },
};

/** Runs the samples of the pages of the languages as they are written, each against the service. */
export async function provePages(stand: Stand): Promise<void> {
  const { figures, folder } = stand;
  const place = await Place.open({ settings: { PORT: await freePort(), NODE_ENV: 'development', RATE_LIMIT: 'off' } }, stand);
  for (const [language, ran] of Object.entries(languages)) {
    const page = `docs/clients/${language}.md`;
    const samples = samplesOf(page).map((sample) => ({ ...sample, text: sample.text.replaceAll('https://coinop.example', place.url()) }));
    const problems = printed(() => ran(samples, place.url(), folder))
      .split('\n')
      .filter((line) => /docs\/clients|SCRIPT ERROR|error: /.test(line));
    if (problems.length > 0) console.log(problems.join('\n'));
    figures.exactly(`problems of the ${samples.length} samples of ${page}`, problems.length, 0);
  }
}

/** What some programs print, or why they could not be made. */
function printed(ran: () => string): string {
  try {
    return ran();
  } catch (error) {
    return `error: ${(error as Error).message}`;
  }
}

/** What a program prints. A program that fails prints an error. */
function run([program, ...words]: readonly string[], settings: Readonly<Record<string, string>> = {}): string {
  const ended = spawnSync(program!, words, { env: childEnvironment(settings), encoding: 'utf8', timeout: 240_000 });
  const end = ended.error?.message ?? (ended.status === 0 ? '' : `exit code ${ended.status}`);
  return `${ended.stdout ?? ''}${ended.stderr ?? ''}${end === '' ? '' : `\nerror: ${end}\n`}`;
}

/** The functions of the reader's game that have to be called by a sample. */
const calledBy = ({ text }: Sample, program: string, pattern: RegExp): string[] =>
  [...program.matchAll(pattern)]
    .map(([, name]) => name!)
    .filter((name) => text.includes(`${name}(`) && !REFUSED.test(name) && !text.includes(BOUGHT));

/** The samples in Python as functions of a module, for mypy. Running them does not show that their types fit. */
function typedPython(samples: readonly Sample[]): string {
  const names = /^GAME = "(.*)"\.split/m.exec(readFileSync(pathOf('python.py'), 'utf8'))![1]!.split(' ');
  const game = names.map((name) => `def ${name}(*given: object) -> None: ...\n`).join('');
  const reader = `from coinop import Client, FileStore\nclient: Client\ncode: str\ntoken: str\n${game}def ask_player(question: str) -> bool: return True\n`;
  const functions = samples.map(({ text, place }, index) => {
    // The one without asyncio has the same names.
    const own = text.includes('coinop.plain')
      ? text.replace('import Client', 'import Client as Plain').replaceAll('Client(', 'Plain(')
      : text;
    return `\n# ${place}\nasync def sample_${index}() -> None:\n${own.replaceAll(/^(?=.)/gm, '    ')}`;
  });
  return reader + functions.join('');
}

/** The program that runs the samples in C#, of which each is a method. */
function csharpProgram(samples: readonly Sample[]): string {
  const program = readFileSync(pathOf('csharp.cs'), 'utf8');
  const methods = samples.map(({ text, place }, index) => {
    const [page, line] = place.split(':');
    const code = text.replaceAll('new FileStore("player")', 'new FileStore(folder)');
    return `    static async Task Sample${index}() {\n#line ${Number(line) + 1} "${page}"\n${code}#line default\n    }\n`;
  });
  const runs = samples.map((sample, index) => {
    const called = calledBy(sample, program, /static void (\w+)\(/g).map((name) => `, "${name}"`);
    return `        await Run(args[0], "${sample.place}", Sample${index}${called.join('')});\n`;
  });
  const main = `    static void Main(string[] args) => Dispatcher.Run(async () => {\n${runs.join('')}    });\n`;
  return `${program}\nstatic partial class Pages {\n${methods.join('\n')}\n${main}}\n`;
}

/** The script that runs the samples in GDScript, of which each is a function. */
function gdscriptProgram(samples: readonly Sample[]): string {
  const program = readFileSync(pathOf('gdscript.gd'), 'utf8');
  const functions = samples.map(({ text, place }, index) => {
    const code = text.replaceAll(/^(?=.)/gm, '\t');
    return `\n\n## ${place}\nfunc _sample_${index}() -> void:\n${code}`;
  });
  const listed = samples.map((sample, index) => {
    const called = calledBy(sample, program, /^func ([a-z]\w+)\(/gm).filter((name) => name !== 'ask_player');
    return `["${sample.place}", _sample_${index}, ${JSON.stringify(called)}]`;
  });
  return `${program}${functions.join('')}\n\nfunc _samples() -> Array:\n\treturn [\n\t\t${listed.join(',\n\t\t')},\n\t]\n`;
}
