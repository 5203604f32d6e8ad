import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { coinop } from '../../src/clients/javascript/client.ts';
import { metas } from '../../src/clients/csharp/metas.mjs';
import { missing } from '../../src/clients/model.mjs';
import { ELSEWHERE_IN_JAVASCRIPT } from '../call-table.ts';

const project = fileURLToPath(new URL('../..', import.meta.url));
const names = Object.keys(JSON.parse(readFileSync(`${project}src/clients/calls.json`, 'utf8')) as object);

test('every endpoint for players is a call', () => {
  expect(missing()).toEqual([]);
});

test('the client in JavaScript has every call', () => {
  const client = coinop({ url: 'http://127.0.0.1:9', store: null });
  client.close();
  const features = client as unknown as Record<string, Record<string, unknown> | undefined>;
  const without = names.filter((name) => typeof features[name.split('.')[0]!]?.[name.split('.')[1]!] !== 'function');
  expect(without.filter((name) => !ELSEWHERE_IN_JAVASCRIPT.includes(name))).toEqual([]);
});

test.each([
  { language: 'Python', folder: 'python/coinop', calls: 'calls.py', comment: /^ *"""[^]*?"""$|#.*$/gm },
  // A line of brackets alone holds no code.
  { language: 'GDScript', folder: 'gdscript/addons/coinop', calls: 'calls.gd', comment: /#.*$/gm },
  { language: 'C#', folder: 'csharp/Runtime/Core', calls: 'Calls.cs', comment: /\/\/.*$|^[^\w]*$/gm },
])('the $language client has at most 2,000 lines of code, its calls not counted', ({ folder, calls, comment }) => {
  const path = `${project}src/clients/${folder}/`;
  const files = readdirSync(path).filter((name) => /\.(py|cs|gd)$/.test(name) && name !== calls);
  const code = files.map((name) => readFileSync(path + name, 'utf8').replace(comment, '')).join('\n');
  const lines = code.split('\n').filter((line) => /\S/.test(line));
  expect(lines.length).toBeGreaterThan(1000);
  expect(lines.length).toBeLessThanOrEqual(2000);
});

test('the version of a client is that of the service', () => {
  const { version } = JSON.parse(readFileSync(`${project}package.json`, 'utf8')) as { version: string };
  expect(readFileSync(`${project}src/clients/python/pyproject.toml`, 'utf8')).toContain(`version = "${version}"`);
  expect(readFileSync(`${project}src/clients/gdscript/addons/coinop/plugin.cfg`, 'utf8')).toContain(`version="${version}"`);
  expect(readFileSync(`${project}src/clients/csharp/package.json`, 'utf8')).toContain(`"version": "${version}"`);
});

test('every file of the package for Unity has its .meta file', () => {
  const wanted = metas();
  expect(Object.keys(wanted)).toContain('Runtime/Core/Client.cs.meta');
  for (const [name, text] of Object.entries(wanted)) expect(readFileSync(`${project}src/clients/csharp/${name}`, 'utf8'), name).toBe(text);
});
