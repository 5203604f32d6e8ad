import { randomBytes } from 'node:crypto';
import { accountIdOf } from '../../src/accounts/ids.ts';
import { times } from './client.ts';
import { within } from './history.ts';
import { ADD, codeOf, type Account, type Difference, type Person } from './people.ts';
import { anyOf } from './place.ts';
import { SKU, UNIT_COINS } from './purchases.ts';

/** The game of the scores and saves. */
export const GAME = 'prove';
/** The most saves of an account, below the limit for a game: a merge may go beyond that, and a save may not. */
const MOST_SAVES = 10;

const fresh = (prefix: string): string => `${prefix}-${randomBytes(9).toString('hex')}`;
const upTo = (most: number): number => 1 + Math.floor(Math.random() * most);

/** An act of a person. @returns false: the person has nothing to do it with */
export type Act = (person: Person, other: Person) => Promise<boolean | void>;

/** An act with an account of the person. */
const withAccount =
  (act: (person: Person, account: Account, other: Person) => Promise<boolean | void>): Act =>
  async (person, other) => {
    const account = anyOf(person.accounts);
    return account === undefined ? false : act(person, account, other);
  };

const signIn: Act = async (person) => void (await person.enter(anyOf(person.identities)!));

/** Adds any sign-in, which may have an account: then that is merged. */
const link = withAccount((person, account) => person.link(account, anyOf(person.identities)!));

const remove = withAccount(async (person, account) => {
  const own = person.of(account);
  const gone = anyOf(own)!;
  const rest = own.filter((identity) => identity !== gone);
  const bearer = await person.sessionOf(account);
  const { id } = await listed(person, account, bearer, gone.provider);
  // The proof is of a sign-in that stays, so that the request can be repeated.
  const body = { id, proof: await person.tokenOf(anyOf(rest) ?? gone) };
  const answer = await person.settle(`${ADD}/remove`, body, bearer);
  const [code, ended] = [codeOf(answer), gone.session];
  if (rest.length === 0 && code === '409 last_sign_in') return;
  // A repeated request finds that the first one has removed the sign-in, and perhaps ended its own session.
  const isDone = code === '200' || (answer.isRepeated && ['404 sign_in_not_found', '401 session_required'].includes(code));
  if (rest.length === 0 || !isDone) person.differs('answers that the model does not expect', { remove: id, answer: answer.body });
  [gone.account, gone.session] = [undefined, undefined];
  await person.areEnded(ended === undefined ? [] : [ended]);
});

/** The sign-in of a provider in the list of the account, which has to be that of the model. */
export async function listed(person: Person, account: Account, bearer: string, provider?: string) {
  const { signIns } = (await person.need(ADD, undefined, bearer)).body;
  const names = signIns.map((each: { provider: string }) => each.provider).toSorted();
  const own = person.of(account).map((identity) => identity.provider);
  if (`${names}` !== `${own.toSorted()}`) person.differs('lists of sign-ins that differ', { account: account.id, names, own });
  return signIns.find((each: { provider: string }) => each.provider === provider) as { id: string };
}

const deleteIt = withAccount(async (person, account) => {
  const token = await person.tokenOf(anyOf(person.of(account))!);
  const { body } = await person.need('/v1/account/delete', { token });
  const about = { account: account.id, coins: account.coins, told: body };
  if (body.accountId !== account.id) person.differs('sign-ins that opened two accounts', about);
  if (body.balanceCoins !== account.coins) person.count('balances that differ from the book', about);
  const answer = await person.settle('/v1/account/delete', { token, confirm: body.confirm });
  if (codeOf(answer) !== '200' && !(answer.isRepeated && codeOf(answer) === '410 account_deleted'))
    person.differs('answers that the model does not expect', { ...about, answer: answer.body });
  await isDeleted(person, account);
});

/** Notes that an account was deleted. */
export async function isDeleted(person: Person, account: Account): Promise<void> {
  const ended = person.sessionsOf(account);
  for (const each of person.of(account)) [each.account, each.session] = [undefined, undefined];
  await person.areEnded(ended);
}

/** Gives coins, or asks again for coins that an account of the person has got by this key: it may be one that was merged. */
const credit = withAccount(async (person, account) => {
  const isReplay = account.keys.size > 0 && Math.random() < 0.25;
  const [key, coins] = isReplay ? anyOf([...account.keys])! : [fresh('key'), upTo(9)];
  const { body } = await person.need('/v1/coins/credit', { coins, key }, await person.sessionOf(account));
  if (isReplay && body.replayed !== true) person.differs('keys that no longer replay', { account: account.id, key });
  if (!isReplay) account.book(key, coins);
  isBalance(person, account, body.balanceCoins ?? body.balanceAfterCoins);
});

export function isBalance(person: Person, account: Account, balance: number): void {
  if (balance !== account.coins)
    person.differs('balances that differ from the book', { account: account.id, book: account.coins, balance });
}

/** Buys coins. The app may send the purchase only later, when its account may have been merged into another one. */
const buy = withAccount(async (person, account) => {
  const quantity = upTo(3);
  const buyer = Math.random() < 0.5 ? { obfuscatedAccountId: account.id } : {};
  const { purchaseToken: token } = (await person.need('/sandbox/issue', { kind: 'purchase', productId: SKU, quantity, ...buyer })).body;
  account.unshown.push({ token, coins: UNIT_COINS * quantity });
  if (Math.random() < 0.5) await show(person, account);
});

/** Sends a purchase. */
async function show(person: Person, account: Account): Promise<boolean | void> {
  const purchase = account.unshown.at(-1);
  if (purchase === undefined) return false;
  const bearer = await person.sessionOf(account);
  await person.need('/v1/purchases', { store: 'google', purchaseToken: purchase.token }, bearer);
  account.unshown.pop();
  account.coins += purchase.coins;
  account.purchases++;
  isBalance(person, account, (await person.need('/v1/balance', undefined, bearer)).body.balanceCoins);
}

export interface Guest {
  readonly installId: string;
  readonly accountId: string;
  readonly coins: ReadonlyMap<string, number>;
  readonly score: number;
}

/** A guest with coins and a score. */
export async function guestOf(person: Person): Promise<Guest> {
  const installId = fresh('guest');
  const coins = new Map(times(upTo(3), () => [fresh('key'), upTo(9)]));
  for (const [key, amount] of coins) await person.need('/v1/coins/credit', { installId, coins: amount, key });
  const score = upTo(1000);
  await person.need(`/v1/highscores/${GAME}`, { installId, score, name: 'Guest' });
  return { installId, accountId: accountIdOf(installId), coins, score };
}

/** Notes that a guest moved into an account. */
export function hasMoved(account: Account, { coins, score }: Guest): void {
  for (const [key, amount] of coins) account.book(key, amount);
  account.best = Math.max(account.best, score);
}

const moveGuest = withAccount(async (person, account) => {
  const guest = await guestOf(person);
  const { body, isRepeated } = (await person.enter(anyOf(person.of(account))!, { installId: guest.installId })) as Settled;
  if (!body.moved && !isRepeated) person.differs('answers that the model does not expect', { move: guest.accountId, answer: body });
  hasMoved(account, guest);
});

type Settled = Awaited<ReturnType<Person['settle']>>;

const score = withAccount(async (person, account) => {
  const value = upTo(1000);
  await person.need(`/v1/highscores/${GAME}`, { score: value, name: 'Person' }, await person.sessionOf(account));
  account.best = Math.max(account.best, value);
});

const save = withAccount(async (person, account) => {
  if (account.saves.size >= MOST_SAVES) return false;
  const [name, data] = [fresh('save'), fresh('data')];
  await person.need(`/v1/saves/${GAME}/${name}`, { data }, await person.sessionOf(account));
  account.saves.set(name, data);
});

/**
 * If a process dies in a move, the queue takes the rest of it over after 10 s, or 10 s later if the process that takes it over dies. What
 * arrives under the name of an account that is merging, such as a score that its own guest brings, follows a minute after the merge.
 */
const QUEUE_MS = 100_000;

/** Compares what an account has besides coins with the model. */
export async function hasAll(person: Person, account: Account): Promise<void> {
  let missing = await missingOf(person, account);
  await within(QUEUE_MS, async () => missing === undefined || (missing = await missingOf(person, account)) === undefined, 1000);
  if (missing !== undefined) person.differs(missing, { account: account.id });
}

async function missingOf(person: Person, account: Account): Promise<Difference | undefined> {
  const bearer = await person.sessionOf(account);
  const read = async (path: string) => (await person.need(path, undefined, bearer, '404 save_not_found')).body;
  if ((await read('/v1/purchases?limit=100')).purchases.length !== account.purchases) return 'purchases that are missing';
  if (((await read(`/v1/highscores/${GAME}`)).you?.score ?? 0) !== account.best) return 'best scores that are missing';
  for (const [name, data] of account.saves) if ((await read(`/v1/saves/${GAME}/${name}`)).data !== data) return 'saves that are missing';
  return undefined;
}

/** Tries to get a way into an account of another person, with a session, a nonce or a token that is not enough. */
const attack = withAccount(async (person, account, thief) => {
  const own = anyOf(thief.identities)!;
  const bearer = await person.sessionOf(account);
  const { nonce } = (await person.need(`${ADD}/nonce`, {}, bearer)).body;
  // The session and the nonce of the victim leaked; the proof did not.
  const stolen = { token: await thief.tokenOf(own, nonce) };
  const { id } = await listed(person, account, bearer, person.of(account)[0]!.provider);
  const answers = [
    await person.settle(ADD, stolen, bearer),
    await person.settle(ADD, { ...stolen, proof: await thief.tokenOf(own) }, bearer),
    await person.settle(`${ADD}/remove`, { id, proof: await thief.tokenOf(own) }, bearer),
    // The thief has the person's own session, and a token of the other one that was made for a sign-in, without this nonce.
    await person.settle(ADD, { token: await thief.tokenOf(own), proof: await person.tokenOf(person.of(account)[0]!) }, bearer),
  ].map(codeOf);
  if (`${answers}` !== '403 proof_required,403 proof_required,403 proof_required,401 bad_token')
    person.differs('attacks that got through', { account: account.id, answers });
});

/** What a person does by itself, and how often beside the others. */
export const acts: readonly (readonly [name: string, weight: number, act: Act])[] = [
  ['sign-ins', 8, signIn],
  ['links and merges', 16, link],
  ['removals of a sign-in', 8, remove],
  ['deletions', 6, deleteIt],
  ['credits', 20, credit],
  ['purchases', 6, buy],
  ['purchases that are sent later', 4, withAccount(show)],
  ['guests that move', 7, moveGuest],
  ['scores', 4, score],
  ['saves', 6, save],
  ['readings of all that an account has', 6, withAccount(hasAll)],
  ['attacks', 3, attack],
];
