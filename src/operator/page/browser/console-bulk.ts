import { call, Failed, type Answer, type Operator } from './console-calls.ts';
import { accountsOf, csvLine } from './console-file.ts';
import {
  accountLink,
  alertOf,
  button,
  coins as shownCoins,
  download,
  facts,
  field,
  input,
  link,
  marked,
  row as rowOf,
  section,
  select,
  table,
  type Asked,
  type Part,
  type Shown,
} from './console-parts.ts';
import { bulkGrant, BulkRows, bulkTakeBack, coinsOf, type BulkKind, type BulkRow, type NamedAccount } from '../../shown/bulk-rows.ts';
import { proofOf } from './console-sign-in.ts';
import { make, onSubmit } from '../../../web/browser/dom.ts';

/** The most that one call takes. The service grants to a thousand accounts a second, so a person can stop a run about once a second. */
const AT_ONCE = 1000;

/** What the page says of a change to many accounts, and sends for it. */
interface BulkWords {
  readonly title: string;
  readonly path: string;
  /** Above the form. */
  readonly file: string;
  /** Below the file, in front of the sentence about installIds. Empty, or with a blank at its end. */
  readonly fileHint: string;
  readonly keyLabel: string;
  readonly keyHint: string;
  readonly warning: string;
  /** `Grant`, in front of a number of coins. */
  readonly act: string;
  readonly acting: string;
  readonly plan: string;
  readonly outcomes: Readonly<Record<string, string>>;
  readonly ends: { readonly done: string; readonly none: string; readonly again: string };
}

const OUTCOMES = { repeated: 'named by an earlier line too', deleted: 'deleted: gets nothing', refused: 'refused' };

const GRANT: BulkWords = {
  title: 'Bulk grant',
  path: '/v1/admin/coins/grant-many',
  file: 'A CSV file with a column accountId or installId',
  fileHint: '',
  keyLabel: 'Key of the event',
  keyHint: 'With the same key an account gets coins only once.',
  warning: 'A wrong grant can be taken back, but not what was spent meanwhile.',
  act: 'Grant',
  acting: 'Granting',
  plan: 'To grant',
  outcomes: {
    ...OUTCOMES,
    waiting: 'not granted yet',
    granted: 'granted',
    replayed: 'got them under this key before',
    moved: 'moved: the other account gets them',
    banned: 'banned: gets nothing',
    unknown: 'unknown: no such account',
  },
  ends: {
    done: 'Granted',
    none: 'Nobody got coins',
    again: 'Nothing changed: every account that could get the coins had got them under this key before.',
  },
};

const TAKE_BACK: BulkWords = {
  title: 'Take a grant back',
  path: '/v1/admin/coins/take-back',
  file: 'The report of the grant, or another CSV file with a column accountId or installId',
  fileHint: 'Without the report, any list that has these accounts will do: from the others nothing is taken. ',
  keyLabel: 'Key of the grant',
  keyHint: 'The log has it, at “coins grant”. The ledgers say who was granted how much under it.',
  warning: 'A grant can be taken back once. To give the coins again takes another grant.',
  act: 'Take back',
  acting: 'Taking back',
  plan: 'To take back',
  outcomes: {
    ...OUTCOMES,
    waiting: 'not taken back yet',
    taken: 'taken back',
    replayed: 'gave them back before',
    moved: 'moved: the other account gives them back',
    deleted: 'deleted: nothing is left of it',
    no_grant: 'no grant of an operator under this key',
  },
  ends: {
    done: 'Taken back',
    none: 'Nobody gave coins back',
    again: 'Nothing changed: every account that was granted the coins had given them back before.',
  },
};

/** What the service is asked for, beside the accounts. */
interface Terms {
  readonly kind: BulkKind;
  readonly words: BulkWords;
  readonly key: string;
  readonly reason: string;
  /** For each account, if they are known before. */
  readonly coins?: number;
  readonly intoDebt?: boolean;
  /** The names of the columns of the file that the page does not read. */
  readonly unread: readonly string[];
}

/**
 * Grants coins to many accounts: shows a preview, lets the operator type the number of accounts, and grants in parts. With the same key
 * each account gets the coins only once.
 */
export function grantView(asked: Asked): Promise<Shown> {
  const amount = input('coins', '', { type: 'number', required: true, min: '1', max: '1000000', step: '1' });
  return bulkView(asked, bulkGrant, GRANT, field(marked('Coins for each account', amount), amount), () => ({
    coins: Number(amount.value),
  })).then(({ title, parts }) => ({ title, parts: [link(['take-back'], 'Take a grant back'), ...parts] }));
}

/** Takes a grant back from the accounts of its report, as the grant was made. */
export function takeBackView(asked: Asked): Promise<Shown> {
  const depth = select('depth', '', [
    ['', 'Down to what each account still has'],
    ['debt', 'Into debt, where the coins are spent'],
  ]);
  return bulkView(asked, bulkTakeBack, TAKE_BACK, field('How far', depth), () => ({ intoDebt: depth.value === 'debt' }));
}

async function bulkView(
  { signal, operator, query }: Asked,
  kind: BulkKind,
  words: BulkWords,
  own: HTMLElement,
  ownTerms: () => Pick<Terms, 'coins' | 'intoDebt'>,
): Promise<Shown> {
  const file = make('input', { type: 'file', accept: '.csv,text/csv,text/plain' });
  const text = make('textarea', { rows: 8, spellcheck: false, placeholder: 'accountId\nBQ5v1mHk2nYtZ8cXw0aLpR' });
  file.addEventListener('change', () => void file.files?.[0]?.text().then((read) => (text.value = read)));
  const key = input('event', query.get('key') ?? '', { required: true, maxLength: 255, pattern: '[ -~]+', placeholder: 'comp-2026-11' });
  const reason = input('reason', '', { required: true, maxLength: 120 });
  const result = make('div', { className: 'stack' });
  const said = alertOf('');
  const form = make(
    'form',
    { className: 'stack' },
    field(words.file, file, `${words.fileHint}An installId is a secret: this browser turns it into the accountId, and sends it nowhere.`),
    field('or its lines', text),
    make('div', { className: 'halves' }, own, field(marked(words.keyLabel, key), key, words.keyHint)),
    field(marked('Reason, for other operators', reason), reason),
    said,
    make('div', { className: 'row' }, make('button', { type: 'submit', className: 'primary', textContent: 'Look first' })),
  );
  onSubmit(form, async () => {
    said.textContent = '';
    try {
      const terms = { kind, words, key: key.value.trim(), reason: reason.value.trim().normalize('NFC'), ...ownTerms() };
      const reading = alertOf('');
      result.replaceChildren(reading);
      // A pause lets the browser draw.
      const { accounts, unread } = await accountsOf(text.value, async (done, most) => {
        reading.textContent = `Read ${shownCoins(done)} of ${shownCoins(most)} lines.`;
        await new Promise((resolve) => setTimeout(resolve));
      });
      const bulk = new Bulk(accounts, { ...terms, unread }, result, signal, operator);
      await bulk.check();
    } catch (error) {
      said.textContent = (error as Error).message;
    }
  });
  return { title: words.title, parts: [section(kind === bulkGrant ? 'Who gets coins' : 'Who got coins', form), result] };
}

class Bulk {
  readonly #rows: BulkRows;
  readonly #terms: Terms;
  readonly #place: HTMLElement;
  readonly #signal: AbortSignal;
  readonly #operator: Operator;
  /** Sentences of the service about the operator's limits on coins. */
  #limits: readonly string[] = [];
  /** Whether a second person has to approve the grant as a whole. */
  #isForTwo = false;
  #isStopped = false;
  /** Whether an answer was lost. Replays may then be grants that this page has made. */
  #isUnsure = false;

  constructor(accounts: readonly NamedAccount[], terms: Terms, place: HTMLElement, signal: AbortSignal, operator: Operator) {
    this.#rows = new BulkRows(accounts, terms.kind, terms.coins);
    this.#terms = terms;
    this.#place = place;
    this.#signal = signal;
    this.#operator = operator;
  }

  /** Reads every account, without changing anything. */
  async check(): Promise<void> {
    const { all } = this.#rows;
    const progress = this.#progress('Looking', all.length);
    for (let from = 0; from < all.length; from += AT_ONCE) {
      const part = all.slice(from, from + AT_ONCE);
      const { results } = await this.#send(part, 'look', true);
      this.#rows.preview(part, results);
      progress(from + part.length);
    }
    await this.#judge();
    this.#showPreview();
  }

  /** Asks for the bounds of the operator, before anything changes. The bound of one person holds for the change as a whole. */
  async #judge(): Promise<void> {
    const rows = this.#rows.of('waiting');
    if (rows.length === 0) return;
    const input = this.#bodyOf(rows.slice(0, AT_ONCE), false);
    const { limits = [], leftAlone, secondPerson } = await call('/console/ask', { body: { operation: this.#terms.kind.operation, input } });
    this.#limits = limits;
    this.#isForTwo = secondPerson !== undefined || (leftAlone !== undefined && coinsOf(rows) > leftAlone);
  }

  #showPreview(): void {
    const rows = this.#rows.of('waiting');
    const apart = this.#apart;
    const { words } = this.#terms;
    const typed = input('typed', '', { required: true, inputMode: 'numeric' });
    const proof = proofOf(this.#operator);
    const said = alertOf('');
    const form = make(
      'form',
      { className: 'stack' },
      ...this.#limits.map((sentence) => make('p', { className: 'hint', textContent: sentence })),
      make('p', {
        className: 'warning',
        textContent: this.#isForTwo
          ? 'This needs the yes of a second person, within a day: under Requests. Nothing changes before.'
          : words.warning,
      }),
      field(`Type ${rows.length}, the accounts`, typed),
      ...(this.#isForTwo ? [] : [proof.part]),
      said,
      make(
        'div',
        { className: 'row' },
        make('button', {
          type: 'submit',
          className: 'primary',
          textContent: this.#isForTwo ? 'Ask for the yes' : `${words.act} ${coinsShown(coinsOf(rows))}`,
        }),
      ),
    );
    onSubmit(form, async () => {
      said.textContent = '';
      if (typed.value.replaceAll(/[,\s]/g, '') !== String(rows.length)) {
        said.textContent = `That is not ${rows.length}. Nothing was changed.`;
        return typed.focus();
      }
      try {
        if (this.#isForTwo) return await this.#askSecond(rows);
        await proof.confirm();
      } catch (error) {
        return void (said.textContent = (error as Error).message);
      }
      await this.#run(rows);
    });
    this.#show(
      rows.length === 0 ? 'Nothing will change' : 'What will happen',
      facts([
        ['Lines', shownCoins(this.#rows.all.length)],
        ['Columns that are not read', this.#terms.unread.join(', ')],
        [words.plan, make('strong', { textContent: this.#sum(rows) })],
        ...[...apart].map(([kind, { length }]) => [words.outcomes[kind] ?? kind, shownCoins(length)] as const),
      ]),
      this.#others(apart),
      ...(rows.length === 0 ? [] : [form]),
      make('div', { className: 'row' }, this.#reportButton()),
    );
  }

  #sum(rows: readonly BulkRow[]): string {
    const { coins } = this.#terms;
    const each = coins === undefined ? ',' : ` × ${shownCoins(coins)} =`;
    return `${rows.length === 1 ? '1 account' : `${shownCoins(rows.length)} accounts`}${each} ${coinsShown(coinsOf(rows))}`;
  }

  /** The lines that get nothing, or whose coins go to another account, by kind. */
  get #apart(): Map<string, BulkRow[]> {
    const kinds = new Map<string, BulkRow[]>();
    for (const row of this.#rows.all) {
      const kind = row.outcome !== 'waiting' ? row.outcome : row.movedTo === undefined ? undefined : 'moved';
      if (kind === undefined) continue;
      if (kinds.has(kind)) kinds.get(kind)!.push(row);
      else kinds.set(kind, [row]);
    }
    return kinds;
  }

  #others(kinds: ReadonlyMap<string, readonly BulkRow[]>): HTMLElement {
    const rows = [...kinds].flatMap(([kind, all]) =>
      all
        .slice(0, MOST_SHOWN)
        .map(({ line, accountId, movedTo }) => [
          String(line),
          accountLink(accountId),
          this.#terms.words.outcomes[kind] ?? kind,
          movedTo === undefined ? '' : accountLink(movedTo),
        ]),
    );
    return table(
      'Exceptional lines, the first of each kind',
      ['#Line', 'Account', 'Outcome', 'Moved to'],
      rows,
      'Every line is an account that the change can be made to.',
    );
  }

  async #run(rows: readonly BulkRow[]): Promise<void> {
    this.#isStopped = false;
    const left = rows.filter(({ outcome }) => outcome === 'waiting');
    const progress = this.#progress(this.#terms.words.acting, left.length, () => (this.#isStopped = true));
    let problem = '';
    try {
      for (let from = 0; from < left.length && !this.#isStopped; from += AT_ONCE) {
        const part = left.slice(from, from + AT_ONCE);
        const { results } = await this.#sendPart(part);
        this.#rows.take(part, results);
        progress(from + part.length);
      }
    } catch (error) {
      problem = (error as Error).message;
    }
    this.#showEnd(rows, problem);
  }

  /** Asks for the approval of a second person. It sends a request for each part, because a call takes only so many accounts. */
  async #askSecond(rows: readonly BulkRow[]): Promise<void> {
    const ids: string[] = [];
    for (let from = 0; from < rows.length; from += AT_ONCE) {
      const input = {
        operation: this.#terms.kind.operation,
        input: this.#bodyOf(rows.slice(from, from + AT_ONCE), false),
        reason: this.#terms.reason,
      };
      const { seen } = await call('/console/ask', { body: { operation: 'requests ask', input } });
      const { request } = await call('/console/requests', { body: input, says: seen as string });
      ids.push(request.id as string);
    }
    this.#show(
      'Asked',
      make('p', { textContent: 'Another person finds this under Requests. Nothing has changed yet.' }),
      facts([['Requests', ids.join(', ')]]),
    );
  }

  /** Sends a part, and repeats it if the answer was lost: accounts that have changed are replays. */
  async #sendPart(part: readonly BulkRow[]): Promise<Answer> {
    for (let tries = 1; ; tries++) {
      try {
        const { seen } = await call('/console/ask', {
          body: { operation: this.#terms.kind.operation, input: this.#bodyOf(part, false) },
        });
        return await this.#send(part, seen as string, false);
      } catch (error) {
        const isPassing =
          error instanceof Failed && (error.isUnknown || ['rate_limited', 'overloaded', 'store_unavailable'].includes(error.code));
        this.#isUnsure ||= error instanceof Failed && error.isUnknown;
        if (!isPassing || tries === MOST_TRIES) throw error;
        await new Promise((resolve) => setTimeout(resolve, Number(error.details['retryAfterMs']) || 1500));
      }
    }
  }

  #send(part: readonly BulkRow[], says: string, dryRun: boolean): Promise<Answer> {
    return call(this.#terms.words.path, { body: this.#bodyOf(part, dryRun), says });
  }

  #bodyOf(part: readonly BulkRow[], dryRun: boolean): object {
    const { coins, intoDebt, key, reason } = this.#terms;
    const ids = part.map(({ accountId }) => accountId);
    const what = coins === undefined ? { accounts: ids, intoDebt } : { entries: ids.map((account) => ({ account, coins })) };
    return { ...what, key, reason, ...(dryRun ? { dryRun } : {}) };
  }

  #showEnd(rows: readonly BulkRow[], problem: string): void {
    const counts = new Map<string, number>();
    for (const { outcome } of rows) counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
    const { kind, words, key } = this.#terms;
    const isWhole = !counts.has('waiting');
    // All rows are searched. After a stop and a restart, the last run has only the last rows.
    const done = this.#rows.of(kind.done);
    const isReplayed = isWhole && done.length === 0 && !this.#isUnsure && counts.has('replayed');
    const said = make('p', {
      textContent: isReplayed
        ? words.ends.again
        : isWhole
          ? 'Every account has its outcome.'
          : `${problem === '' ? 'Stopped.' : problem} Go on: no account changes twice.`,
    });
    said.setAttribute('role', 'status');
    this.#show(
      isReplayed
        ? 'Nothing changed'
        : isWhole
          ? done.length > 0 || this.#isUnsure
            ? words.ends.done
            : words.ends.none
          : 'Stopped in the middle',
      said,
      facts([
        ...[...counts].map(([outcome, count]) => [words.outcomes[outcome] ?? outcome, shownCoins(count)] as const),
        ['Coins', shownCoins(coinsOf(done))],
      ]),
      make('div', { className: 'row' }, isWhole ? '' : button('Go on', () => this.#showPreview(), 'primary'), this.#reportButton()),
      kind === bulkGrant ? rowOf(link(['take-back'], 'Take this grant back, with its report', { key })) : '',
    );
  }

  #reportButton(): HTMLElement {
    return button('Save the report', () => {
      const lines = this.#rows.report(this.#terms.kind.waiting).map(csvLine);
      download(
        `${this.#terms.key.replaceAll(/[^\w.-]/g, '_')}.${this.#terms.kind === bulkGrant ? 'report' : 'taken-back'}.csv`,
        lines.join(''),
      );
    });
  }

  #progress(text: string, most: number, stop?: () => void): (done: number) => void {
    const bar = make('progress', { max: most, value: 0 });
    bar.setAttribute('aria-label', text);
    const said = make('p', { className: 'hint', textContent: `${text} …` });
    said.setAttribute('role', 'status');
    this.#show(text, bar, said, stop === undefined ? '' : button('Stop', stop));
    return (done) => {
      // If another view is shown now, the run ends after this part.
      if (this.#signal.aborted) this.#isStopped = true;
      bar.value = done;
      said.textContent = `${shownCoins(done)} of ${shownCoins(most)}`;
    };
  }

  #show(title: string, ...parts: readonly Part[]): void {
    this.#place.replaceChildren(section(title, ...parts));
  }
}

const coinsShown = (count: number): string => (count === 1 ? '1 coin' : `${shownCoins(count)} coins`);

const MOST_SHOWN = 10;
const MOST_TRIES = 5;
