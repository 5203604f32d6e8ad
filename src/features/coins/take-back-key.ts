import { hash } from 'node:crypto';

/**
 * The idempotency key of an entry that takes a grant back: `take-back·<account that was granted the coins>·<key of the grant>`. No caller
 * can send it (service-key.ts).
 */
const BEGIN = 'take-back·';

/** A grant's key of at most this many characters becomes a part of the entry's key as it is. A longer grant's key is hashed. */
const MOST_IN_KEY = 200;

const nameOf = (grantKey: string): string => (grantKey.length <= MOST_IN_KEY ? grantKey : hash('sha256', grantKey, 'base64url'));

/** The key before and behind the account. */
export const partsOfTakeBackKey = (grantKey: string) => ({ keyBegins: BEGIN, keyEnds: `·${nameOf(grantKey)}` });

/** A text that stands for all entries that take this grant back. */
export const takenGrant = (grantKey: string): string => BEGIN + nameOf(grantKey);

/** As `takenGrant`, from the key of such an entry. */
export const takenGrantOfEntry = (key: string): string => key.replace(/(?<=^take-back·)[\w-]{22}·/, '');
