import { z } from 'zod';
import { fieldValues } from '../../accounts/merge-rules.ts';
import { type ExportedAccount, type ExportedShape, type ExportPages, type Holding, type HoldingServices } from '../../accounts/holdings.ts';
import { AccountId, OptionalInstallId } from '../../accounts/ids.ts';
import { parseGuests } from '../../accounts/standing.ts';
import { checksCaller } from '../../accounts/prologues.ts';
import { endpoint } from '../../declare.ts';
import { defineScript } from '../../redis/script.ts';
import type { RequestMeta } from '../../server/http/endpoint.ts';
import type { Caller } from '../../server/identity/caller.ts';

/** Reads the fields of the caller's account, its guests and its session generation. Answers facts(guests, generation, field, value …). */
export const factsScript = defineScript({
  name: 'export/facts',
  lua: `return {'facts', moved_in, generation, unpack(redis.call('HGETALL', account))}`,
  keys: ['account'],
  answers: ['facts'],
  prologue: checksCaller,
  readOnly: true,
});

/**
 * The number of reads after which a page ends. A read gets a board, a room or a purchase, or finds out whether a set is empty. Each read is
 * a call of a script, which takes this process about 20 µs and Redis 10 µs. An account may have taken seats in thousands of rooms.
 */
const MOST_READS = 25;

/** The time after which a page ends, in milliseconds, because a request may take 2 s in all. The next page continues. */
const MOST_MS = 1000;

/** The endpoint of the export. @param holdings the holdings whose data the export has, in the order of its pages */
export function exportAccount<const Held extends readonly Holding[]>(holdings: Held) {
  const shape = Object.assign({}, ...holdings.map(({ exported }) => exported?.shape)) as ExportedShape<Held[number]>;
  const paged = holdings.flatMap(({ exported }) => exported?.pages ?? []);
  const isCursor = (text: string): boolean => paged.some(({ letter, isPlace }) => text[0] === letter && isPlace(text.slice(1)));
  const contents = { holdings, paged };
  return endpoint({
    method: 'GET',
    path: '/v1/account/export',
    operationId: 'exportAccount',
    caller: 'required',
    costly: true,
    summary: 'All that is kept about the caller, in pages.',
    description:
      'The first page has the account, its trial link, given access and name, subscription report and balance. The scores on boards follow, the seats in rooms that were ' +
      'taken in the last week at least, the saves of games with their versions, the purchases, then the ledger; those of guests that moved in are among them. A page has up to 500 entries ' +
      'of the ledger; most accounts have one page, and any page may be short. Send `nextCursor` as `cursor` for the next one, ' +
      'until there is none. The pages are no snapshot: what happens meanwhile may be missing. Kept elsewhere and not listed: installIds and ' +
      'deviceIds, of which only hashes are kept; sessions of `POST /v1/login`, which are not kept at all; pairings and nonces, which are kept for some minutes; what ' +
      'operators note about their changes. Without a session, `?installId=` or the header `x-install-id` names the install. The header keeps the secret out of logs.',
    query: z.object({
      installId: OptionalInstallId,
      cursor: z.string().refine(isCursor, 'Must be the nextCursor of an earlier page').optional(),
    }),
    reply: z.object({
      accountId: AccountId,
      ...shape,
      nextCursor: z.string().optional().meta({ description: 'The cursor of the next page. The last page has none.', example: 'e16' }),
    }),
    example: `curl -s $base/v1/account/export -H 'x-install-id: install-0001'`,
    handle: async (call, services: HoldingServices) => (await exportPage(call, contents, services)) as never,
  });
}

interface Contents {
  /** The holdings whose data an export has. */
  readonly holdings: readonly Holding[];
  /** The lists that may be too long for the first page, in the order of the export. Each holding has one such list at most. */
  readonly paged: readonly ExportPages[];
}

interface ExportCall {
  readonly caller: Caller;
  readonly query: { readonly cursor?: string | undefined };
  readonly meta: Pick<RequestMeta, 'isOver'>;
}

type Page = { accountId: string; nextCursor?: string } & Record<string, unknown>;

async function exportPage({ caller, query, meta }: ExportCall, contents: Contents, services: HoldingServices) {
  return pageFrom(query.cursor, await accountOf(caller, services), contents, meta, services);
}

async function pageFrom(
  cursor: string | undefined,
  account: ExportedAccount,
  { holdings, paged }: Contents,
  meta: ExportCall['meta'],
  services: HoldingServices,
): Promise<Page> {
  const startedAt = performance.now();
  const firstPages = cursor === undefined ? holdings.map(({ exported }) => exported?.firstPage?.(account, services)) : [];
  const page: Page = Object.assign({ accountId: account.accountId }, ...(await Promise.all(firstPages)));
  let current = cursor === undefined ? 0 : paged.findIndex(({ letter }) => letter === cursor[0]);
  let place = cursor?.slice(1);
  for (let reads = 0; current < paged.length;) {
    const { letter, firstPlace, read } = paged[current]!;
    if (reads >= MOST_READS || performance.now() - startedAt > MOST_MS || meta.isOver)
      return { ...page, nextCursor: letter + (place ?? firstPlace) };
    const part = await read(account, place ?? firstPlace, services);
    for (const [name, found] of Object.entries(part.lists)) page[name] = [...((page[name] as unknown[] | undefined) ?? []), ...found];
    reads += part.reads;
    place = part.next;
    if (place === undefined) current++;
  }
  return page;
}

/** Reads the caller's account for the export. Refuses an ended session, as every script for a caller does. */
async function accountOf(caller: Caller, { scripts }: HoldingServices): Promise<ExportedAccount> {
  const { accountId, accountKey } = caller;
  const [, movedIn = '', generation, ...fields] = await scripts.runAs(caller, factsScript, { account: accountKey }, {});
  return {
    caller,
    accountId,
    owners: [accountId, ...parseGuests(movedIn).guests.map(({ id }) => id)],
    fields: fieldValues(fields),
    generation: Number(generation),
  };
}
