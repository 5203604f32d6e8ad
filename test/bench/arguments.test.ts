import { describe, expect, test } from 'vitest';
import { parseArguments, UsageError, type Order } from '../../bench/arguments.ts';
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
];

const order = (...args: string[]): Order => parseArguments(args, known) as Order;
const namesOf = (...args: string[]): string[] => order(...args).scenarios.map(({ name }) => name);
const refusalOf = (...args: string[]): string => {
  try {
    parseArguments(args, known);
  } catch (error) {
    if (error instanceof UsageError) return error.message;
    throw error;
  }
  return 'not refused';
};

describe('an order', () => {
  test('for everything at full size', () => {
    expect(namesOf()).toEqual(['health', 'credit-session', 'burst', 'growth-accounts', 'growth-board']);
    expect(order()).toMatchObject({
      isWhole: true,
      settings: { quick: false, connections: 64, seconds: 0.3, rounds: undefined, minutes: 10, url: undefined },
    });
  });

  test('by name, and by family, in the order of the table of contents', () => {
    expect(namesOf('growth', 'health')).toEqual(['health', 'growth-accounts', 'growth-board']);
    expect(namesOf('growth-board')).toEqual(['growth-board']);
    expect(order('health').isWhole).toBe(false);
  });

  test('in quick mode', () => {
    expect(order('--quick')).toMatchObject({ isWhole: false, settings: { quick: true, seconds: 0.2, rounds: 1 } });
  });

  test('against a service that runs elsewhere: what needs nothing but its public API', () => {
    expect(order('--url', 'http://127.0.0.1:3000/', '--connections', '8', '--seconds', '2.5')).toMatchObject({
      isWhole: false,
      settings: { url: 'http://127.0.0.1:3000', connections: 8, seconds: 2.5, rounds: 1 },
    });
    expect(namesOf('--url', 'http://localhost:3000')).toEqual(['health', 'credit-session', 'burst']);
    expect(order('--url', 'http://[::1]:3000').settings.url).toBe('http://[::1]:3000');
    expect(order('--url', 'https://coinop.example', '--remote').settings.url).toBe('https://coinop.example');
  });

  test('of some scenarios takes less time, unless told', () => {
    expect(order('health').settings.minutes).toBe(2);
    expect(order('health', '--minutes', '4').settings.minutes).toBe(4);
  });

  test('against a commit: short scenarios of the public API, for a quarter of an hour', () => {
    expect(order('--compare', 'HEAD~1')).toMatchObject({ compare: 'HEAD~1', isWhole: false, settings: { minutes: 15 } });
    expect(namesOf('--compare', 'HEAD')).toEqual(['health', 'credit-session']);
    expect(namesOf('--compare', 'HEAD', 'health', 'growth')).toEqual(['health']);
  });

  test('publishes a whole run, however long it may take', () => {
    expect(order('--publish')).toMatchObject({ publish: true, isWhole: true });
    expect(order('--publish', '--minutes', '20').publish).toBe(true);
    expect(order().publish).toBe(false);
  });

  test('for a text: the scenarios, the help', () => {
    expect(parseArguments(['--list'], known)).toContain('credit-session     What credit-session does.');
    expect(parseArguments(['--help'], known)).toContain('--connections');
  });
});

describe('refused, and named', () => {
  test.each([
    [['nope'], 'there is no scenario "nope". There are: health, credit-session, burst, growth'],
    [['--quik'], "Unknown option '--quik'"],
    [['--connections', '0'], '--connections "0" is not a whole number from 1 to 1000'],
    [['--connections', '2.5'], '--connections "2.5" is not a whole number'],
    [['--seconds', 'ten'], '--seconds "ten" is not a number from 0.1 to 600'],
    [['--seconds', ''], '--seconds "" is not a number'],
    [['--rounds', '51'], '--rounds "51" is not a whole number from 1 to 50'],
    [['--url', 'localhost:3000'], '--url "localhost:3000" is no address'],
    [['--url', 'http://127.0.0.1:3000/v1'], "has to be the service's address alone, such as http://127.0.0.1:3000"],
    [['--url', 'http://192.0.2.7:3000'], 'http://192.0.2.7:3000 is not this machine: add --remote'],
    [['--url', 'http://127.0.0.1.example'], 'is not this machine'],
    [['--remote'], 'there is no --url'],
    [['--minutes', '0'], '--minutes "0" is not a number from 0.1 to 600'],
    [['--publish', 'health'], 'takes a whole run'],
    [['--publish', '--quick'], 'takes a whole run'],
    [['--publish', '--url', 'http://127.0.0.1:3000'], 'takes a whole run'],
    [['--publish', '--compare', 'HEAD'], 'takes a whole run'],
    [['--publish', '--out', '/tmp'], 'takes a whole run'],
    [['--publish', '--rounds', '1'], 'takes a whole run'],
    [['--compare', 'HEAD', '--quick'], 'it does not go with --quick'],
    [['--compare', 'HEAD', '--url', 'http://127.0.0.1:3000'], 'it does not go with --url'],
    [['--compare', 'HEAD', 'burst'], 'burst cannot be compared: it takes too long to be repeated. There are: health, credit-session'],
    [
      ['growth', '--url', 'http://127.0.0.1:3000'],
      'growth looks into processes that the bench starts itself. With --url there are: health, credit-session, burst',
    ],
  ])('%j', (args, message) => {
    expect(refusalOf(...args)).toContain(message);
  });
});
