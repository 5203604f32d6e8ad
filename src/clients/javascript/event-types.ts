import type { Wire } from './wire.ts';

type Page = Wire['GET /v1/events']['reply'];
type Told = Page['events'][number];

interface PurchaseData {
  purchaseId: string;
  store: string;
  productId: string;
  /** The units that were granted; for a refund, all units refunded so far. */
  quantity: number;
  coins: number;
}

/** The data of an event, by its type. */
interface DataOf {
  'coins.changed': { entryId: string; type: NonNullable<Told['data']['type']>; coins: number; balanceAfterCoins: number };
  'purchase.granted': PurchaseData;
  'purchase.refunded': PurchaseData;
  /** An event without `productId` is the app's own report of a subscription, which nobody has verified. */
  'subscription.changed': { state: string; productId?: string; expiresAt?: string };
  'account.created': object;
  'account.moved': { from: string };
  'account.merged': { from: string };
  'account.sign_in_added': { provider: string };
  'account.sign_in_removed': { provider: string };
  'account.deleted': object;
  'account.banned': { expiresAt?: string };
  'pairing.claimed': { pairingId: string };
  'board.season_ended': { game: string; season: string; entries: number; prizes: number };
}

export type EventType = keyof DataOf;

/** The data of an event whose account is deleted: no field has a value any more. */
type Forgotten<Data> = { [Name in keyof Data]?: undefined };

type Of<Type extends EventType> = Pick<Told, 'id' | 'at' | 'number'> & {
  type: Type;
  data: DataOf[Type] | Forgotten<DataOf[Type]>;
} & (Type extends 'board.season_ended' ? { accountId?: never } : { accountId: string });

/** An event from `events` or a webhook. Its `type` determines the fields of `data`. */
export type CoinopEvent<Type extends EventType = EventType> = { [T in Type]: Of<T> }[Type];

/** Events of the wanted types, and the position at which to continue. */
export interface EventPage<Type extends EventType = EventType> {
  events: CoinopEvent<Type>[];
  /** The position at which to continue. Store it together with the effects of these events. */
  cursor: string;
}
