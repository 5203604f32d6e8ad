import { parseArgs } from 'node:util';
import type { RunSettings, Scenario } from './scenario.ts';

/** What the person at the terminal can mend. */
export class UsageError extends Error {}

export interface Order {
  readonly settings: RunSettings;
  readonly scenarios: readonly Scenario[];
  /** Everything at full size: what results/ shows. */
  readonly isWhole: boolean;
  /** The results become those that the README shows. */
  readonly publish: boolean;
  /** The commit that the working tree is compared with. */
  readonly compare: string | undefined;
  /** Where the results go, where that was said. */
  readonly out: string | undefined;
}

export const HELP = `npm run bench                                   all scenarios, within ten minutes on two cores
npm run bench -- credit-session growth          some of them, by name or family
npm run bench -- --quick                        all of them in a minute or two: tells whether it works, not how fast it is
npm run bench -- --compare HEAD~1               what a commit changed: it and this working tree, in alternating rounds
npm run bench -- credit-session --url http://127.0.0.1:3000 --connections 64 --seconds 10

  --compare COMMIT   a commit, branch or tag to compare this working tree with, by CPU per operation
  --url ADDRESS      load a service that runs already (started with RATE_LIMIT=off), without floors and peers
  --remote           the address may be another machine's: you are allowed to load it
  --connections N    of the HTTP load, 1 to 1000 (64)
  --seconds N        length of a round, 0.1 to 600 (0.3; with --quick 0.2; with --url 10)
  --rounds N         exactly so many, 1 to 50 (until the ratios are known within 5 %; with --quick and --url 1)
  --minutes N        what the run may take, 0.1 to 600 (10; of some scenarios 2 each; with --compare 15)
  --quick            small sizes, short rounds, no verdicts
  --publish          make the results of a whole run those that the README shows (bench/results)
  --out FOLDER       where the results are written (bench/results/other)
  --list             the scenarios there are
  --help             this`;

const OPTIONS = {
  compare: { type: 'string' },
  url: { type: 'string' },
  remote: { type: 'boolean' },
  connections: { type: 'string' },
  seconds: { type: 'string' },
  rounds: { type: 'string' },
  minutes: { type: 'string' },
  quick: { type: 'boolean' },
  publish: { type: 'boolean' },
  out: { type: 'string' },
  list: { type: 'boolean' },
  help: { type: 'boolean' },
} as const;

/** All scenarios together. */
const MOST_MINUTES = 10;
/** In which a comparison of all scenarios has some twenty pairs of processes. */
const COMPARISON_MINUTES = 15;
const MINUTES_A_SCENARIO = 2;

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
  const [seconds, rounds] = quick ? [0.2, 1] : url === undefined ? [0.3, undefined] : [10, 1];
  const { publish = false, compare } = values;
  const isWhole = isEverything(positionals, values);
  if (publish && !isWhole) throw new UsageError(PUBLISH_REFUSED);
  if (compare !== undefined) refuseWithCompare(values);
  const picked = pick(positionals, known, { url, compare });
  return {
    settings: {
      quick,
      url,
      connections: number('connections', values.connections, { from: 1, to: 1000, whole: true }) ?? 64,
      seconds: number('seconds', values.seconds, { from: 0.1, to: 600 }) ?? seconds,
      rounds: number('rounds', values.rounds, { from: 1, to: 50, whole: true }) ?? rounds,
      minutes: number('minutes', values.minutes, { from: 0.1, to: 600 }) ?? minutesOf(picked, known, compare),
    },
    scenarios: picked,
    isWhole,
    publish,
    compare,
    out: values.out,
  };
}

type Values = ReturnType<typeof split>['values'];

/** What others can take the same way: every scenario, nothing set otherwise. */
function isEverything(positionals: readonly string[], values: Values): boolean {
  const { quick = false, url, compare, out, seconds, rounds, connections } = values;
  return positionals.length === 0 && !quick && [url, compare, out, seconds, rounds, connections].every((value) => value === undefined);
}

const PUBLISH_REFUSED =
  '--publish replaces the results that the README shows, and takes a whole run: all scenarios, none named, without --quick, --url, --compare, --out, --seconds, --rounds and --connections';

function refuseWithCompare(values: Values): void {
  for (const name of ['url', 'quick', 'rounds'] as const)
    if (values[name] !== undefined)
      throw new UsageError(`--compare starts both services itself, and measures until it knows: it does not go with --${name}`);
}

function minutesOf(picked: readonly Scenario[], known: readonly Scenario[], compare: string | undefined): number {
  if (compare !== undefined) return COMPARISON_MINUTES;
  return picked.length === known.length ? MOST_MINUTES : Math.min(MOST_MINUTES, MINUTES_A_SCENARIO * picked.length);
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

function pick(
  names: readonly string[],
  known: readonly Scenario[],
  { url, compare }: { url: string | undefined; compare: string | undefined },
): readonly Scenario[] {
  for (const name of names) {
    if (!known.some((scenario) => isCalled(scenario, name)))
      throw new UsageError(`there is no scenario "${name}". There are: ${list(known)}`);
  }
  const picked = names.length === 0 ? known : known.filter((scenario) => names.some((name) => isCalled(scenario, name)));
  const isPossible = compare !== undefined ? isComparable : ({ anywhere }: Scenario): boolean => url === undefined || anywhere;
  const possible = picked.filter(isPossible);
  if (possible.length > 0) return possible;
  const others = list(known.filter(isPossible));
  if (compare !== undefined)
    throw new UsageError(`${names.join(', ')} cannot be compared: it takes too long to be repeated. There are: ${others}`);
  throw new UsageError(`${names.join(', ')} looks into processes that the bench starts itself. With --url there are: ${others}`);
}

/** Needs nothing but the public API, and rounds of it are short: two checkouts can take turns. */
function isComparable({ anywhere, rounds }: Scenario): boolean {
  return anywhere && rounds === undefined;
}

function isCalled(scenario: Scenario, name: string): boolean {
  return scenario.name === name || scenario.family === name;
}

function list(scenarios: readonly Scenario[]): string {
  return [...new Set(scenarios.map(({ name, family }) => family ?? name))].join(', ');
}
