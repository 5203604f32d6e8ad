import { AccountId } from '../accounts/ids.ts';
import { refuse, Refusal } from '../errors.ts';
import { adjustBalance, Adjustment } from '../features/coins/adjustment.ts';
import { CoinOperationReply, entryLetters, MAX_BALANCE } from '../features/coins/model.ts';
import { ledgerEnds } from '../features/coins/operator-history.ts';
import { usedKey } from '../features/coins/find-used-key.ts';
import { withinDailyLimit } from './daily-correction-limit.ts';
import { accountChange } from './account-change.ts';
import { Ticket, type OperatorServices } from './operation.ts';

export const adjust = accountChange({
  verb: 'adjust',
  words: ['coins'],
  operationId: 'adjustBalance',
  title: 'Correct the balance',
  role: 'support',
  roleFor: ({ coins }, config) => (isLarge(coins, config) ? 'economist' : 'support'),
  summary: 'Adds coins to an account or removes some, once per key.',
  description:
    'An entry of type `adjust` with the reason and the operator, which `history` shows to operators. Repeating it with the same key and coins ' +
    'changes nothing. A debt is forgiven by adding the coins that are owed; an adjustment takes no balance below 0. Above ' +
    'SUPPORT_ADJUST_COINS (1,000), ' +
    'added or removed, the role `economist` is needed; the corrections of a key of the role `support` in a UTC day are at most SUPPORT_DAILY_COINS ' +
    '(10,000) in sum, else 403 `forbidden` with `leftCoins`.',
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
  async plan({ accountId }, { coins, key, reason }, services, operator) {
    const { by, key: serverKey } = operator;
    const [{ balance }, use] = await Promise.all([
      ledgerEnds(accountId, services.scripts),
      usedKey(accountId, { operation: `${entryLetters.adjust}${coins}`, key }, services),
    ]);
    const work = coins > 0 ? `Add ${counted(coins)} to` : `Remove ${counted(-coins)} from`;
    const isUsed = use === 'used';
    const before = isUsed ? 'Nothing will change: this key was used for it before. ' : '';
    const after = isUsed ? '' : ` and will have ${plain(balance + coins)}`;
    return {
      question: `${before}${work} the account ${accountId}, which has ${plain(balance)}${after}? Key: ${key}.`,
      typed: isLarge(coins, services.config) ? { what: 'the coins', figure: Math.abs(coins) } : undefined,
      what: { coins, key },
      noted: ({ balanceAfterCoins, debtCoins, replayed }) => ({
        balanceAfterCoins,
        debtCoins,
        replayed: replayed === true ? 'yes' : undefined,
      }),
      async act() {
        return withinDailyLimit({ accountId, coins, key }, operator, services, async () => {
          const answer = await adjustBalance(accountId, { coins, key, reason, by: serverKey ?? by }, services);
          return answer instanceof Refusal ? clearer(answer, coins) : answer;
        });
      },
    };
  },
});

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

function counted(coins: number): string {
  return coins === 1 ? '1 coin' : `${plain(coins)} coins`;
}

/** A number without an exponent: 1e12 as digits. */
function plain(coins: number): string {
  return coins.toFixed(0);
}
