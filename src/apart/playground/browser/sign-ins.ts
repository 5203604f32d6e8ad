import { byId, formatted, inCoins, leadTo, make, onPress, sayProblem, setEnabled } from '../../../web/browser/dom.ts';
import { isKept } from '../../../web/browser/kept-players.ts';
import { explain, type Problem } from '../../../web/browser/problems.ts';
import { madeId, player } from './players.ts';
import { issue } from './sandbox.ts';
import { wireOf } from './wire.ts';

const PROVIDERS = ['google', 'apple'] as const;
type Provider = (typeof PROVIDERS)[number];
const NAMES: Readonly<Record<string, string>> = { google: 'Google', apple: 'Apple' };

/** The name of the person in the browser's storage. */
const PERSON = 'person';

/** The step about sign-ins: one person with accounts at Google and Apple, who signs in, links, merges and removes sign-ins. */
export function showSignIns(): void {
  const list = document.getElementById('sign-ins-list');
  if (list === null) return;
  const [said, balance, mergeButton, wire] = [byId('sign-ins-said'), byId('sign-ins-balance'), byId('sign-ins-merge'), wireOf('sign-ins')];
  const me = player(PERSON, wire);
  let merge: (() => Promise<void>) | undefined;

  const offerMerge = (work?: () => Promise<void>): void => {
    merge = work;
    setEnabled(mergeButton, work !== undefined);
  };
  const tell = (error: Problem): void => sayProblem(said, explain(error));
  const lead = (button?: HTMLElement): void => leadTo(button, byId('sign-ins'));

  /** The dialog of the provider in an app. It ends with a token. @returns undefined: the problem is shown */
  const tokenOf = async (provider: Provider, nonce?: string): Promise<string | undefined> => {
    const issued = await issue(wire, { kind: 'id_token', provider, subject: `${provider}-${madeId('person')}`, nonce });
    if (issued.ok) return issued.token;
    tell(issued.error);
    return undefined;
  };

  /** Turns off the buttons that cannot work with these sign-ins. */
  const enableFor = (providers: readonly Provider[]): Provider[] => {
    setEnabled(byId('sign-ins-earn'), providers.length > 0);
    for (const each of PROVIDERS) setEnabled(byId(`sign-ins-add-${each}`), providers.length > 0 && !providers.includes(each));
    return [...providers];
  };

  /** Shows the sign-ins of the account and its balance. @returns the providers */
  const show = async (): Promise<Provider[]> => {
    if ((await me.who()).sessionToken === undefined) {
      list.replaceChildren(make('li', { className: 'none', textContent: 'Nobody is signed in' }));
      balance.textContent = '–';
      return enableFor([]);
    }
    const listed = await me.signIns.list();
    if (!listed.ok) return (tell(listed.error), []);
    const held = await me.coins.balance();
    if (!held.ok) return (tell(held.error), []);
    balance.textContent = formatted(held.balanceCoins);
    const rows = listed.signIns.map(({ id, provider, current }) => {
      const button = make('button', { type: 'button', className: 'small', textContent: 'Remove' });
      button.setAttribute('aria-label', `Remove the sign-in with ${NAMES[provider]}`);
      onPress(button, () => remove(id, provider as Provider));
      const chip = make('span', { className: 'chip live', textContent: current ? 'this session' : '' });
      return make('li', { className: 'row' }, make('b', { textContent: NAMES[provider]! }), ...(current ? [chip] : []), button);
    });
    list.replaceChildren(...rows);
    return enableFor(listed.signIns.map(({ provider }) => provider as Provider));
  };

  const signIn = async (provider: Provider): Promise<void> => {
    offerMerge();
    const token = await tokenOf(provider);
    if (token === undefined) return;
    const entered = await me.store.provision({ token });
    if (!entered.ok) return tell(entered.error);
    said.textContent = `${NAMES[provider]} opened ${entered.created ? 'a new account' : 'its account'}. Its token said who you are, and nothing else.`;
    lead(byId(`sign-ins-add-${PROVIDERS.find((other) => other !== provider)!}`));
    await show();
  };

  const add = async (provider: Provider): Promise<void> => {
    offerMerge();
    const [own] = await show();
    if (own === undefined) return sayProblem(said, 'Sign in first: a sign-in is added to the account of a session.');
    const given = await me.signIns.nonce({});
    if (!given.ok) return tell(given.error);
    const [token, proof] = [await tokenOf(provider, given.nonce), await tokenOf(own)];
    if (token === undefined || proof === undefined) return;
    const added = await me.signIns.add({ token, proof });
    if (added.ok) {
      lead();
      said.textContent = added.added
        ? `From now on ${NAMES[provider]} opens this account.`
        : `${NAMES[provider]} opens this account already.`;
      return void (await show());
    }
    if (added.error.code !== 'sign_in_taken') return tell(added.error);
    const { confirm, holds } = added.error;
    said.textContent = `${NAMES[provider]} has an account of its own, with ${inCoins(holds.balanceCoins)}. Merge it into this one?`;
    lead(mergeButton);
    offerMerge(async () => {
      offerMerge();
      lead();
      const merged = await me.signIns.add({ token, proof, confirm });
      if (!merged.ok) return tell(merged.error);
      said.textContent = `Merged: ${inCoins(merged.movedCoins ?? 0)} came along. Both sign-ins open this account.`;
      await show();
    });
  };

  const remove = async (id: string, provider: Provider): Promise<void> => {
    offerMerge();
    const proof = await tokenOf(provider);
    if (proof === undefined) return;
    const removed = await me.signIns.remove({ id, proof });
    if (!removed.ok) return tell(removed.error);
    said.textContent = `${NAMES[provider]} opens this account no more. ${removed.current ? 'This session began with it, and has ended.' : ''}`;
    await show();
    list.focus({ preventScroll: true });
  };

  for (const provider of PROVIDERS) {
    onPress(byId(`sign-ins-${provider}`), () => signIn(provider));
    onPress(byId(`sign-ins-add-${provider}`), () => add(provider));
  }
  onPress(byId('sign-ins-earn'), async () => {
    const earned = await me.coins.credit({ coins: 25 });
    if (!earned.ok) return tell(earned.error);
    await show();
  });
  onPress(mergeButton, () => merge?.());
  if (isKept(PERSON)) void show();
}
