import type { z } from 'zod';
import { showEvents } from '../account-events.ts';
import { listBoard } from '../boards.ts';
import { listAccounts } from '../list-accounts.ts';
import { listLog } from '../log.ts';
import type { Operation } from '../operation.ts';
import { listStuckPurchases, showPurchase } from '../purchases.ts';
import { showRoom } from '../rooms.ts';
import { find } from '../search.ts';
import { listSeasons } from '../seasons.ts';
import { listKeys } from '../server-keys.ts';
import { explain, show, showHistory } from '../show.ts';
import { entriesText, minute, more, some, table, type Part } from '../shown/cells.ts';
import * as account from '../shown/shown-account.ts';
import { archivesOf, entries as boardEntries, seasonsOf } from '../shown/shown-boards.ts';
import { serverKeys } from '../shown/shown-keys.ts';
import { logEntries } from '../shown/shown-log.ts';
import { life, lifeOf, purchaseFacts, stuckPurchases, unownedSubscriptions } from '../shown/shown-purchases.ts';
import { ofOperators, players, roomFacts, seatsOf } from '../shown/shown-rooms.ts';
import { deliveries as allDeliveries, webhookFacts, webhooks as allWebhooks } from '../shown/shown-webhooks.ts';
import { addWebhook, listDeliveries, listWebhooks, secretParts, showWebhook } from '../webhooks.ts';

type Shown = (reply: never) => readonly Part[];

const shown = <Reply extends z.ZodObject>(
  { name }: Operation<z.ZodObject, Reply>,
  parts: (reply: z.output<Reply>) => readonly Part[],
): readonly [string, Shown] => [name, parts];

/** How the tool shows the replies that have facts and tables of `shown/`, by the names of the operations. */
export const replies: ReadonlyMap<string, Shown> = new Map([
  shown(find, ({ accounts, purchases = [], rooms = [], keys = [], nextCursor }) => [
    ...some(account.found, accounts),
    ...purchases.map(({ purchase, kind, accountId }) => `purchase (${kind}): ${purchase}${accountId === undefined ? ', of nobody' : ''}`),
    ...rooms.map(({ code }) => `room: ${code}`),
    ...keys.map(({ id, name, state }) => `server key: ${id} "${name}", ${state}`),
    ...more(nextCursor),
  ]),
  shown(listAccounts, ({ accounts, looked, nextCursor }) => [
    ...some(account.listed, accounts),
    account.looked(looked),
    ...more(nextCursor),
  ]),
  shown(show, account.accountParts),
  shown(showHistory, ({ accountId, movedFrom, entries, nextCursor }) => [
    account.headOf(accountId, movedFrom),
    table(account.ledger, entries),
    ...more(nextCursor),
  ]),
  shown(showEvents, (told) => [
    account.headOf(told.accountId, told.movedFrom),
    ...some(account.events, told.events),
    { title: '', facts: [['Searched', account.reach(told)]] },
    ...more(told.nextCursor),
  ]),
  shown(explain, ({ accountId, movedFrom, because }) => [account.headOf(accountId, movedFrom), ...because]),
  shown(listBoard, ({ game, season, count, entries, archives }) => [
    count === 0
      ? `The board of ${game} has no entries${season === undefined ? '' : ` in the season ${season.id}`}.`
      : `${game}${season === undefined ? '' : `, season ${season.id} until ${minute(season.endsAt)} (UTC)`}: ${entriesText(count)}`,
    ...some(boardEntries, entries),
    ...some(archivesOf(game), archives),
  ]),
  shown(listSeasons, ({ game, seasons }) => [table(seasonsOf(game), seasons)]),
  shown(showPurchase, ({ purchase }) => [
    `Purchase ${purchase.purchaseId}`,
    { title: '', facts: purchaseFacts(purchase) },
    table(life, lifeOf(purchase)),
  ]),
  shown(listStuckPurchases, ({ purchases, subscriptions }) => [
    table(stuckPurchases, purchases),
    table(unownedSubscriptions, subscriptions),
  ]),
  shown(showRoom, (found) => [
    `Room ${found.room.code}`,
    { title: '', facts: [...roomFacts(found.room), ...ofOperators(found)] },
    table(players, found.room.players),
    ...some(seatsOf(found.room), found.seats),
    `state: ${JSON.stringify(found.room.state)}`,
    ...found.seats.flatMap(({ playerId, private: own }) => (own === undefined ? [] : [`${playerId} alone sees: ${JSON.stringify(own)}`])),
  ]),
  shown(listWebhooks, ({ webhooks }) => [table(allWebhooks, webhooks)]),
  shown(showWebhook, ({ webhook }) => webhookParts(webhook)),
  shown(addWebhook, ({ secret, webhook, warning = '' }) => [...webhookParts(webhook), ...secretParts(secret), warning]),
  shown(listDeliveries, ({ deliveries }) => [table(allDeliveries, deliveries)]),
  shown(listKeys, ({ keys }) => [table(serverKeys, keys)]),
  shown(listLog, ({ entries, nextCursor }) => [table(logEntries, entries), ...more(nextCursor)]),
]);

function webhookParts(hook: z.output<typeof showWebhook.reply>['webhook']): Part[] {
  return [`Webhook ${hook.id}`, { title: '', facts: webhookFacts(hook) }];
}
