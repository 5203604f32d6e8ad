import { z } from 'zod';
import { isoTime } from '../accounts/merge-rules.ts';
import { seasonPrize } from '../features/catalogue/model.ts';
import { boardKeys, seasonKeys, seasonLibrary } from '../features/highscores/model.ts';
import { defineScript } from '../redis/script.ts';
import type { Parts } from '../redis/unreadable.ts';
import type { OperatorServices } from './operation.ts';

const readScript = defineScript({
  file: new URL('read-seasons.lua', import.meta.url),
  keys: ['scores', 'seasons'],
  answers: ['seasons'],
  library: seasonLibrary,
  readOnly: true,
});

export const SeasonRecord = z
  .object({
    season: z.string(),
    state: z.enum(['open', 'paying', 'paid']).meta({
      description:
        '`open` until its prizes are due, which is some time after its end. Then it is closed: `paying`, and `paid` once each prize has its outcome.',
    }),
    order: z.enum(['asc', 'desc']),
    endsAt: z.iso.datetime(),
    paysAt: z.iso.datetime().meta({ description: 'When the prizes are due. An entry that is removed before that wins no prize.' }),
    closedAt: z.iso.datetime().optional(),
    keep: z.number().int(),
    prizes: z.array(z.object({ upTo: z.number().int(), coins: z.number().int() })),
    entries: z.number().int(),
    unpaid: z.number().int().meta({ description: 'Prizes without an outcome. There may be more while the payouts are being recorded.' }),
    paid: z.number().int(),
    paidCoins: z.number().int(),
  })
  .meta({
    id: 'SeasonRecord',
    example: {
      season: '2026-W47',
      state: 'paid',
      order: 'desc',
      endsAt: '2026-11-23T00:00:00.000Z',
      paysAt: '2026-11-23T01:00:00.000Z',
      closedAt: '2026-11-23T01:00:00.412Z',
      keep: 12,
      prizes: [{ upTo: 1, coins: 500 }],
      entries: 1250,
      unpaid: 0,
      paid: 1,
      paidCoins: 500,
    },
  });

type SeasonFacts = z.input<typeof SeasonRecord>;

/** How many words an answer of `read-seasons.lua` has for each season. */
const FIGURES = 12;

/** @param parts notes damaged seasons, which are left out. If left out, damaged data is an error */
export async function readSeasons(game: string, { scripts }: OperatorServices, parts?: Parts): Promise<SeasonFacts[]> {
  const keys = { scores: boardKeys.scores(game), seasons: seasonKeys.seasons(game) };
  const [, ...words] = await scripts.run(readScript, keys, {});
  const seasons: SeasonFacts[] = [];
  for (let start = 0; start < words.length; start += FIGURES) {
    const [season = '', state, order, endsAt, payAfterMs, keep, prizes = '', closedAt, entries, unpaid, paid, paidCoins] = words.slice(
      start,
      start + FIGURES,
    );
    // A season without its record is damaged, too.
    if (!/^\d+$/.test(endsAt ?? '')) {
      if (parts === undefined) throw new Error(`The season ${season} of ${game} is damaged.`);
      parts.note(`season ${season} of ${game}`);
      continue;
    }
    seasons.push({
      season,
      state: state === 'paying' || state === 'paid' ? state : 'open',
      order: order === 'asc' ? 'asc' : 'desc',
      endsAt: isoTime(endsAt)!,
      paysAt: isoTime(Number(endsAt) + Number(payAfterMs))!,
      closedAt: isoTime(closedAt),
      keep: Number(keep),
      prizes: prizes.split(' ').flatMap((prize) => seasonPrize.parse(prize) ?? []),
      entries: Number(entries),
      unpaid: Number(unpaid),
      paid: Number(paid),
      paidCoins: Number(paidCoins),
    });
  }
  return seasons;
}

/** Whether entries may still be removed. */
export function isOpen({ state }: SeasonFacts): boolean {
  return state === 'open';
}
