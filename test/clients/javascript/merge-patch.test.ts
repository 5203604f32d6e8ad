import fc from 'fast-check';
import { expect, test } from 'vitest';
import { combined, composed, merged } from '../../../src/clients/javascript/merge-patch.ts';
import { mergeTexts } from '../../../src/features/rooms/merge.ts';

/** Few names, so that two patches often change the same member. */
const json = fc.letrec((tie) => ({
  value: fc.oneof({ depthSize: 'small' }, fc.constantFrom(null, 1, 'x', [], [1], {}), tie('object')),
  object: fc.dictionary(fc.constantFrom('a', 'b', '__proto__', 'toString'), tie('value'), { maxKeys: 3 }),
})).value;
const text = (value: unknown): string => JSON.stringify(value);
const copy = (value: unknown): unknown => JSON.parse(text(value));

test('the client merges as the service does, and changes neither side', () => {
  fc.assert(
    fc.property(json, json, (target, patch) => {
      const before = text([target, patch]);
      expect(text(merged(target, patch))).toBe(mergeTexts(text(target), copy(patch)));
      expect(text([target, patch])).toBe(before);
    }),
    { numRuns: 2000 },
  );
});

test('a composed patch has the same effect as its two patches in sequence', () => {
  let times = 0;
  fc.assert(
    fc.property(json, json, json, (target, first, second) => {
      const both = composed(first, second);
      if (both === undefined) return;
      times++;
      expect(merged(target, both)).toEqual(merged(merged(target, first), second));
    }),
    { numRuns: 3000 },
  );
  expect(times).toBeGreaterThan(500);
});

test.each([
  [{ data: { x: 1 } }, { merge: { y: 2 } }, { data: { x: 1, y: 2 } }],
  [{ merge: { x: 1 } }, { data: 5 }, { data: 5 }],
  [{ merge: { x: 1, y: 1 } }, { merge: { y: null } }, { merge: { x: 1, y: null } }],
  // No patch has the effect of both.
  [{ merge: { x: null } }, { merge: { x: {} } }, undefined],
  [{ merge: { x: 5 } }, { merge: { x: { y: 1 } } }, undefined],
  [{ merge: { x: [] } }, { merge: { x: {} } }, undefined],
])('%j and %j are one act: %j', (first, second, both) => {
  expect(combined(first, second, 'data')).toEqual(both);
});
