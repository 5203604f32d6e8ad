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
  marked,
  section,
  table,
  type Asked,
  type Part,
  type Shown,
} from './console-parts.ts';
import { GrantRows, type GrantRow, type NamedAccount } from '../../shown/grant-rows.ts';
import { proofOf } from './console-sign-in.ts';
import { make, onSubmit } from '../../../web/browser/dom.ts';

/** The most that one call takes. The service grants to a thousand accounts a second, so a run can be stopped about once a second. */
const AT_ONCE = 1000;

interface Terms {
  readonly coins: number;
  readonly key: string;
  readonly reason: string;
  /** Names of the columns of the file that are not read. */
  readonly unread: readonly string[];
}

/** Coins for many accounts: preview, type the number of accounts, and grant in parts. The same key gives each account the coins once. */
export async function grantView({ signal, operator }: Asked): Promise<Shown> {
  const file = make('input', { type: 'file', accept: '.csv,text/csv,text/plain' });
  const text = make('textarea', { rows: 8, spellcheck: false, placeholder: 'accountId\nBQ5v1mHk2nYtZ8cXw0aLpR' });
  file.addEventListener('change', () => void file.files?.[0]?.text().then((read) => (text.value = read)));
  const amount = input('coins', '', { type: 'number', required: true, min: '1', max: '1000000', step: '1' });
  const key = input('event', '', { required: true, maxLength: 255, pattern: '[ -~]+', placeholder: 'comp-2026-11' });
  const reason = input('reason', '', { required: true, maxLength: 120 });
  const result = make('div', { className: 'stack' });
  const said = alertOf('');
  const form = make(
    'form',
    { className: 'stack' },
    field(
      'A CSV file with a column accountId or installId',
      file,
      'An installId is a secret: it becomes the accountId in this browser, and is sent nowhere.',
    ),
    field('or its lines', text),
    make(
      'div',
      { className: 'halves' },
      field(marked('Coins for each account', amount), amount),
      field(marked('Key of the event', key), key, 'The same key gives an account the coins once.'),
    ),
    field(marked('Reason, for other operators', reason), reason),
    said,
    make('div', { className: 'row' }, make('button', { type: 'submit', className: 'primary', textContent: 'Look first' })),
  );
  onSubmit(form, async () => {
    said.textContent = '';
    try {
      const terms = { coins: Number(amount.value), key: key.value.trim(), reason: reason.value.trim().normalize('NFC') };
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
  return { title: 'Bulk grant', parts: [section('Who gets coins', form), result] };
}

class Bulk {
  readonly #rows: GrantRows;
  readonly #terms: Terms;
  readonly #place: HTMLElement;
  readonly #signal: AbortSignal;
  readonly #operator: Operator;
  /** What the service says of the operator's bounds of coins. */
  #limits: readonly string[] = [];
  /** Whether a second person has to say yes to the grant as a whole. */
  #isForTwo = false;
  #isStopped = false;
  /** Whether an answer was lost: then replays may be grants of this page. */
  #isUnsure = false;

  constructor(accounts: readonly NamedAccount[], terms: Terms, place: HTMLElement, signal: AbortSignal, operator: Operator) {
    this.#rows = new GrantRows(accounts);
    this.#terms = terms;
    this.#place = place;
    this.#signal = signal;
    this.#operator = operator;
  }

  /** Reads every account, and changes nothing. */
  async check(): Promise<void> {
    const { all } = this.#rows;
    const progress = this.#progress('Looking', all.length);
    for (let from = 0; from < all.length; from += AT_ONCE) {
      const part = all.slice(from, from + AT_ONCE);
      const { results } = await this.#grant(part, 'look', true);
      this.#rows.preview(part, results);
      progress(from + part.length);
    }
    await this.#judge();
    this.#showPreview();
  }

  /** Asks for the bounds of the operator, before anything is granted. The bound of one person holds for the grant as a whole. */
  async #judge(): Promise<void> {
    const rows = this.#rows.of('to_grant');
    if (rows.length === 0) return;
    const input = this.#bodyOf(rows.slice(0, AT_ONCE), false);
    const { limits = [], leftAlone, secondPerson } = await call('/console/ask', { body: { operation: 'coins grant', input } });
    this.#limits = limits;
    this.#isForTwo = secondPerson !== undefined || (leftAlone !== undefined && rows.length * this.#terms.coins > leftAlone);
  }

  #showPreview(): void {
    const rows = this.#rows.of('to_grant');
    const apart = this.#apart;
    const { coins } = this.#terms;
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
          ? 'This needs the yes of a second person, within a day: under Requests. Nothing is granted before.'
          : 'A grant cannot be undone at once: each account would need a correction.',
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
          textContent: `${this.#isForTwo ? 'Ask for the yes to' : 'Grant'} ${shownCoins(coins * rows.length)} coins`,
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
        [
          'To grant',
          make('strong', {
            textContent: `${shownCoins(rows.length)} accounts × ${shownCoins(coins)} = ${shownCoins(rows.length * coins)} coins`,
          }),
        ],
        ...[...apart].map(([kind, { length }]) => [WORDS[kind] ?? kind, shownCoins(length)] as const),
      ]),
      this.#others(apart),
      ...(rows.length === 0 ? [] : [form]),
      make('div', { className: 'row' }, this.#reportButton()),
    );
  }

  /** Lines by kind that get nothing, or whose coins go to another account. */
  get #apart(): Map<string, GrantRow[]> {
    const kinds = new Map<string, GrantRow[]>();
    for (const row of this.#rows.all) {
      const kind = row.outcome !== 'to_grant' ? row.outcome : row.movedTo === undefined ? undefined : 'moved';
      if (kind === undefined) continue;
      if (kinds.has(kind)) kinds.get(kind)!.push(row);
      else kinds.set(kind, [row]);
    }
    return kinds;
  }

  #others(kinds: ReadonlyMap<string, readonly GrantRow[]>): HTMLElement {
    const rows = [...kinds].flatMap(([kind, all]) =>
      all
        .slice(0, MOST_SHOWN)
        .map(({ line, accountId, movedTo }) => [
          String(line),
          accountLink(accountId),
          WORDS[kind] ?? kind,
          movedTo === undefined ? '' : accountLink(movedTo),
        ]),
    );
    return table(
      'Exceptional lines, the first of each kind',
      ['#Line', 'Account', 'Outcome', 'Moved to'],
      rows,
      'Every line is an account that can get the coins.',
    );
  }

  async #run(rows: readonly GrantRow[]): Promise<void> {
    this.#isStopped = false;
    const left = rows.filter(({ outcome }) => outcome === 'to_grant');
    const progress = this.#progress('Granting', left.length, () => (this.#isStopped = true));
    let problem = '';
    try {
      for (let from = 0; from < left.length && !this.#isStopped; from += AT_ONCE) {
        const part = left.slice(from, from + AT_ONCE);
        const { results } = await this.#sendPart(part);
        this.#rows.grant(part, results);
        progress(from + part.length);
      }
    } catch (error) {
      problem = (error as Error).message;
    }
    this.#showEnd(rows, problem);
  }

  /** Asks for the yes of a second person: a request for each part, because a call takes so many accounts. */
  async #askSecond(rows: readonly GrantRow[]): Promise<void> {
    const ids: string[] = [];
    for (let from = 0; from < rows.length; from += AT_ONCE) {
      const input = { operation: 'coins grant', input: this.#bodyOf(rows.slice(from, from + AT_ONCE), false), reason: this.#terms.reason };
      const { seen } = await call('/console/ask', { body: { operation: 'requests ask', input } });
      const { request } = await call('/console/requests', { body: input, says: seen as string });
      ids.push(request.id as string);
    }
    this.#show(
      'Asked',
      make('p', { textContent: 'Another person finds this under Requests. Nobody has got coins yet.' }),
      facts([['Requests', ids.join(', ')]]),
    );
  }

  /** Sends a part, and repeats it if the answer was lost: accounts that already have the coins are replays. */
  async #sendPart(part: readonly GrantRow[]): Promise<Answer> {
    for (let tries = 1; ; tries++) {
      try {
        const { seen } = await call('/console/ask', { body: { operation: 'coins grant', input: this.#bodyOf(part, false) } });
        return await this.#grant(part, seen as string, false);
      } catch (error) {
        const isPassing =
          error instanceof Failed && (error.isUnknown || ['rate_limited', 'overloaded', 'store_unavailable'].includes(error.code));
        this.#isUnsure ||= error instanceof Failed && error.isUnknown;
        if (!isPassing || tries === MOST_TRIES) throw error;
        await new Promise((resolve) => setTimeout(resolve, Number(error.details['retryAfterMs']) || 1500));
      }
    }
  }

  #grant(part: readonly GrantRow[], says: string, dryRun: boolean): Promise<Answer> {
    return call('/v1/admin/coins/grant-many', { body: this.#bodyOf(part, dryRun), says });
  }

  #bodyOf(part: readonly GrantRow[], dryRun: boolean): object {
    const { coins, key, reason } = this.#terms;
    return { entries: part.map(({ accountId }) => ({ account: accountId, coins })), key, reason, ...(dryRun ? { dryRun } : {}) };
  }

  #showEnd(rows: readonly GrantRow[], problem: string): void {
    const counts = new Map<string, number>();
    for (const { outcome } of rows) counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
    const isWhole = !counts.has('to_grant');
    // All rows: after a stop and a restart, the last run has only the last rows.
    const hasGranted = this.#rows.of('granted').length > 0;
    const isReplayed = isWhole && !hasGranted && !this.#isUnsure && counts.has('replayed');
    const said = make('p', {
      textContent: isReplayed
        ? 'Nothing changed: every account that could get the coins had got them under this key before.'
        : isWhole
          ? 'Every account has its outcome.'
          : `${problem === '' ? 'Stopped.' : problem} Go on with the same key: nobody gets the coins twice.`,
    });
    said.setAttribute('role', 'status');
    this.#show(
      isReplayed ? 'Nothing changed' : isWhole ? (hasGranted || this.#isUnsure ? 'Granted' : 'Nobody got coins') : 'Stopped in the middle',
      said,
      facts([...counts].map(([outcome, count]) => [WORDS[outcome] ?? outcome, shownCoins(count)])),
      make('div', { className: 'row' }, isWhole ? '' : button('Go on', () => this.#showPreview(), 'primary'), this.#reportButton()),
    );
  }

  #reportButton(): HTMLElement {
    return button('Save the report', () => {
      const lines = this.#rows.report('to_grant').map(csvLine);
      download(`${this.#terms.key.replaceAll(/[^\w.-]/g, '_')}.report.csv`, lines.join(''));
    });
  }

  #progress(text: string, most: number, stop?: () => void): (done: number) => void {
    const bar = make('progress', { max: most, value: 0 });
    bar.setAttribute('aria-label', text);
    const said = make('p', { className: 'hint', textContent: `${text} …` });
    said.setAttribute('role', 'status');
    this.#show(text, bar, said, stop === undefined ? '' : button('Stop', stop));
    return (done) => {
      // If another view is shown, the run ends with this part.
      if (this.#signal.aborted) this.#isStopped = true;
      bar.value = done;
      said.textContent = `${shownCoins(done)} of ${shownCoins(most)}`;
    };
  }

  #show(title: string, ...parts: readonly Part[]): void {
    this.#place.replaceChildren(section(title, ...parts));
  }
}

const WORDS: Readonly<Record<string, string>> = {
  to_grant: 'not granted yet',
  granted: 'granted',
  replayed: 'got them under this key before',
  repeated: 'named by an earlier line too',
  moved: 'moved: the other account gets them',
  banned: 'banned: gets nothing',
  deleted: 'deleted: gets nothing',
  unknown: 'unknown: no such account',
  refused: 'refused',
};

const MOST_SHOWN = 10;
const MOST_TRIES = 5;
