import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { model } from '../../../src/clients/model.mjs';
import * as csharp from '../../../src/clients/csharp/generate.mjs';
import * as gdscript from '../../../src/clients/gdscript/generate.mjs';
import * as python from '../../../src/clients/python/generate.mjs';
import { forFile, start } from '../../harness.ts';
import { jsonText } from './json-text.ts';

/**
 * `openapi.json` and `asyncapi.json` beside this file are the documents as the service sends them. The calls of the clients in other languages
 * are made from the first. A change of the API shows in review as a change of these files. To update them after an intended change:
 *
 *     npm run test:one -- test/web/documents/snapshots.test.ts --update
 */

// Some endpoints exist only with STORE=sandbox.
const service = await forFile(start({ settings: { STORE: 'sandbox' } }));

test.each(['openapi.json', 'asyncapi.json'])('%s is served as committed', async (name) => {
  const { body } = await service.get(`/${name}`);
  await expect(`${jsonText(body)}\n`).toMatchFileSnapshot(name);
});

test.each(Object.entries({ csharp, gdscript, python }))(
  'the calls of the client in %s are made from the present document',
  async (language, { file, generated }) => {
    const { body } = await service.get('/openapi.json');
    const path = fileURLToPath(new URL(`../../../src/clients/${language}/${file}`, import.meta.url));
    await expect(generated(model(body))).toMatchFileSnapshot(path);
  },
);
