import { setTimeout as pause } from 'node:timers/promises';
import { randomBytes } from 'node:crypto';
import { ADD, codeOf, ENTER, isSettled, type Account, type Identity, type Person } from './people.ts';
import { guestOf, hasMoved, isBalance, isDeleted, listed, type Act } from './person-acts.ts';
import { anyOf } from './place.ts';

/**
 * Requests of one person at once. Each is sent once, and one without an answer may or may not have happened. Afterwards the person asks what
 * holds, and that has to be the outcome of one order.
 */

/** A request without an answer may still be at work for a moment. */
const SETTLES_MS = 300;

const unused = (person: Person): Identity | undefined => anyOf(person.identities.filter(({ account }) => account === undefined));

/** Two accounts of a person. */
function twoOf(person: Person): readonly [Account, Account] | undefined {
  const [one, other] = person.accounts.toSorted(() => Math.random() - 0.5);
  return other === undefined ? undefined : [one!, other];
}

/** A first sign-in, and the addition of the same sign-in to an account. */
const firstSignIn: Act = async (person) => {
  const [identity, account] = [unused(person), anyOf(person.accounts)];
  if (identity === undefined || account === undefined) return false;
  const { bearer, body } = await person.additionOf(account, identity);
  const token = await person.tokenOf(identity);
  const enter = () => person.once(ENTER, { token, session: 'token' });
  const [first, answer] = await Promise.all([later(enter), person.once(ADD, body, bearer)]);
  if (![first, answer].every(isSettled)) await pause(SETTLES_MS);
  const last = await person.signIn(identity);
  const opened = new Set([first, last].flatMap(({ status, body }) => (status === 200 ? [body.accountId as string] : [])));
  if (answer.status === 200) opened.add(account.id);
  const isAdded = last.body.accountId === account.id;
  const about = { person: identity.subject, answers: [first, answer, last].map(codeOf), opened: [...opened], account: account.id };
  if (opened.size > 1) person.differs('sign-ins that opened two accounts', about);
  if (isAdded) identity.account = account;
  else person.opened(identity, last.body.accountId);
};

/** Begins at a random moment of the other request, mostly an early one. */
async function later<T>(begin: () => Promise<T>): Promise<T> {
  await pause(40 * Math.random() ** 2);
  return begin();
}

/** Two accounts that add one sign-in. */
const twoLinks: Act = async (person) => {
  const [identity, accounts] = [unused(person), twoOf(person)];
  if (identity === undefined || accounts === undefined) return false;
  const additions = [];
  for (const account of accounts) additions.push(await person.additionOf(account, identity));
  const added = await Promise.all(additions.map(({ body, bearer }) => person.once(ADD, body, bearer)));
  if (!added.every(isSettled)) await pause(SETTLES_MS);
  const last = (await person.signIn(identity)).body.accountId;
  const [winners, home] = [accounts.filter((_, index) => added[index]!.status === 200), accounts.find(({ id }) => id === last)];
  if (winners.length > 1 || (winners.length === 1 && winners[0] !== home))
    person.differs('sign-ins that opened two accounts', { winners: winners.map(({ id }) => id), last });
  if (home !== undefined) identity.account = home;
  else person.opened(identity, last);
};

/** Two accounts that merge each other. */
const circle: Act = async (person) => {
  const accounts = twoOf(person);
  if (accounts === undefined) return false;
  const [one, other] = accounts;
  const [ofOne, ofOther] = accounts.map((account) => anyOf(person.of(account))!) as [Identity, Identity];
  // Both have their offers first: once one account has merged the other, the other can ask for nothing more.
  const offers = [];
  for (const [account, identity] of [
    [one, ofOther],
    [other, ofOne],
  ] as const) {
    const { bearer, body } = await person.additionOf(account, identity);
    const { confirm } = (await person.need(ADD, body, bearer, '409 sign_in_taken')).body.error;
    offers.push({ bearer, body: { ...body, confirm } });
  }
  const merged = await Promise.all(offers.map(({ body, bearer }) => person.once(ADD, body, bearer)));
  const winners = accounts.filter((_, index) => merged[index]!.status === 200);
  if (!merged.every(isSettled)) await pause(SETTLES_MS);
  const ids: string[] = [];
  for (const identity of [ofOne, ofOther]) ids.push((await person.signIn(identity)).body.accountId as string);
  const about = { one: one.id, other: other.id, ids, answers: merged.map(codeOf) };
  person.note({ circle: about });
  if (winners.length > 1 || (winners.length === 1 && ids.some((id) => id !== winners[0]!.id)))
    person.differs('sign-ins that opened two accounts', about);
  const home = ids[0] === ids[1] ? accounts.find(({ id }) => id === ids[0]) : undefined;
  if (home === undefined && (ids[0] !== one.id || ids[1] !== other.id)) person.differs('sign-ins that opened two accounts', about);
  if (home === undefined) return person.link(one, ofOther);
  const ended = home === one ? other : one;
  person.hasJoined(home, anyOf(person.of(ended))!);
  isBalance(person, home, (await person.need('/v1/balance', undefined, await person.sessionOf(home))).body.balanceCoins);
};

/** A merge while both accounts get coins, and a guest moves into the one that is merged. */
const busyMerge: Act = async (person) => {
  const accounts = twoOf(person);
  if (accounts === undefined) return false;
  const [target, merged] = accounts;
  const identity = anyOf(person.of(merged))!;
  const guest = await guestOf(person);
  const credits = accounts.flatMap((account) =>
    [1, 2, 3].map((coins) => ({ account, coins, key: `busy-${randomBytes(9).toString('hex')}` })),
  );
  const bearers = new Map<Account, string>();
  for (const account of accounts) bearers.set(account, await person.sessionOf(account));
  const pay = ({ coins, key, account }: (typeof credits)[number]) =>
    later(() => person.once('/v1/coins/credit', { coins, key }, bearers.get(account)));
  const [answers, moved] = await Promise.all([
    Promise.all(credits.map(pay)),
    later(() => person.signIn(identity, { installId: guest.installId }, person.once)),
    person.add(target, identity, person.once),
  ]);
  if (moved.status === 200 && moved.body.accountId !== target.id && moved.body.accountId !== merged.id)
    person.differs('sign-ins that opened two accounts', { opened: moved.body.accountId, target: target.id, merged: merged.id });
  if (!answers.every(isSettled)) await pause(SETTLES_MS);
  // What the merged account got goes with it. What it could not take any more is sent again, to where it is now.
  for (const [index, { account, coins, key }] of credits.entries()) if (answers[index]!.status === 200) account.book(key, coins);
  // The target may have taken the merge already, so the offer to merge need not tell the coins of the model.
  await finishMerge(person, target, identity);
  const bearer = await person.sessionOf(target);
  for (const [index, { coins, key }] of credits.entries()) {
    const { body } = await person.need('/v1/coins/credit', { coins, key }, bearer);
    if (answers[index]!.status === 200 && body.replayed !== true) person.differs('keys that no longer replay', { account: target.id, key });
    if (answers[index]!.status !== 200) target.book(key, coins);
  }
  const again = await person.enter(identity, { installId: guest.installId });
  if (again.body.notMoved !== undefined) person.differs('answers that the model does not expect', { notMoved: again.body.notMoved });
  hasMoved(target, guest);
  isBalance(person, target, (await person.need('/v1/balance', undefined, await person.sessionOf(target))).body.balanceCoins);
};

/** Merges an account whose coins the model does not know exactly. */
async function finishMerge(person: Person, target: Account, identity: Identity): Promise<void> {
  for (;;) {
    const { answer } = await person.add(target, identity);
    if (codeOf(answer) === '401 bad_token') continue;
    if (answer.status !== 200) person.differs('answers that the model does not expect', { merge: target.id, answer: answer.body });
    return person.hasJoined(target, identity);
  }
}

/** A merge, and the deletion of the account that is merged. */
const mergeAndDelete: Act = async (person) => {
  const accounts = twoOf(person);
  if (accounts === undefined) return false;
  const [target, merged] = accounts;
  const [identity, ended] = [anyOf(person.of(merged))!, person.sessionsOf(merged)];
  const token = await person.tokenOf(identity);
  const proof = { token, confirm: (await person.need('/v1/account/delete', { token })).body.confirm as string };
  const [{ answer }, deleted] = await Promise.all([
    person.add(target, identity, person.once),
    later(() => person.once('/v1/account/delete', proof)),
  ]);
  if (![answer, deleted].every(isSettled)) await pause(SETTLES_MS);
  // An answer that is missing is replaced by that of a repetition, which finds an account that was merged, deleted, or neither.
  const outcome = isSettled(deleted) ? deleted : await person.settle('/v1/account/delete', proof);
  const isGone = outcome.status === 200 || codeOf(outcome) === '410 account_deleted';
  const brothers = person.of(merged).filter((each) => each !== identity);
  const about = { target: target.id, merged: merged.id, answers: [answer, deleted, outcome].map(codeOf) };
  if (isGone) {
    await isDeleted(person, merged);
    const { accountId } = (await person.signIn(identity)).body;
    // The deletion had ended the sign-in before it was added, so it was added as a new one.
    if (accountId === target.id) identity.account = target;
    else if (answer.status === 200) person.differs('sign-ins that opened two accounts', about);
    else person.opened(identity, accountId);
  } else {
    await finishMerge(person, target, identity);
    await person.areEnded(ended);
  }
  for (const each of brothers) await person.enter(each);
  const bearer = await person.sessionOf(target);
  await listed(person, target, bearer);
  isBalance(person, target, (await person.need('/v1/balance', undefined, bearer)).body.balanceCoins);
};

/** A sign-in with what another device removes. */
const removeWhileUsed: Act = async (person) => {
  const account = anyOf(person.accounts.filter((each) => person.of(each).length > 1));
  if (account === undefined) return false;
  const [gone, stays] = person.of(account) as [Identity, Identity];
  const bearer = await person.sessionOf(account, stays);
  const { id } = await listed(person, account, bearer, gone.provider);
  const before = person.sessionsOf(account).filter((session) => session === gone.session);
  const proof = await person.tokenOf(stays);
  const [removed, entered] = await Promise.all([
    person.settle(`${ADD}/remove`, { id, proof }, bearer),
    later(() => person.signIn(gone, {}, person.once)),
  ]);
  const isDone = removed.status === 200 || (removed.isRepeated && codeOf(removed) === '404 sign_in_not_found');
  if (!isDone) person.differs('answers that the model does not expect', { remove: id, answer: removed.body });
  [gone.account, gone.session] = [undefined, undefined];
  if (entered.status === 200 && entered.body.accountId !== account.id) person.opened(gone, entered.body.accountId);
  else if (entered.status === 200) before.push(entered.body.sessionToken);
  await person.areEnded(before);
  await person.enter(gone);
};

/** What a person does at once, and how often beside `acts`. */
export const races: readonly (readonly [name: string, weight: number, act: Act])[] = [
  ['first sign-ins beside a link', 8, firstSignIn],
  ['two links of one sign-in', 8, twoLinks],
  ['merges in a circle', 3, circle],
  ['merges beside credits and a guest', 3, busyMerge],
  ['merges beside a deletion', 5, mergeAndDelete],
  ['removals beside a sign-in', 3, removeWhileUsed],
];
