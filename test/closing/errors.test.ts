import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, inject, test } from 'vitest';
import { api as publicApi } from '../api.ts';
import { errors } from '../../src/errors.ts';
import { operatorApi } from '../../src/operator/endpoints.ts';
import { declaredErrors } from '../../src/server/http/endpoint.ts';

const api = [...publicApi, ...operatorApi];

/** Every "METHOD path code" that the other test files provoked. */
const provoked = new Set(
  readdirSync(inject('notesDir'))
    .filter((file) => file.startsWith('provoked-'))
    .flatMap((file) =>
      readFileSync(join(inject('notesDir'), file), 'utf8')
        .trim()
        .split('\n'),
    ),
);
const provokedCodes = new Set([...provoked].map((pair) => pair.split(' ').at(-1)));

test('every error code is declared by an endpoint or belongs to the router or a channel', () => {
  const declared = new Set<string>(api.flatMap(declaredErrors));
  for (const code of ['not_found', 'method_not_allowed', 'upgrade_required']) declared.add(code);
  expect(Object.keys(errors).filter((code) => !declared.has(code))).toEqual([]);
});

test('some test provokes every error code', () => {
  expect(Object.keys(errors).filter((code) => !provokedCodes.has(code))).toEqual([]);
});

test('some test provokes every error that an endpoint itself declares, at that endpoint', () => {
  const own = api.flatMap((endpoint) => (endpoint.errors ?? []).map((code) => `${endpoint.method} ${endpoint.path} ${code}`));
  expect(own.length).toBeGreaterThan(20);
  expect(own.filter((pair) => !provoked.has(pair))).toEqual([]);
});
