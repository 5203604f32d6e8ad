import { expect, inject, test } from 'vitest';
import { stateOfUserData } from '../user-data.ts';

test('no test wrote to ./data, where the service of the user of this clone may keep its data', ({ skip }) => {
  const [before, now] = [inject('userDataBefore'), stateOfUserData()];
  if (before.isServed || now.isServed) return skip('a service runs on ./data');
  expect(now.files).toEqual(before.files);
});
