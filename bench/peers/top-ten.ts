/** The board that the floors answer with, in the service's format. */
export const topTen = Array.from({ length: 10 }, (_, index) => ({
  rank: index + 1,
  playerId: `player-id${index}`,
  name: `Player ${index}`,
  score: 1_000_000 - index,
  at: '2026-01-01T00:00:00.000Z',
}));
