import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';

const LINK = 'https://play.example/game';

/** An app of a catalogue, as the file has it. */
export const appOf = (id: string, more: object = {}): object => ({
  ...{ id, name: id, kind: 'game', tagline: '', icon: LINK, url: LINK, status: 'live', platforms: [], updatedAt: '2026-01-01T00:00:00Z' },
  ...more,
});

/** The text of a catalogue of games in which the lower score is the better one. */
export function catalogueOf(ascending: readonly string[]): string {
  return JSON.stringify({ apps: ascending.map((id) => appOf(id, { order: 'asc' })) });
}

/** A catalogue file that is deleted after the last test of the calling file. @returns its path */
export function catalogueFile(text: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'coinop-catalogue-'));
  afterAll(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'catalogue.json');
  writeFileSync(file, text);
  return file;
}
