import { readdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import { forFile, start } from '../harness.ts';

const service = await forFile(start());

const modules = readdirSync(new URL('../../src/web/browser', import.meta.url)).filter((file) => file.endsWith('.ts'));

test.each(modules)('%s is served as valid JavaScript, and its imports lead to served modules', async (file) => {
  const { status, headers, body } = await service.get(`/pages/modules/${file.replace(/ts$/, 'js')}`);
  expect([status, headers.get('content-type')]).toEqual([200, 'text/javascript; charset=utf-8']);
  expect(body).not.toMatch(/\.ts'|import type|interface \w+ \{/);
  for (const [, name] of body.matchAll(/(?:from |import\()'\.\/([^']*)'/g)) {
    expect((await service.get(`/pages/modules/${name}`)).status).toBe(200);
  }
});
