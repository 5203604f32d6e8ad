import type { Watch } from '/client.js';
import { byId, formatted, inCoins, leadTo, make, onPress, sayProblem, setEnabled } from '../../../web/browser/dom.ts';
import { isKept, MAIN_PLAYER } from '../../../web/browser/kept-players.ts';
import { onOperations, player, signedIn } from './players.ts';
import { explain } from '../../../web/browser/problems.ts';
import { showShop } from './shop.ts';
import { wireOf } from './wire.ts';

interface Operation {
  readonly type: 'credit' | 'debit';
  readonly coins: number;
  readonly key: string;
}

/** The step about coins: earn, spend, repeat an operation with the same idempotency key, and read the history. */
export function showCoins(): void {
  const said = byId('coins-said');
  let last: Operation | undefined;
  const wire = wireOf('coins');
  const me = player(MAIN_PLAYER, wire);
  onOperations(MAIN_PLAYER, ({ type, coins, key }, result) => {
    if (pressed.has(key)) return;
    // The answer came after the page had stopped waiting, perhaps even after the page was loaded again.
    if (result.ok) said.textContent = `The service answered: the ${type} of ${coins} is done, once.`;
    else sayProblem(said, `The service answered, and refused the ${type} of ${coins}. ${explain(result.error)}`);
    void refresh();
  });
  /** The idempotency keys of the operations that a press has started and that have no answer yet. */
  const pressed = new Set<string>();

  const operate = async (operation: Operation): Promise<void> => {
    const session = await signedIn(me);
    if (!session.ok) return sayProblem(said, explain(session.error));
    follow();
    const { type, coins, key } = operation;
    pressed.add(key);
    const result = await me.coins[type]({ coins, key });
    // The key is removed a turn later. `onOperation` is called in this turn and must still find it.
    setTimeout(() => pressed.delete(key));
    if (result.ok) {
      last = operation;
      setEnabled(byId('coins-replay'), true);
      leadTo(byId(type === 'credit' ? 'coins-spend' : result.replayed === true ? 'coins-earn' : 'coins-replay'), byId('coins'));
      const balance = result.balanceCoins ?? result.balanceAfterCoins;
      said.textContent =
        result.replayed === true
          ? `Replayed: the first answer again, with ${inCoins(result.balanceAfterCoins)} after it. Nothing moved, the balance is ${formatted(balance)}.`
          : `${type === 'credit' ? 'Earned' : 'Spent'} ${coins}. The balance is ${formatted(balance)}${owing(result.debtCoins)}.`;
    } else if (result.pending) {
      pressed.delete(key);
      sayProblem(said, `${explain(result.error)} The operation waits in this browser, and will be sent under the same key.`);
    } else {
      sayProblem(
        said,
        result.error.code === 'insufficient_coins'
          ? `Refused: the balance is ${formatted(result.error.balanceCoins)}${owing(result.error.debtCoins)}. The key is not used up.`
          : explain(result.error),
      );
    }
    await refresh(key, result.ok && result.replayed === true);
  };

  /** Reads and shows the history. @param key the idempotency key of the entry to point out */
  const refresh = async (key?: string, isReplay = false): Promise<void> => {
    const history = await me.coins.history({ limit: '20' });
    if (!history.ok) return;
    // The balance is negative if the player has a debt.
    const balance = history.entries[0]?.balanceAfterCoins ?? 0;
    byId('coins-balance').textContent = shown(balance);
    setEnabled(byId('coins-spend'), balance >= SPENT);
    byId('coins-history').replaceChildren(
      ...(history.entries.length === 0 ? [make('tr', { className: 'none' }, make('td', { colSpan: 4, textContent: 'Nothing yet' }))] : []),
      ...history.entries.map((entry) =>
        make(
          'tr',
          { className: entry.key !== key ? '' : isReplay ? 'again' : 'fresh' },
          make('td', { textContent: entry.type }),
          make('td', { className: 'number', textContent: `${entry.coins > 0 ? '+' : '−'}${formatted(Math.abs(entry.coins))}` }),
          make('td', { className: 'number', textContent: formatted(entry.balanceAfterCoins).replace('-', '−') }),
          make('td', { className: 'mono', textContent: entry.key, title: entry.key }),
        ),
      ),
    );
  };

  let watch: Watch | undefined;
  let moved: ReturnType<typeof setTimeout>;
  /** Shows changes of the balance that come from elsewhere: from another screen, a refund, or an operator. */
  const follow = (): void => {
    watch ??= me.watchAccount(({ balanceCoins, debtCoins = 0 }) => {
      clearTimeout(moved);
      // The answer to an operation of this page shows the same balance and points out its entry, so this waits for that answer first.
      moved = setTimeout(() => byId('coins-balance').textContent !== shown(balanceCoins - debtCoins) && void refresh(), ANSWER_MS);
    });
  };

  let number = 0;
  // This idempotency key is made for people to read, because the page shows it. A game lets the client library make its keys.
  const newKey = (word: string): string => `${word}-${Date.now().toString(36)}-${++number}`;
  onPress(byId('coins-earn'), () => operate({ type: 'credit', coins: 25, key: newKey('earn') }));
  onPress(byId('coins-spend'), () => operate({ type: 'debit', coins: SPENT, key: newKey('spend') }));
  onPress(byId('coins-replay'), () => last && operate(last));
  showShop(me, wire, refresh);
  if (!isKept(MAIN_PLAYER)) return;
  void refresh();
  follow();
}

/** The coins of one press of *Spend*. */
const SPENT = 10;

/** Milliseconds to wait for the answer to an operation after the channel has announced the change. */
const ANSWER_MS = 300;

const shown = (balance: number): string => formatted(balance).replace('-', '−');

function owing(debtCoins: unknown): string {
  return typeof debtCoins === 'number' ? `, with a debt of ${formatted(debtCoins)}` : '';
}
