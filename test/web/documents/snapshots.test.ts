import { expect, test } from 'vitest';
import { forFile, start } from '../../harness.ts';
import { jsonText } from './json-text.ts';

/**
 * `openapi.json` and `asyncapi.json` beside this file are the documents as the service sends them. A change of the API shows
 * in review as a change of these files. To update them after an intended change:
 *
 *     npm run test:one -- test/web/documents/snapshots.test.ts --update
 */

// Some endpoints exist only with STORE=sandbox.
const service = await forFile(start({ settings: { STORE: 'sandbox' } }));

test.each(['openapi.json', 'asyncapi.json'])('%s is served as committed', async (name) => {
  const { body } = await service.get(`/${name}`);
  await expect(`${jsonText(body)}\n`).toMatchFileSnapshot(name);
});
