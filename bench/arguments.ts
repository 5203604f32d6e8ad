import { parseArgs } from 'node:util';
import type { RunSettings, Scenario } from './scenario.ts';

/** What the person at the terminal can mend. */
export class UsageError extends Error {}

export interface Order {
  readonly settings: RunSettings;
  readonly scenarios: readonly Scenario[];
  /** Everything at full size: what results/ shows. */
  readonly isWhole: boolean;
  /** Where the results go, where that was said. */
  readonly out: string | undefined;
}

export const HELP = `npm run bench                                   all scenarios, some ten minutes on two cores
npm run bench -- credit-session growth          some of them, by name or family
npm run bench -- --quick                        all of them in a minute: tells whether it works, not how fast it is
npm run bench -- credit-session --url http://127.0.0.1:3000 --connections 64 --seconds 10

  --url ADDRESS      load a service that runs already (started with RATE_LIMIT=off), without floors and peers
  --remote           the address may be another machine's: you are allowed to load it
  --connections N    of the HTTP load, 1 to 1000 (64)
  --seconds N        length of a round, 0.1 to 600 (1; with --quick 0.2; with --url 10)
  --rounds N         1 to 50 (5; with --quick and --url 1)
  --quick            small sizes, short rounds
  --out FOLDER       where the results are written (bench/results)
  --list             the scenarios there are
  --help             this`;

const OPTIONS = {
  url: { type: 'string' },
  remote: { type: 'boolean' },
  connections: { type: 'string' },
  seconds: { type: 'string' },
  rounds: { type: 'string' },
  quick: { type: 'boolean' },
  out: { type: 'string' },
  list: { type: 'boolean' },
  help: { type: 'boolean' },
} as const;

/**
 * @returns the order, or a text that is all there is to say
 * @throws UsageError that names what is wrong
 */
export function parseArguments(args: readonly string[], known: readonly Scenario[]): Order | string {
  const { values, positionals } = split(args);
  if (values.help === true) return HELP;
  if (values.list === true) return known.map(({ name, summary }) => `${name.padEnd(18)} ${summary}`).join('\n');
  const quick = values.quick ?? false;
  const url = values.url === undefined ? undefined : address(values.url, values.remote ?? false);
  if (url === undefined && values.remote === true)
    throw new UsageError('--remote says that --url may be another machine, and there is no --url');
  const [seconds, rounds] = quick ? [0.2, 1] : url === undefined ? [1, 5] : [10, 1];
  return {
    settings: {
      quick,
      url,
      connections: number('connections', values.connections, { from: 1, to: 1000, whole: true }) ?? 64,
      seconds: number('seconds', values.seconds, { from: 0.1, to: 600 }) ?? seconds,
      rounds: number('rounds', values.rounds, { from: 1, to: 50, whole: true }) ?? rounds,
    },
    scenarios: pick(positionals, known, url),
    isWhole: positionals.length === 0 && !quick && url === undefined,
    out: values.out,
  };
}

function split(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: OPTIONS, allowPositionals: true });
  } catch (error) {
    // Node's first sentence names the option; what follows is about escaping.
    throw new UsageError(`${(error as Error).message.split('. ')[0]}. --help tells what there is.`);
  }
}

function number(
  name: string,
  text: string | undefined,
  { from, to, whole = false }: { from: number; to: number; whole?: boolean },
): number | undefined {
  if (text === undefined) return undefined;
  const value = text.trim() === '' ? Number.NaN : Number(text);
  if (value >= from && value <= to && (!whole || Number.isInteger(value))) return value;
  throw new UsageError(`--${name} "${text}" is not a ${whole ? 'whole ' : ''}number from ${from} to ${to}`);
}

function address(text: string, isRemoteAllowed: boolean): string {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol)) throw new UsageError(`--url "${text}" is no address such as http://127.0.0.1:3000`);
  if (url.pathname !== '/' || url.search !== '' || url.username !== '') {
    throw new UsageError(`--url "${text}" has to be the service's address alone, such as ${url.protocol}//${url.host}`);
  }
  if (!isRemoteAllowed && !/^(localhost|127(\.\d+){3}|\[::1\])$/.test(url.hostname)) {
    throw new UsageError(`--url ${url.origin} is not this machine: add --remote if it is yours to load`);
  }
  return url.origin;
}

function pick(names: readonly string[], known: readonly Scenario[], url: string | undefined): readonly Scenario[] {
  for (const name of names) {
    if (!known.some((scenario) => isCalled(scenario, name)))
      throw new UsageError(`there is no scenario "${name}". There are: ${list(known)}`);
  }
  const picked = names.length === 0 ? known : known.filter((scenario) => names.some((name) => isCalled(scenario, name)));
  if (url === undefined) return picked;
  const anywhere = picked.filter((scenario) => scenario.anywhere);
  if (anywhere.length > 0) return anywhere;
  const possible = known.filter((scenario) => scenario.anywhere);
  throw new UsageError(`${names.join(', ')} looks into processes that the bench starts itself. With --url there are: ${list(possible)}`);
}

function isCalled(scenario: Scenario, name: string): boolean {
  return scenario.name === name || scenario.family === name;
}

function list(scenarios: readonly Scenario[]): string {
  return [...new Set(scenarios.map(({ name, family }) => family ?? name))].join(', ');
}
