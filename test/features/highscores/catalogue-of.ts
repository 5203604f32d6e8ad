const LINK = 'https://play.example/game';

/** The text of a catalogue of games in which the lower score is the better one. */
export function catalogueOf(ascending: readonly string[]): string {
  const app = { kind: 'game', tagline: '', icon: LINK, url: LINK, status: 'live', platforms: [], updatedAt: '2026-01-01T00:00:00Z' };
  return JSON.stringify({ apps: ascending.map((id) => ({ ...app, id, name: id, order: 'asc' })) });
}
