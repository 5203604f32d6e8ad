import { expect, test } from 'vitest';
import { limitsOf, withinLimits, type LimitedOperator, type Share } from '../../src/operator/coin-limits.ts';
import { forFile, freshId } from '../harness.ts';
import { startOperated } from './parts.ts';

const { parts } = await forFile(startOperated());
const services = { ...parts, config: { ...parts.config, TWO_PERSON_COINS: 3000 } };
const operatorNamed = (by: string): LimitedOperator => ({ by, role: 'admin', isPerson: false, isOutside: false });

test('more shares than one script counts are counted as one change: all of them, once, or none', async () => {
  const operator = operatorNamed(freshId('key'));
  const shares = Array.from({ length: 2500 }, (_, index): Share => [`account-${index}`, 1]);
  const change = (name: string, changed: readonly Share[] = shares) => ({ name, shares, changed: () => changed });
  const leftNow = async (): Promise<number | undefined> =>
    (await limitsOf({ name: 'none', shares: [], changed: () => [] }, operator, services)).leftAlone;
  const work = async () => 'done';
  // 501 accounts of the last part refuse: they count nothing.
  expect(await withinLimits(change('one', shares.slice(0, 1999)), operator, services, work)).toBe('done');
  expect(await leftNow()).toBe(1001);
  // Repeated for the rest, the rest counts.
  const rest = shares.slice(1999);
  expect(await withinLimits({ name: 'one', shares: rest, changed: () => rest }, operator, services, work)).toBe('done');
  expect(await leftNow()).toBe(500);
  // The first part of another change would be within this bound, and the whole is not.
  const wider = { ...services, config: { ...services.config, TWO_PERSON_COINS: 4000 } };
  expect((await limitsOf(change('two'), operator, wider)).refusal?.details['needs']).toBe('second_person');
  expect(await withinLimits(change('two'), operator, wider, work)).toMatchObject({ code: 'forbidden' });
  expect(await leftNow()).toBe(500);
});

test('a change that is sent several times at once counts once', async () => {
  const operator = operatorNamed(freshId('key'));
  const leftNow = async () => (await limitsOf({ name: 'none', shares: [], changed: () => [] }, operator, services)).leftAlone;
  const shares: Share[] = [
    ['one', 10],
    ['other', 10],
  ];
  // Each of two calls makes the change to one account, and finds the other changed. The second to count is the first to end.
  let secondHasEnded = (): void => {};
  const isOver = new Promise<void>((resolve) => (secondHasEnded = resolve));
  const change = { name: 'same', shares, changed: () => shares };
  const first = withinLimits(change, operator, services, () => isOver);
  await withinLimits(change, operator, services, async () => {});
  secondHasEnded();
  await first;
  expect(await leftNow()).toBe(2980);
});
