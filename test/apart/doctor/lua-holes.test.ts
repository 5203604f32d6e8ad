import { expect, test } from 'vitest';
import { luaHolesOf } from '../../../src/apart/doctor/lua-holes.ts';

const OF_2025 = 'CVE-2025-49844, CVE-2025-46817, CVE-2025-46818 and CVE-2025-46819';

test.each([
  ['7.0.15', [OF_2025]],
  ['7.2.10', [OF_2025]],
  ['7.2.11', []],
  ['7.4.5', [OF_2025]],
  ['8.2.1', [OF_2025]],
  ['8.2.9', []],
  ['8.6.2', ['CVE-2026-23631']],
  ['8.6.3', []],
  ['8.10.1', []],
  ['255.255.255', []],
])('Redis %s has %j', (version, names) => {
  expect(luaHolesOf(version, false).map((hole) => hole.names)).toEqual(names);
});

test.each([
  ['7.2.10', [OF_2025, 'CVE-2025-67733']],
  ['7.2.11', ['CVE-2025-67733']],
  ['7.2.12', []],
  ['8.0.5', [OF_2025, 'CVE-2025-67733']],
  ['9.0.1', ['CVE-2025-67733']],
  ['9.0.2', []],
])('Valkey %s has %j', (version, names) => {
  expect(luaHolesOf(version, true).map((hole) => hole.names)).toEqual(names);
});
