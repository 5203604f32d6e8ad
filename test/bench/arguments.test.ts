import { describe, expect, test } from 'vitest';
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

const parse = (...args: string[]): CommandLine => parseArguments(args, known, ofCluster) as CommandLine;
const namesOf = (...args: string[]): string[] => parse(...args).scenarios.map(({ name }) => name);
const refusalOf = (...args: string[]): string => {
  try {
    parseArguments(args, known, ofCluster);
  } catch (error) {
    if (error instanceof UsageError) return error.message;
    throw error;
  }
  return 'not refused';
};

describe('the command line', () => {
  test('without arguments runs all scenarios at full size', () => {
    expect(namesOf()).toEqual(['health', 'credit-session', 'burst', 'growth-accounts', 'growth-board']);
    expect(parse()).toMatchObject({
      isFullRun: true,
      settings: { quick: false, connections: 64, seconds: 0.3, rounds: undefined, minutes: 10, url: undefined },
    });
  });

  test('names scenarios or families, which run in the order of scenarios.ts', () => {
    expect(namesOf('growth', 'health')).toEqual(['health', 'growth-accounts', 'growth-board']);
    expect(namesOf('growth-board')).toEqual(['growth-board']);
    expect(parse('health').isFullRun).toBe(false);
  });

  test('--quick runs every scenario, also those that run only by name, unless some are named', () => {
    expect(parse('--quick')).toMatchObject({ scenarios: known });
    expect(known.filter(({ apart }) => apart !== undefined)).not.toEqual([]);
    expect(parse('health', '--quick')).toMatchObject({ scenarios: [{ name: 'health' }] });
  });

  test('--quick shortens the rounds', () => {
    expect(parse('--quick')).toMatchObject({ isFullRun: false, settings: { quick: true, seconds: 0.2, rounds: 1 } });
  });

  test('--url runs the scenarios that use the public API alone', () => {
    expect(parse('--url', 'http://127.0.0.1:3000/', '--connections', '8', '--seconds', '2.5')).toMatchObject({
      isFullRun: false,
      settings: { url: 'http://127.0.0.1:3000', connections: 8, seconds: 2.5, rounds: 1 },
    });
    expect(namesOf('--url', 'http://localhost:3000')).toEqual(['health', 'credit-session', 'burst']);
    expect(parse('--url', 'http://[::1]:3000').settings.url).toBe('http://[::1]:3000');
    expect(parse('--url', 'https://coinop.example', '--remote').settings.url).toBe('https://coinop.example');
  });

  test('with named scenarios sets a shorter time limit than without', () => {
    expect(parse('health').settings.minutes).toBe(2);
    expect(parse('health', '--minutes', '4').settings.minutes).toBe(4);
  });

  test('a scenario with its own time limit runs only when it is named', () => {
    expect(namesOf()).not.toContain('overload');
    expect(namesOf('overload')).toEqual(['overload']);
    expect(parse('overload').settings.minutes).toBe(4);
    expect(parse('health', 'overload').settings.minutes).toBe(6);
    expect(parseArguments(['--list'], known)).toContain('What overload does. Runs only by name.');
  });

  test('--compare runs the short scenarios of the public API for 15 minutes', () => {
    expect(parse('--compare', 'HEAD~1')).toMatchObject({ compare: 'HEAD~1', isFullRun: false, settings: { minutes: 15 } });
    expect(namesOf('--compare', 'HEAD')).toEqual(['health', 'credit-session']);
    expect(namesOf('--compare', 'HEAD', 'health', 'growth')).toEqual(['health']);
  });

  test('--cluster runs the scenarios of a Cluster, all or those named', () => {
    expect(parse('--cluster')).toMatchObject({ isFullRun: true, settings: { cluster: true, minutes: 15 } });
    expect(namesOf('--cluster')).toEqual(['credit-session', 'growth-accounts-1000']);
    expect(namesOf('growth', '--cluster')).toEqual(['growth-accounts-1000']);
    expect(parse('growth', '--cluster').settings.minutes).toBe(2);
    expect(parse('--cluster', '--publish').publish).toBe(true);
  });

  test('--publish accepts a full run with any time limit', () => {
    expect(parse('--publish')).toMatchObject({ publish: true, isFullRun: true });
    expect(parse('--publish', '--minutes', '20').publish).toBe(true);
    expect(parse().publish).toBe(false);
  });

  test('--list and --help give a text', () => {
    expect(parseArguments(['--list'], known)).toContain('credit-session     What credit-session does.');
    expect(parseArguments(['--help'], known)).toContain('--connections');
  });
});

describe('a usage error names the mistake', () => {
  test.each([
    [['nope'], 'there is no scenario "nope". Scenarios: health, credit-session, burst, growth, overload'],
    [['--quik'], "Unknown option '--quik'"],
    [['--connections', '0'], '--connections "0" is not a whole number from 1 to 1000'],
    [['--connections', '2.5'], '--connections "2.5" is not a whole number'],
    [['--seconds', 'ten'], '--seconds "ten" is not a number from 0.1 to 600'],
    [['--seconds', ''], '--seconds "" is not a number'],
    [['--rounds', '51'], '--rounds "51" is not a whole number from 1 to 50'],
    [['--url', 'localhost:3000'], '--url "localhost:3000" is not an address'],
    [['--url', 'http://127.0.0.1:3000/v1'], "must be the service's address without a path, such as http://127.0.0.1:3000"],
    [['--url', 'http://192.0.2.7:3000'], 'http://192.0.2.7:3000 is not this machine: add --remote'],
    [['--url', 'http://127.0.0.1.example'], 'is not this machine'],
    [['--remote'], 'it needs --url'],
    [['--minutes', '0'], '--minutes "0" is not a number from 0.1 to 600'],
    [['--publish', 'health'], 'needs a full run'],
    [['--publish', '--quick'], 'needs a full run'],
    [['--publish', '--url', 'http://127.0.0.1:3000'], 'needs a full run'],
    [['--publish', '--compare', 'HEAD'], 'needs a full run'],
    [['--publish', '--out', '/tmp'], 'needs a full run'],
    [['--publish', '--rounds', '1'], 'needs a full run'],
    [['--cluster', '--url', 'http://127.0.0.1:3000'], '--cluster starts a Redis Cluster'],
    [['--cluster', 'health'], 'there is no scenario "health". Scenarios: credit-session, growth'],
    [['--compare', 'HEAD', '--quick'], '--quick cannot be used with it'],
    [['--compare', 'HEAD', '--url', 'http://127.0.0.1:3000'], '--url cannot be used with it'],
    [
      ['--compare', 'HEAD', 'burst'],
      'burst cannot be compared: --compare needs short rounds. Scenarios for --compare: health, credit-session',
    ],
    [
      ['growth', '--url', 'http://127.0.0.1:3000'],
      'growth needs processes that the bench starts itself. Scenarios for --url: health, credit-session, burst',
    ],
  ])('%j', (args, message) => {
    expect(refusalOf(...args)).toContain(message);
  });
});
