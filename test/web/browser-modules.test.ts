import { readdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import { forFile, start } from '../harness.ts';

const service = await forFile(start({ settings: { ADMIN_API: 'on' } }));

const folders = ['web/browser', 'operator/page/browser', 'operator/shown'].map((folder) => new URL(`../../src/${folder}`, import.meta.url));
const modules = folders.flatMap((folder) => readdirSync(folder).filter((file) => file.endsWith('.ts')));

test.each(modules)('%s is served as valid JavaScript, and its imports lead to served modules', async (file) => {
  const { status, headers, body } = await service.get(`/pages/modules/${file.replace(/ts$/, 'js')}`);
  expect([status, headers.get('content-type')]).toEqual([200, 'text/javascript; charset=utf-8']);
  expect(body).not.toMatch(/\.ts'|import type|interface \w+ \{/);
  for (const [, name] of body.matchAll(/(?:from |import\()'\.\/([^']*)'/g)) {
    expect((await service.get(`/pages/modules/${name}`)).status).toBe(200);
  }
});
