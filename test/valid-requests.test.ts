import { expect, test } from 'vitest';
import { api } from './api.ts';
import { nameOf, takesInstallId, validRequests } from './valid-requests.ts';

test('every endpoint has a valid request in test/valid-requests.ts', () => {
  expect(Object.keys(validRequests).toSorted()).toEqual(api.map(nameOf).toSorted());
});

test.each(api.map((endpoint) => [nameOf(endpoint), endpoint] as const))('the request of %s fits its declaration', (name, endpoint) => {
  const fields = { ...validRequests[name], ...(takesInstallId(endpoint) ? { installId: 'install-0001' } : {}) };
  const shapes = [endpoint.params, endpoint.query, endpoint.body].filter((shape) => shape !== undefined);
  for (const shape of shapes) expect(shape.safeParse(fields).error?.issues).toBeUndefined();
  const declared = shapes.flatMap((shape) => Object.keys(shape.shape));
  expect(Object.keys(fields).filter((field) => !declared.includes(field))).toEqual([]);
});
