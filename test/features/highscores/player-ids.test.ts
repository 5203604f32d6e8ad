import { expect, test } from 'vitest';
import { PlayerIds } from '../../../src/features/highscores/player-ids.ts';

test('player ids have 12 characters of base64url, and none of 2,000 repeats', () => {
  const [one, other] = [new PlayerIds(), new PlayerIds()];
  const ids = Array.from({ length: 1000 }, () => [one.next(), other.next()]).flat();
  for (const id of ids) expect(id).toMatch(/^[\w-]{12}$/);
  expect(new Set(ids).size).toBe(2000);
});
