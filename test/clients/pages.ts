import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { childEnvironment } from '../environment.ts';
import { freePort } from '../free-port.ts';
import { languageProgram } from '../languages.ts';
import { samplesOf, type Sample } from '../page-samples.ts';
import { compiled } from './csharp.ts';
import { Place } from '../proofs/place.ts';
import type { Stand } from '../proofs/proof.ts';

const project = fileURLToPath(new URL('../..', import.meta.url));
const pathOf = (name: string): string => fileURLToPath(new URL(`pages/${name}`, import.meta.url));
const program = (name: string): string => languageProgram('clients', name);

/** What is called only if the service refuses something, or if a real store has sold something. */
const NOT_HERE = ['ShowProblem', 'Undo'];

/** Runs the samples of the pages of Python and C# as they are written, each against the service. */
export async function provePages(stand: Stand): Promise<void> {
  const { figures, folder } = stand;
  const place = await Place.open({ settings: { PORT: await freePort(), NODE_ENV: 'development', RATE_LIMIT: 'off' } }, stand);
  const samples = (language: string): Sample[] =>
    samplesOf(`docs/clients/${language}.md`).map((sample) => ({
      ...sample,
      text: sample.text.replaceAll('https://coinop.example', place.url()),
    }));
  const run = (words: readonly string[], settings: Readonly<Record<string, string>> = {}): string => {
    const { stdout, stderr, status, error } = spawnSync(words[0]!, words.slice(1), { env: childEnvironment(settings), encoding: 'utf8' });
    return error?.message ?? (status === 0 ? stdout : `${stdout}${stderr}exit code ${status}\n`);
  };
  const report = (language: string, count: number, problems: string): void => {
    if (problems !== '') console.log(problems);
    figures.exactly(`problems of the ${count} samples of docs/clients/${language}.md`, problems.split('\n').filter(Boolean).length, 0);
  };

  const inPython = samples('python');
  const given = join(folder, 'python.json');
  writeFileSync(given, JSON.stringify(inPython));
  report(
    'python',
    inPython.length,
    run([program('python3'), pathOf('python.py'), place.url(), given], { PYTHONPATH: join(project, 'src/clients/python') })
      .split('\n')
      .filter((line) => line.startsWith('docs/') || line.startsWith('exit code') || line.includes('Error'))
      .join('\n'),
  );

  const inCsharp = samples('csharp');
  const source = join(folder, 'pages.cs');
  writeFileSync(source, csharpProgram(inCsharp));
  const made = join(folder, 'pages.exe');
  const built = run([
    ...[program('mcs'), '-langversion:7.2', '-r:System.Net.Http', `-out:${made}`],
    ...[`-recurse:${join(project, 'src/clients/csharp/Runtime/Core/*.cs')}`, source],
  ]);
  const problems = built.includes('error') ? built : run([program('mono'), made, place.url(), folder]);
  report(
    'csharp',
    inCsharp.length,
    problems
      .split('\n')
      .filter((line) => /docs\/|error|exit code/.test(line))
      .join('\n'),
  );
}

/** The program that runs the samples in C#, of which each is a method. */
function csharpProgram(samples: readonly Sample[]): string {
  const names = [...readFileSync(pathOf('csharp.cs'), 'utf8').matchAll(/static void (\w+)\(/g)].map(([, name]) => name!);
  const methods = samples.map(({ text, place }, index) => {
    const [page, line] = place.split(':');
    const code = text.replaceAll('new FileStore("player")', 'new FileStore(folder)');
    return `    static async Task Sample${index}() {\n#line ${Number(line) + 1} "${page}"\n${code}#line default\n    }\n`;
  });
  const runs = samples.map(({ text, place }, index) => {
    const isSold = text.includes('token-from-the-store');
    const called = names.filter((name) => text.includes(`${name}(`) && !NOT_HERE.includes(name) && !isSold).map((name) => `"${name}"`);
    return `        await Run(args[0], ${[`"${place}"`, `Sample${index}`, ...called].join(', ')});\n`;
  });
  const main = `    static void Main(string[] args) => Dispatcher.Run(async () => {\n${runs.join('')}    });\n`;
  return `${readFileSync(pathOf('csharp.cs'), 'utf8')}\n#pragma warning disable 1998\nstatic partial class Pages {\n${methods.join('\n')}\n${main}}\n`;
}
