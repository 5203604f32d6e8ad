import type { Wire } from './wire.ts';

type Page = Wire['GET /v1/events']['reply'];
type Told = Page['events'][number];

interface PurchaseData {
  purchaseId: string;
  store: string;
  productId: string;
  /** Units that were granted, or refunded in sum. */
  quantity: number;
  coins: number;
}

/** What an event tells, by its type. */
interface DataOf {
  'coins.changed': { entryId: string; type: NonNullable<Told['data']['type']>; coins: number; balanceAfterCoins: number };
  'purchase.granted': PurchaseData;
  'purchase.refunded': PurchaseData;
  /** Without `productId` it is the app's own report, which nobody verified. */
  'subscription.changed': { state: string; productId?: string; expiresAt?: string };
  'account.created': object;
  'account.moved': { from: string };
  'account.deleted': object;
  'account.banned': { expiresAt?: string };
  'pairing.claimed': { pairingId: string };
  'board.season_ended': { game: string; season: string; entries: number; prizes: number };
}

export type EventType = keyof DataOf;

/** Nothing is left of it once the account was deleted. */
type Forgotten<Data> = { [Name in keyof Data]?: undefined };

type Of<Type extends EventType> = Pick<Told, 'id' | 'at' | 'number'> & {
  type: Type;
  data: DataOf[Type] | Forgotten<DataOf[Type]>;
} & (Type extends 'board.season_ended' ? { accountId?: never } : { accountId: string });

/** An event, as `events` gives it and a webhook posts it. Its `type` tells what its `data` has. */
export type CoinopEvent<Type extends EventType = EventType> = { [T in Type]: Of<T> }[Type];

/** Events of the wanted types, and where reading goes on. */
export interface EventPage<Type extends EventType = EventType> {
  events: CoinopEvent<Type>[];
  /** Keep it with what you did of these events. */
  cursor: string;
}
