import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { settingProblems } from '../../../src/setting-checks.ts';
import { forFile, freshId, start, type TestReply } from '../../harness.ts';
import { eventually } from '../../realtime/watcher.ts';
import { testConfig } from '../../environment.ts';

/** NAME_WORDS_FILE applies to all names of players. */

const logLines: string[] = [];
const folder = mkdtempSync(join(tmpdir(), 'coinop-names-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const file = join(folder, 'words.txt');
writeFileSync(file, '\uFEFFbadword\n');
const service = await forFile(start({ settings: { NAME_WORDS_FILE: file }, logLines }));

const submit = (name: string): Promise<TestReply> =>
  service.post(`/v1/highscores/${freshId('game').toLowerCase()}`, { installId: freshId(), score: 1, name });

test('a name with a word of the list is refused on boards, in rooms and of pairings', async () => {
  const { room } = (await service.post('/v1/rooms', { installId: freshId() })).body;
  const { token } = (await service.post('/v1/pair/new')).body;
  const requests: [path: string, body: object][] = [
    ['/v1/highscores/tetris', { score: 1 }],
    ['/v1/rooms', {}],
    ['/v1/rooms/match', { game: 'tetris' }],
    [`/v1/rooms/${room.code}/join`, {}],
    ['/v1/pair/claim', { token }],
  ];
  for (const [path, body] of requests) {
    const refused = await service.post(path, { ...body, installId: freshId(), name: 'B4d.Word' });
    expect([path, refused.status, refused.body.error]).toMatchObject([
      path,
      400,
      { code: 'invalid_request', field: 'name', message: 'name: Is not allowed here: choose another name' },
    ]);
    expect([path, (await service.post(path, { ...body, installId: freshId(), name: 'Ada' })).status]).toEqual([path, 200]);
  }
});

test('the list is read again when it changes, and a bad edit keeps the old one', async () => {
  writeFileSync(file, 'badword\nworse\n');
  await eventually(async () => (await submit('worse')).status === 400);
  writeFileSync(file, '*\n');
  await eventually(() => logLines.some((line) => line.includes('the list of words file is invalid: the old list of words stays')));
  expect([(await submit('badword')).status, (await submit('Ada')).status]).toEqual([400, 200]);
});

test('a bad list stops the start with its line', () => {
  const bad = join(folder, 'bad.txt');
  writeFileSync(bad, 'good\n*\n');
  expect(settingProblems(testConfig({ NAME_WORDS_FILE: bad }))).toEqual([
    `NAME_WORDS_FILE ${bad}: line 2: must be a word of two letters or more, or one between asterisks`,
  ]);
  expect(settingProblems(testConfig({ NAME_WORDS_FILE: join(folder, 'none') }))).toEqual([expect.stringMatching(/ENOENT/)]);
});
