import { expect, test } from 'vitest';
import { parseArguments, UsageError, type CommandLine } from '../../bench/arguments.ts';
import type { Scenario } from '../../bench/scenario.ts';

function scenario(name: string, more: Partial<Scenario> = {}): Scenario {
  return { name, title: name, summary: `What ${name} does.`, operation: 'request', sides: [], targets: [], anywhere: true, ...more };
}

const known = [
  scenario('health'),
  scenario('credit-session'),
  scenario('burst', { rounds: 6 }),
  scenario('growth-accounts', { family: 'growth', anywhere: false }),
  scenario('growth-board', { family: 'growth', anywhere: false }),
  scenario('overload', { anywhere: false, apart: { minutes: 4 } }),
];

const ofCluster = [
  scenario('credit-session', { anywhere: false }),
  scenario('growth-accounts-1000', { family: 'growth', anywhere: false }),
];

const parse = (line: string): CommandLine | string => parseArguments(line === '' ? [] : line.split(' '), known, ofCluster);

const url = 'http://127.0.0.1:3000';

test.each<[line: string, scenarios: string, parsed: object]>([
  [
    '',
    'health credit-session burst growth-accounts growth-board',
    {
      isFullRun: true,
      publish: false,
      settings: { quick: false, connections: 64, seconds: 0.3, rounds: undefined, minutes: 10, url: undefined },
    },
  ],
  ['growth health', 'health growth-accounts growth-board', { isFullRun: false, settings: { minutes: 6 } }],
  ['health --minutes 4', 'health', { settings: { minutes: 4 } }],
  // A scenario with a time limit of its own runs when it is named, and in a quick run.
  ['health overload', 'health overload', { settings: { minutes: 6 } }],
  [
    '--quick',
    'health credit-session burst growth-accounts growth-board overload',
    { isFullRun: false, settings: { quick: true, seconds: 0.2, rounds: 1 } },
  ],
  // Against a running service: the scenarios that use the public API alone.
  [
    `--url ${url}/ --connections 8 --seconds 2.5`,
    'health credit-session burst',
    { isFullRun: false, settings: { url, connections: 8, seconds: 2.5, rounds: 1 } },
  ],
  ['--url http://[::1]:3000', 'health credit-session burst', { settings: { url: 'http://[::1]:3000' } }],
  ['--url https://coinop.example --remote', 'health credit-session burst', { settings: { url: 'https://coinop.example' } }],
  // A comparison needs the public API and short rounds.
  ['--compare HEAD~1', 'health credit-session', { compare: 'HEAD~1', isFullRun: false, settings: { minutes: 15 } }],
  ['--compare HEAD health growth', 'health', {}],
  ['--cluster --publish', 'credit-session growth-accounts-1000', { publish: true, settings: { cluster: true, minutes: 15 } }],
  ['growth --cluster', 'growth-accounts-1000', { settings: { minutes: 2 } }],
  [
    '--publish --minutes 20',
    'health credit-session burst growth-accounts growth-board',
    { publish: true, isFullRun: true, settings: { minutes: 20 } },
  ],
])('npm run bench -- %s runs %s', (line, scenarios, parsed) => {
  const found = parse(line) as CommandLine;
  expect(found).toMatchObject(parsed);
  expect(found.scenarios.map(({ name }) => name).join(' ')).toBe(scenarios);
});

test('--list and --help give a text', () => {
  expect(parse('--list')).toContain('credit-session     What credit-session does.');
  expect(parse('--list')).toContain('What overload does. Runs only by name.');
  expect(parse('--help')).toContain('--connections');
});

test.each([
  ['nope', 'there is no scenario "nope". Scenarios: health, credit-session, burst, growth, overload'],
  ['--quik', "Unknown option '--quik'"],
  ['--connections 0', '--connections "0" is not a whole number from 1 to 1000'],
  ['--seconds ten', '--seconds "ten" is not a number from 0.1 to 600'],
  ['--url localhost:3000', '--url "localhost:3000" is not an address'],
  [`--url ${url}/v1`, "must be the service's address without a path, such as http://127.0.0.1:3000"],
  ['--url http://127.0.0.1.example', 'http://127.0.0.1.example is not this machine: add --remote'],
  ['--remote', 'it needs --url'],
  ...['health', '--quick', `--url ${url}`, '--compare HEAD', '--out /tmp', '--rounds 1'].map((more) => [
    `--publish ${more}`,
    'needs a full run',
  ]),
  [`--cluster --url ${url}`, '--cluster starts a Redis Cluster'],
  ['--compare HEAD burst', 'burst cannot be compared: --compare needs short rounds. Scenarios for --compare: health, credit-session'],
  [`growth --url ${url}`, 'growth needs processes that the bench starts itself. Scenarios for --url: health, credit-session, burst'],
])('npm run bench -- %s is refused: %s', (line, message) => {
  expect(() => parse(line!)).toThrow(UsageError);
  expect(() => parse(line!)).toThrow(message);
});
