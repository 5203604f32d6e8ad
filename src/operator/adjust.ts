import { AccountId } from '../accounts/ids.ts';
import { banAt } from '../accounts/standing.ts';
import { refuse, Refusal } from '../errors.ts';
import { adjustBalance, Adjustment } from '../features/coins/adjustment.ts';
import { CoinOperationReply, entryLetters, MAX_BALANCE } from '../features/coins/model.ts';
import { ledgerEnds } from '../features/coins/operator-history.ts';
import { usedKey } from '../features/coins/find-used-key.ts';
import { accountChange } from './account-change.ts';
import { coinsText } from './shown/cells.ts';
import { Ticket, type OperatorServices } from './operation.ts';

export const adjust = accountChange({
  verb: 'adjust',
  words: ['coins'],
  operationId: 'adjustBalance',
  title: 'Correct the balance',
  role: 'support',
  roleFor: ({ coins }, config) => (isLarge(coins, config) ? 'economist' : 'support'),
  summary: 'Adds coins to an account or removes coins from it, once per key.',
  description:
    'An entry of type `adjust` with the reason and the operator, which `history` shows to operators. Repeating it with the same key and coins ' +
    'changes nothing. A debt is forgiven by adding the coins that are owed; an adjustment takes no balance below 0. Above ' +
    'SUPPORT_ADJUST_COINS (1,000), ' +
    'added or removed, the role `economist` is needed; the corrections of a key of the role `support` in a UTC day are at most SUPPORT_DAILY_COINS ' +
    '(10,000) in sum, else 403 `forbidden` with `leftCoins`. Above TWO_PERSON_COINS a second person has to say yes in the console, else 403 ' +
    '`forbidden` with `needs: "second_person"`.',
  fields: { coins: Adjustment.shape.coins, key: Ticket },
  reply: CoinOperationReply.extend({ accountId: AccountId }),
  errors: ['account_banned', 'insufficient_coins', 'balance_limit', 'key_reused'],
  body: { coins: 50, key: 'ticket-4711', reason: 'lost in the outage of 3 May' },
  shown: ({ accountId, balanceAfterCoins, replayed, balanceCoins = balanceAfterCoins, debtCoins }) => {
    const now = debtCoins === undefined ? plain(balanceCoins) : `0, with a debt of ${debtCoins}`;
    return [
      replayed === true
        ? `The key was used before, so nothing was changed: the balance of ${accountId} was ${balanceAfterCoins} then, and is ${now} now.`
        : `The balance of ${accountId} is ${now} now.`,
    ];
  },
  async plan({ accountId, standing }, { coins, key, reason }, services, { by, key: serverKey }) {
    const [{ balance }, use] = await Promise.all([
      ledgerEnds(accountId, services.scripts),
      usedKey(accountId, { operation: `${entryLetters.adjust}${coins}`, key }, services),
    ]);
    const work = coins > 0 ? `Add ${coinsText(coins)} to` : `Remove ${coinsText(-coins)} from`;
    const isUsed = use === 'used';
    const before = isUsed ? 'Nothing will change: this key was used for it before. ' : '';
    const after = isUsed ? '' : ` and will have ${plain(balance + coins)}`;
    return {
      question: `${before}${work} the account ${accountId}, which has ${plain(balance)}${after}? Key: ${key}.`,
      foreseen: isUsed ? undefined : foreseenRefusal({ balance, coins, use, isBanned: banAt(standing, services.now()) !== undefined }),
      typed: isLarge(coins, services.config) ? { what: 'the coins', figure: Math.abs(coins) } : undefined,
      coins: {
        name: `${accountId} ${coins} ${key}`,
        shares: [[accountId, Math.abs(coins)]],
        changed: () => (isUsed ? [] : [[accountId, Math.abs(coins)]]),
      },
      what: { coins, key },
      noted: ({ balanceAfterCoins, debtCoins, replayed }) => ({
        balanceAfterCoins,
        debtCoins,
        replayed: replayed === true ? 'yes' : undefined,
      }),
      async act() {
        const answer = await adjustBalance(accountId, { coins, key, reason, by: serverKey ?? by }, services);
        return answer instanceof Refusal ? clearer(answer, coins) : answer;
      },
    };
  },
});

/** The answer that the account would give now, with figures. */
function foreseenRefusal({ balance, coins, use, isBanned }: { balance: number; coins: number; use: string; isBanned: boolean }) {
  if (use === 'reused')
    return refuse('key_reused', { message: 'The account has an entry of this key with another number of coins: take another ticket.' });
  if (isBanned) return refuse('account_banned', { message: 'The account is banned: it takes no correction until the ban has ended.' });
  const details = { balanceCoins: Math.max(0, balance), ...(balance < 0 ? { debtCoins: -balance } : {}) };
  if (coins < 0 && balance + coins < 0) return clearer(refuse('insufficient_coins', details), coins);
  return balance + coins > MAX_BALANCE ? clearer(refuse('balance_limit', details), coins) : undefined;
}

const isLarge = (coins: number, { SUPPORT_ADJUST_COINS }: OperatorServices['config']): boolean => Math.abs(coins) > SUPPORT_ADJUST_COINS;

type AdjustRefusal = Exclude<Awaited<ReturnType<typeof adjustBalance>>, { accountId: string }>;

/** The refusal, with figures in its message. */
function clearer(refusal: AdjustRefusal, coins: number): Refusal {
  const { code, details } = refusal;
  const balanceCoins = Number(details['balanceCoins']);
  const balance = balanceCoins - Number(details['debtCoins'] ?? 0);
  const after = balance + coins;
  if (code === 'insufficient_coins') {
    const message = `The account has ${plain(balance)} coins: ${plain(coins)} would leave ${plain(after)}, and an adjustment takes no balance below 0.`;
    return refuse(code, { ...details, message, balanceCoins });
  }
  if (code === 'balance_limit') {
    const message = `The account has ${plain(balance)} coins: ${plain(coins)} would make ${plain(after)}, and a balance is never above ${plain(MAX_BALANCE)}.`;
    return refuse(code, { ...details, message, balanceCoins });
  }
  return refusal;
}

/** A number in digits, without an exponent: 1e12 would otherwise be printed so. */
function plain(coins: number): string {
  return coins.toFixed(0);
}
