import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { languageProgram, languagesOf } from '../../languages.ts';
import { inheritedEnvironment } from '../../environment.ts';
import { csharpCalls, javaCalls, pythonCalls, type Call } from './generated-calls.ts';

/** The files that `scripts/languages.mjs` unpacks. */
const home = languagesOf('openapi');
const unpacked = (path: string): string => join(home, 'root/usr', path);

const games = fileURLToPath(new URL('generated', import.meta.url));

/** A command with its environment variables. */
interface Command {
  readonly program: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** A language for which openapi-generator writes a client. */
export interface Language {
  readonly name: string;
  /** The arguments of openapi-generator. */
  readonly generator: readonly string[];
  /** Writes a call of each operation into the folder of the client. */
  writeCalls?(client: string, calls: readonly Call[]): void;
  /** Compiles the client, a game that uses it, and the calls. Interpreted languages load both when they call. */
  compile?(client: string, jar: string): Command;
  /** Runs the game, which loads the whole client. */
  call(client: string, jar: string, url: string): Command;
  /** Sends the calls, and prints how many were answered. */
  callAll?(client: string, url: string): Command;
  /** The output of the game: a balance, the code of a refusal and its detail, then its view of a room. */
  readonly printed: string;
}

const GAME = '5 insufficient_coins 5 lobby 1';
/** The generator of PHP and that of Ruby read no field of any type, such as the state of a room. */
const WITHOUT_ROOM = '5 insufficient_coins 5';

export const languages: readonly Language[] = [
  {
    name: 'Python',
    generator: ['python'],
    call: (client, _, url) => ({
      program: 'python3',
      args: [join(games, 'game.py'), url],
      env: { PYTHONPATH: `${client}:${unpacked('lib/python3/dist-packages')}` },
    }),
    writeCalls: (client, calls) => writeFileSync(join(client, 'calls.py'), pythonCalls(calls)),
    callAll: (client, url) => ({
      program: 'python3',
      args: [join(client, 'calls.py'), url],
      env: { PYTHONPATH: `${client}:${unpacked('lib/python3/dist-packages')}` },
    }),
    printed: GAME,
  },
  {
    name: 'C#',
    // This is the name in the generator. Unity uses the same library.
    generator: ['csharp-netcore'],
    writeCalls: (client, calls) => writeFileSync(join(client, 'Calls.cs'), csharpCalls(calls)),
    compile(client) {
      const sources = join(client, 'src/Org.OpenAPITools');
      // ApiClient.cs of the games replaces these two files, because they need packages that Debian does not have.
      for (const name of ['ApiClient.cs', 'RetryConfiguration.cs']) rmSync(join(sources, 'Client', name), { force: true });
      const assemblies = ['Net.Http', 'Web', 'Runtime.Serialization', 'ComponentModel.DataAnnotations'].map((name) => `-r:System.${name}`);
      const own = [...['ApiClient.cs', 'Game.cs'].map((name) => join(games, name)), join(client, 'Calls.cs')];
      const options = ['-warn:0', `-out:${join(client, 'game.exe')}`, `-r:${join(jsonNet(), 'Newtonsoft.Json.dll')}`];
      return { program: 'mcs', args: [...options, ...assemblies, `-recurse:${sources}/*.cs`, ...own] };
    },
    call: (client, _, url) => ({ program: 'mono', args: [join(client, 'game.exe'), url], env: { MONO_PATH: jsonNet() } }),
    printed: GAME,
  },
  {
    name: 'Java',
    // This library needs only the JDK and Jackson, and the jar of the generator contains Jackson.
    generator: ['java', '--library', 'native'],
    writeCalls: (client, calls) => writeFileSync(join(client, 'Calls.java'), javaCalls(calls)),
    compile(client, jar) {
      const sources = readdirSync(join(client, 'src/main/java'), { recursive: true, encoding: 'utf8' })
        .filter((name) => name.endsWith('.java'))
        .map((name) => join(client, 'src/main/java', name));
      const own = ['Game.java', 'JsonNullable.java', 'JsonNullableModule.java']
        .map((name) => join(games, name))
        .concat(join(client, 'Calls.java'));
      return { program: 'javac', args: ['-nowarn', '-encoding', 'UTF-8', '-d', join(client, 'classes'), '-cp', jar, ...sources, ...own] };
    },
    call: (client, jar, url) => ({ program: 'java', args: ['-cp', `${join(client, 'classes')}:${jar}`, 'Game', url] }),
    printed: GAME,
  },
  {
    name: 'PHP',
    generator: ['php'],
    call: (client, _, url) => ({
      program: 'php',
      args: ['-d', `include_path=${unpacked('share/php')}:/usr/share/php`, join(games, 'game.php'), url, join(client, 'lib')],
    }),
    printed: WITHOUT_ROOM,
  },
  {
    name: 'Ruby',
    generator: ['ruby'],
    call: (client, _, url) => ({ program: 'ruby', args: ['-I', join(client, 'lib'), join(games, 'game.rb'), url] }),
    printed: WITHOUT_ROOM,
  },
];

const jsonNet = (): string => unpacked('lib/cli/Newtonsoft.Json-5.0');

/** A command that ends in time with success may still print a wrong text: see `stdout`. */
export interface Ran {
  readonly succeeded: boolean;
  readonly stdout: string;
  readonly output: string;
}

export function run({ program, args, env = {} }: Command): Ran {
  const { status, stdout, stderr, error } = spawnSync(languageProgram('openapi', program), args, {
    encoding: 'utf8',
    env: inheritedEnvironment(env),
    maxBuffer: 64 * 1024 * 1024,
    timeout: LONGEST_MS,
  });
  const output = error === undefined ? `${stdout}${stderr}`.slice(0, 4000) : error.message;
  return { succeeded: status === 0, stdout: stdout ?? '', output };
}

/** Some generators of this version never end for some documents. */
const LONGEST_MS = 120_000;

/** Generates a client. Fails if the generator made up names for unnamed parts of the document. */
export function generate({ generator }: Language, document: string, client: string, jar: string): Ran {
  mkdirSync(client, { recursive: true });
  copyFileSync(document, join(client, 'openapi.json'));
  const parts = 'apiTests=false,modelTests=false,apiDocs=false,modelDocs=false';
  const [name, ...options] = generator;
  const input = ['generate', '-i', join(client, 'openapi.json'), '-o', client, '--global-property', parts];
  const ran = run({ program: 'java', args: ['-jar', jar, ...input, '-g', name!, ...options] });
  const madeUp = readdirSync(client, { recursive: true, encoding: 'utf8' }).filter((file) =>
    /inline_?(object|response)|(any|one|all)_?of/i.test(file),
  );
  const lost = /allOf with multiple schemas/.test(ran.output) ? ['an allOf'] : [];
  const problems = [...madeUp, ...lost];
  return problems.length === 0 ? ran : { ...ran, succeeded: false, output: problems.join('\n') };
}
