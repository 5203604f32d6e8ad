import type { z } from 'zod';
import type { BoardArchive, BoardEntry } from '../board-entries.ts';
import type { SeasonRecord } from '../season-records.ts';
import { account, by, coins, joined, link, name, state, time, type Listing } from './cells.ts';

export const entries: Listing<z.output<typeof BoardEntry>> = {
  title: 'Entries',
  none: 'No entries.',
  columns: {
    Rank: ({ rank }) => rank,
    Name: (entry) => name(entry.name),
    Score: ({ score }) => score,
    Player: ({ playerId }) => playerId,
    Account: ({ accountId }) => account(accountId),
    'At (UTC)': ({ at }) => time(at),
  },
};

export const archivesOf = (game: string): Listing<z.output<typeof BoardArchive>> => ({
  title: 'Archives',
  none: 'The board was never reset.',
  columns: {
    Archive: ({ archive, droppedAt }) =>
      droppedAt === undefined ? link(String(archive), ['boards', game], { archive: String(archive) }) : archive,
    'Reset (UTC)': ({ at }) => time(at),
    Entries: (archive) => (archive.droppedAt === undefined ? coins(archive.entries) : 'deleted'),
    By: (archive) => by(archive.by),
    Reason: ({ reason }) => reason,
  },
});

export const seasonsOf = (game: string): Listing<z.output<typeof SeasonRecord>> => ({
  title: 'Seasons',
  none: 'This game has no seasons with a score.',
  columns: {
    Season: ({ season }) => link(season, ['boards', game], { season }),
    State: ({ state: of }) => state(of, of !== 'paying'),
    'Ends (UTC)': ({ endsAt }) => time(endsAt),
    'Pays (UTC)': ({ paysAt }) => time(paysAt),
    Entries: (season) => coins(season.entries),
    Prizes: ({ prizes }) => joined(prizes.map(({ upTo, coins: each }) => `${upTo}:${each}`)),
    Paid: ({ paid }) => coins(paid),
    Unpaid: ({ unpaid }) => coins(unpaid),
    Coins: ({ paidCoins }) => coins(paidCoins),
  },
});
