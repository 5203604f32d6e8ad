import { expect, test } from 'vitest';
import { traceOf } from '../../../src/server/http/trace.ts';

const id = '4bf92f3577b34da6a3ce929d0e0e4736';
const parent = '00f067aa0ba902b7';

test.each([
  [`00-${id}-${parent}-01`, `00-${id}-${parent}-01`],
  [`00-${id}-${parent}-00`, `00-${id}-${parent}-00`],
  // Flags that this version does not know are sent on as 0, and a later version as 00.
  [`00-${id}-${parent}-ff`, `00-${id}-${parent}-03`],
  [`cc-${id}-${parent}-01`, `00-${id}-${parent}-01`],
  [`cc-${id}-${parent}-01-what-will-come`, `00-${id}-${parent}-01`],
])('%s is passed on as %s', (header, traceparent) => {
  expect(traceOf(header)).toEqual({ id, traceparent });
});

test.each([
  ...['', id, `00-${id}-${parent}`, `00-${id}-${parent}-01-more`, `00-${id}-${parent}-1`, ` 00-${id}-${parent}-01`],
  ...[`ff-${id}-${parent}-01`, `00-${'0'.repeat(32)}-${parent}-01`, `00-${id}-${'0'.repeat(16)}-01`],
  ...[`00-${id.toUpperCase()}-${parent}-01`, `00-${id}-${parent}-01,00-${id}-${parent}-01`, `cc-${id}-${parent}-01-a b`],
])('%j is no trace', (header) => {
  expect(traceOf(header)).toBeUndefined();
});
