import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, test } from 'vitest';
import { start } from '../../harness.ts';
import { childEnvironment } from '../../environment.ts';

const folder = mkdtempSync(join(tmpdir(), 'coinop-redocly-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const cli = fileURLToPath(new URL('../../../node_modules/@redocly/cli/bin/cli.js', import.meta.url));

interface Problem {
  readonly ruleId: string;
  readonly message: string;
}

/** The problems that Redocly's recommended rules find in the document. */
async function lint(document: object): Promise<string[]> {
  const file = join(folder, 'openapi.json');
  writeFileSync(file, JSON.stringify(document));
  const { stdout } = await promisify(execFile)(process.execPath, [cli, 'lint', file, '--extends=recommended', '--format=json'], {
    // An empty folder holds no configuration. Without these settings the tool reports its use, and asks for newer versions.
    cwd: folder,
    env: childEnvironment({ HOME: folder, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true', NO_COLOR: '1' }),
    maxBuffer: 64 * 1024 * 1024,
  }).catch((error: { stdout?: string }) => ({ stdout: error.stdout ?? '' }));
  const { problems } = JSON.parse(stdout) as { problems: Problem[] };
  return problems.map(({ ruleId, message }) => `${ruleId}: ${message}`);
}

test("Redocly's recommended rules find nothing in the document", async () => {
  await using service = await start({ settings: { ADMIN_API: 'on' } });
  expect(await lint((await service.get('/openapi.json')).body)).toEqual([]);
});
