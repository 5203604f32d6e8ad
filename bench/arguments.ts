import { parseArgs } from 'node:util';
import type { RunSettings, Scenario } from './scenario.ts';

/** A mistake in the command line. The bench prints the message without a stack and ends with exit code 2. */
export class UsageError extends Error {}

/** The parsed command line. */
export interface CommandLine {
  readonly settings: RunSettings;
  readonly scenarios: readonly Scenario[];
  /** All scenarios at full size with default settings: only such a run may be published. */
  readonly isFullRun: boolean;
  /** Write the results to bench/results, which the README shows. */
  readonly publish: boolean;
  /** The commit to compare the working tree with. */
  readonly compare: string | undefined;
  /** The folder for the results; undefined for the default. */
  readonly out: string | undefined;
}

export const HELP = `npm run bench                                   run all scenarios, within ten minutes on two cores
npm run bench -- credit-session growth          run some scenarios, by name or family
npm run bench -- overload workers tail          run those that run only by name, in half an hour
npm run bench -- big-board                      fill a board with ten million players: 6 GiB of free memory, six to eight minutes
npm run bench -- --cluster                      compare the service on a Redis Cluster with the service on one Redis
npm run bench -- --quick                        run every scenario for an instant: a test of the bench, not a measurement
npm run bench -- --compare HEAD~1               compare this working tree with a commit, in alternating rounds
npm run bench -- credit-session --url http://127.0.0.1:3000 --connections 64 --seconds 10

  --compare COMMIT   a commit, branch or tag to compare this working tree with, by CPU per operation
  --cluster          run the scenarios of a Cluster of 3 primaries against one Redis, all or those named
  --url ADDRESS      load a running service (started with RATE_LIMIT=off), without floors and peers
  --remote           allow an address of another machine, which you must be allowed to load
  --connections N    connections of the HTTP load, 1 to 1000 (64)
  --seconds N        length of a round, 0.1 to 600 (0.3; with --quick 0.2; with --url 10)
  --rounds N         number of rounds, 1 to 50 (until the ratios are known within 5 %; with --quick and --url 1)
  --minutes N        time limit of the run, 0.1 to 600 (10; for named scenarios 2 each, or their own; with --compare and --cluster 15)
  --quick            small sizes, short rounds, no verdicts; also those that run only by name
  --publish          write the results of a full run to bench/results, which the README shows
  --out FOLDER       folder for the results (bench/results/other)
  --list             list the scenarios
  --help             print this help`;

const OPTIONS = {
  compare: { type: 'string' },
  cluster: { type: 'boolean' },
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

/** Time limit of a run of all scenarios. */
const MAX_MINUTES = 10;
/** Enough for about twenty pairs of processes when all scenarios are compared. */
const COMPARISON_MINUTES = 15;
/** Enough for the intervals of all scenarios of `--cluster`, and for filling boards and accounts of a million. */
const CLUSTER_MINUTES = 15;
const MINUTES_PER_SCENARIO = 2;

/**
 * @returns the command line, or for --help and --list the text to print
 * @throws UsageError when an option or a scenario name is wrong
 */
export function parseArguments(
  args: readonly string[],
  single: readonly Scenario[],
  ofCluster: readonly Scenario[] = [],
): CommandLine | string {
  const { values, positionals } = split(args);
  const { cluster = false } = values;
  const known = cluster ? ofCluster : single;
  if (values.help === true) return HELP;
  if (values.list === true)
    return known
      .map(({ name, summary, apart }) => `${name.padEnd(18)} ${summary}${apart === undefined ? '' : ' Runs only by name.'}`)
      .join('\n');
  const quick = values.quick ?? false;
  const url = values.url === undefined ? undefined : address(values.url, values.remote ?? false);
  if (url === undefined && values.remote === true) throw new UsageError('--remote allows an address of another machine, so it needs --url');
  const [seconds, rounds] = quick ? [0.2, 1] : url === undefined ? [0.3, undefined] : [10, 1];
  const { publish = false, compare } = values;
  const isFullRun = isDefaultRun(positionals, values);
  if (publish && !isFullRun) throw new UsageError(PUBLISH_REFUSED);
  if (compare !== undefined) refuseWithCompare(values);
  if (cluster && (url !== undefined || compare !== undefined)) throw new UsageError(CLUSTER_REFUSED);
  const picked = pick(positionals, known, { url, compare, quick });
  return {
    settings: {
      quick,
      cluster,
      url,
      connections: number('connections', values.connections, { from: 1, to: 1000, whole: true }) ?? 64,
      seconds: number('seconds', values.seconds, { from: 0.1, to: 600 }) ?? seconds,
      rounds: number('rounds', values.rounds, { from: 1, to: 50, whole: true }) ?? rounds,
      minutes: number('minutes', values.minutes, { from: 0.1, to: 600 }) ?? minutesOf(picked, known, { compare, cluster }),
    },
    scenarios: picked,
    isFullRun,
    publish,
    compare,
    out: values.out,
  };
}

type Values = ReturnType<typeof split>['values'];

/** Only the default command line gives results that others can reproduce and compare. */
function isDefaultRun(positionals: readonly string[], values: Values): boolean {
  const { quick = false, url, compare, out, seconds, rounds, connections } = values;
  return positionals.length === 0 && !quick && [url, compare, out, seconds, rounds, connections].every((value) => value === undefined);
}

const PUBLISH_REFUSED =
  '--publish replaces the results that the README shows, so it needs a full run: name no scenarios, and leave out --quick, --url, --compare, --out, --seconds, --rounds and --connections';

const CLUSTER_REFUSED = '--cluster starts a Redis Cluster and both services itself, so it cannot be used with --url or --compare';

function refuseWithCompare(values: Values): void {
  for (const name of ['url', 'quick', 'rounds'] as const)
    if (values[name] !== undefined)
      throw new UsageError(`--compare starts both services and decides how often to measure, so --${name} cannot be used with it`);
}

function minutesOf(
  picked: readonly Scenario[],
  known: readonly Scenario[],
  { compare, cluster }: { compare: string | undefined; cluster: boolean },
): number {
  if (compare !== undefined) return COMPARISON_MINUTES;
  const [together, apart] = [picked.filter((scenario) => !isApart(scenario)), picked.filter(isApart)];
  const all = known.filter((scenario) => !isApart(scenario));
  const most = cluster ? CLUSTER_MINUTES : MAX_MINUTES;
  const minutes = together.length === all.length ? most : Math.min(most, MINUTES_PER_SCENARIO * together.length);
  return apart.reduce((sum, scenario) => sum + scenario.apart!.minutes, minutes);
}

function split(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: OPTIONS, allowPositionals: true });
  } catch (error) {
    // The first sentence of Node's message names the option. The others explain how to escape arguments.
    throw new UsageError(`${(error as Error).message.split('. ')[0]}. See --help.`);
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
  if (url === null || !/^https?:$/.test(url.protocol))
    throw new UsageError(`--url "${text}" is not an address such as http://127.0.0.1:3000`);
  if (url.pathname !== '/' || url.search !== '' || url.username !== '') {
    throw new UsageError(`--url "${text}" must be the service's address without a path, such as ${url.protocol}//${url.host}`);
  }
  if (!isRemoteAllowed && !/^(localhost|127(\.\d+){3}|\[::1\])$/.test(url.hostname)) {
    throw new UsageError(`--url ${url.origin} is not this machine: add --remote if you are allowed to load it`);
  }
  return url.origin;
}

function pick(
  names: readonly string[],
  known: readonly Scenario[],
  { url, compare, quick }: { url: string | undefined; compare: string | undefined; quick: boolean },
): readonly Scenario[] {
  for (const name of names) {
    if (!known.some((scenario) => isCalled(scenario, name)))
      throw new UsageError(`there is no scenario "${name}". Scenarios: ${list(known)}`);
  }
  const picked =
    names.length === 0
      ? known.filter((scenario) => quick || !isApart(scenario))
      : known.filter((scenario) => names.some((name) => isCalled(scenario, name)));
  const isPossible = compare !== undefined ? isComparable : ({ anywhere }: Scenario): boolean => url === undefined || anywhere;
  const possible = picked.filter(isPossible);
  if (possible.length > 0) return possible;
  const others = list(known.filter(isPossible));
  if (compare !== undefined)
    throw new UsageError(`${names.join(', ')} cannot be compared: --compare needs short rounds. Scenarios for --compare: ${others}`);
  throw new UsageError(`${names.join(', ')} needs processes that the bench starts itself. Scenarios for --url: ${others}`);
}

/** Two checkouts can take turns only in scenarios that use the public API alone and have short rounds. */
function isComparable({ anywhere, rounds }: Scenario): boolean {
  return anywhere && rounds === undefined;
}

function isApart({ apart }: Scenario): boolean {
  return apart !== undefined;
}

function isCalled(scenario: Scenario, name: string): boolean {
  return scenario.name === name || scenario.family === name;
}

function list(scenarios: readonly Scenario[]): string {
  return [...new Set(scenarios.map(({ name, family }) => family ?? name))].join(', ');
}
