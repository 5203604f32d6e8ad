import { admin, call, Failed, type Operator } from './console-calls.ts';
import type { Field } from '../../fields.ts';
import type { TypedFigure } from '../../operation.ts';
import type { Offered } from '../offered.ts';
import { fieldLabel, inputOf, isTime as isTimeField, timeOf, type Input } from './console-fields.ts';
import {
  alertOf,
  button,
  field,
  input,
  isReplay,
  logFacts,
  marked,
  row,
  section,
  type Asked,
  type Part,
  type Shown,
  zonedTime,
  zoneName,
} from './console-parts.ts';
import { outcomeOf, type LogEntry } from '../../shown/shown-log.ts';
import { proofOf } from './console-sign-in.ts';
import { make, onSubmit } from '../../../web/browser/dom.ts';

/** Fields that the view knows. The dialog asks for the others. */
type Target = Readonly<Record<string, string | number | undefined>>;

/** The question that the service asks about a change. */
interface Question {
  readonly question: string;
  /** What the page sends with the change. The service refuses the change if the question is different by then. */
  readonly seen: string;
  readonly typed?: TypedFigure;
  /** Sentences about the limits on coins that the operator should know. */
  readonly limits?: readonly string[];
  readonly cannotBeUndone: boolean;
  readonly needsKey: boolean;
}

/** The request that the dialog sends: the change, or the request for a second person's approval of it. */
interface Sent {
  readonly change: Offered;
  readonly input: Readonly<Record<string, unknown>>;
}

/**
 * A button that opens the dialog of a change. Nothing if the operator may not make it.
 * @param label for a screen reader, where several rows have the same button
 */
export function changeButton(
  name: string,
  target: Target,
  { operator, again }: Asking,
  label = '',
  title?: string,
): HTMLButtonElement | '' {
  const change = operator.operations.find((each) => each.name === name);
  if (change === undefined) return '';
  const text = title ?? change.title;
  const made = button(text, () => new Dialog(change, target, operator, again).open(), change.cannotBeUndone ? 'small danger' : 'small');
  if (label !== '') made.setAttribute('aria-label', `${text} ${label}`);
  return made;
}

/** A list of all changes that the operator may make, for changes that no other view offers. */
export async function changesView(asked: Asked): Promise<Shown> {
  // The dialog has no inputs for an object or a list of objects.
  const changes = asked.operator.operations.filter(
    ({ isChange, fields }) =>
      isChange && fields.every(({ type, choices }) => type !== 'object' && (type !== 'array' || choices !== undefined)),
  );
  const groupOf = (name: string): string => name.split(' ')[0]!;
  return {
    title: 'All changes',
    parts: [...new Set(changes.map(({ name }) => groupOf(name)))].map((group) => {
      const buttons = changes.filter(({ name }) => groupOf(name) === group).map(({ name }) => changeButton(name, {}, asked, name));
      return section(group, row(...buttons));
    }),
  };
}

type Asking = Pick<Asked, 'operator' | 'again'>;

class Dialog {
  readonly #change: Offered;
  readonly #target: Target;
  readonly #operator: Operator;
  readonly #changed: () => void;
  readonly #box = make('dialog', { className: 'card' });
  readonly #ticket = input('ticket', '', { required: true, maxLength: 60, pattern: '[!-~]+( [!-~]+)*', placeholder: 'ticket-4711' });
  readonly #reason = input('reason', '', { required: true, maxLength: 120 });
  readonly #typed: readonly TypedField[];
  readonly #hasKey: boolean;
  /** The reason of the change is its ticket. */
  readonly #isTicketEnough: boolean;
  #sent: Sent;
  #hasHappened = false;

  constructor(change: Offered, target: Target, operator: Operator, changed: () => void) {
    this.#change = change;
    this.#target = target;
    this.#operator = operator;
    this.#changed = changed;
    this.#sent = { change, input: {} };
    this.#isTicketEnough = change.fields.some(({ name, label }) => name === 'reason' && label === 'Ticket');
    this.#hasKey = change.fields.some(({ name }) => name === 'key');
    this.#typed = change.fields.filter(({ name }) => !(name in target) && name !== 'key' && name !== 'reason').map(typedField);
  }

  open(): void {
    this.#box.addEventListener('close', () => {
      this.#box.remove();
      if (this.#hasHappened) this.#changed();
    });
    document.body.append(this.#box);
    // `showModal` moves the focus, so it has to run before the form focuses its first field.
    this.#box.showModal();
    this.#showForm();
  }

  #show(...parts: readonly Part[]): void {
    const heading = make('h2', { textContent: this.#change.title, id: 'dialog-title', tabIndex: -1 });
    this.#box.setAttribute('aria-labelledby', heading.id);
    this.#box.replaceChildren(heading, ...parts);
  }

  #row(...buttons: readonly HTMLElement[]): HTMLElement {
    const close = make('button', { type: 'button', textContent: this.#hasHappened ? 'Close' : 'Cancel' });
    close.addEventListener('click', () => this.#box.close());
    return make('div', { className: 'row' }, ...buttons, close);
  }

  #showForm(problem = ''): void {
    const { summary, description } = this.#change;
    const said = alertOf(problem);
    const form = make(
      'form',
      { className: 'stack' },
      make('p', { textContent: summary }),
      ...(description === '' ? [] : [make('p', { className: 'hint', textContent: description.replaceAll('`', '') })]),
      ...this.#typed.flatMap(({ parts }) => parts),
      field(marked('Ticket', this.#ticket), this.#ticket, this.#hasKey ? 'The same ticket takes effect only once for this account.' : ''),
      ...(this.#isTicketEnough
        ? []
        : [
            field(
              marked('Reason, for other operators', this.#reason),
              this.#reason,
              'No names and no installIds: the log outlives accounts.',
            ),
          ]),
      said,
      this.#row(make('button', { type: 'submit', className: 'primary', textContent: 'What will happen?' })),
    );
    // The browser's own hint is small, and disappears quickly.
    const say = ({ target }: Event): void => {
      const wrong = target as HTMLInputElement;
      if (form.querySelector(':invalid') !== wrong) return;
      const isPart = wrong.type === 'datetime-local' && wrong.validity.badInput;
      said.textContent = isPart ? 'A time needs a day, an hour and a minute.' : wrong.validationMessage;
    };
    form.addEventListener('invalid', say, true);
    onSubmit(form, async () => {
      said.textContent = '';
      try {
        this.#sent = this.#own;
        const asked = await this.#ask();
        if (asked.secondPerson !== undefined) await this.#askSecond(asked.secondPerson);
        else if (asked.question === undefined) said.textContent = 'There is nothing to change.';
        else this.#showQuestion(asked as Question);
      } catch (error) {
        said.textContent = (error as Error).message;
      }
    });
    this.#show(form);
    form.querySelector<HTMLElement>('input, select')?.focus();
  }

  get #input(): Record<string, unknown> {
    const ticket = this.#ticket.value.trim();
    const reason = this.#reason.value.trim().normalize('NFC');
    const why = this.#hasKey ? { key: ticket, reason } : { reason: this.#isTicketEnough ? ticket : `${ticket}: ${reason}`.slice(0, 120) };
    return { ...this.#target, ...Object.fromEntries(this.#typed.map(({ name, value }) => [name, value()])), ...why };
  }

  /** The question in the words of the dialog, which calls the idempotency key of the service a ticket. */
  #inWords(question: string): string {
    const { key, reason } = this.#input;
    const end = (word: string): string => ` ${word}: ${key}. Reason: ${reason}`;
    if (!question.endsWith(end('Key'))) return question;
    const sentence = question.slice(0, -end('Key').length).replace(/^Nothing will change: this key/, 'Nothing will change: this ticket');
    return sentence + end('Ticket');
  }

  get #own(): Sent {
    return { change: this.#change, input: this.#input };
  }

  #ask(): Promise<Partial<Question> & { readonly secondPerson?: string }> {
    const { change, input } = this.#sent;
    return call('/console/ask', { body: { operation: change.name, input } });
  }

  /** Asks for the approval of a second person in place of the change. @param why that is needed */
  async #askSecond(why: string): Promise<void> {
    const change = this.#operator.operations.find(({ name }) => name === 'requests ask')!;
    this.#sent = { change, input: { operation: this.#change.name, input: this.#input, reason: this.#input['reason'] } };
    const asked = (await this.#ask()) as Question;
    this.#showQuestion({ ...asked, limits: [why] });
  }

  /** @param problem why the question is shown again */
  #showQuestion(asks: Question, problem = ''): void {
    const { question, cannotBeUndone, needsKey, typed: asked } = asks;
    const said = alertOf(problem);
    const typed = asked && input('typed', '', { required: true, inputMode: 'numeric' });
    const proof = needsKey ? proofOf(this.#operator) : undefined;
    const form = make(
      'form',
      { className: 'stack' },
      make('p', { className: 'question', textContent: this.#inWords(question) }),
      ...this.#typed.flatMap(({ note }) => (note === undefined ? [] : [make('p', { className: 'hint', textContent: note() })])),
      ...(asks.limits ?? []).map((sentence) => make('p', { className: 'hint', textContent: sentence })),
      ...(cannotBeUndone ? [make('p', { className: 'warning', textContent: 'This cannot be undone.' })] : []),
      ...(typed === undefined ? [] : [field(`Type ${asked!.figure}, ${asked!.what}`, typed)]),
      ...(proof === undefined ? [] : [proof.part]),
      said,
      this.#row(
        make('button', { type: 'submit', className: 'primary', textContent: this.#sent.change.title }),
        button('Back', () => this.#showForm(), ''),
      ),
    );
    onSubmit(form, async () => {
      said.textContent = '';
      if (typed !== undefined && typed.value.replaceAll(/[,\s]/g, '') !== String(asked!.figure)) {
        said.textContent = `That is not ${asked!.figure}. Nothing was changed.`;
        return typed.focus();
      }
      try {
        await proof?.confirm();
        await this.#send(asks, said);
      } catch (error) {
        said.textContent = (error as Error).message;
      }
    });
    this.#show(form);
    (typed ?? proof?.first ?? form.querySelector<HTMLElement>('.primary'))?.focus();
  }

  /** Sends the change. If the answer is lost, searches the log for the change, and sends it once more if the log does not have it. */
  async #send(asks: Question, said: HTMLElement): Promise<void> {
    const before = (await this.#newest())?.number ?? 0;
    for (let tries = 1; ; tries++) {
      try {
        const { change, input } = this.#sent;
        const path = change.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(input[name])));
        const reply = await call(path, { body: input, says: asks.seen });
        return this.#showDone(reply.logged as LogEntry | undefined, tries, (reply.secret ?? reply.token) as string | undefined);
      } catch (error) {
        if (!(error instanceof Failed)) throw error;
        const entry = error.isUnknown || tries > 1 ? await this.#logged(before) : undefined;
        if (entry !== undefined) return this.#showDone(entry, tries);
        if (error.details['needs'] === 'key') return this.#showQuestion({ ...asks, ...(await this.#ask()), needsKey: true }, error.message);
        if (error.details['needs'] === 'confirmation')
          return this.#showQuestion({ ...asks, ...(error.details as Partial<Question>), needsKey: false }, error.message);
        if (!error.isUnknown) throw error;
        // A second call could create a second secret.
        if (tries === MOST_TRIES || this.#change.handsOutSecret)
          throw new Failed(
            'lost',
            'The service does not answer, and the log does not show the change. It may have happened: check before you try again.',
          );
        said.textContent = 'The answer was lost. Asking again under the same key …';
        await new Promise((resolve) => setTimeout(resolve, BETWEEN_TRIES_MS));
      }
    }
  }

  /** The new name of a player, as typed. The log has no names of players, but the operator should see the new name. */
  #typedName({ what }: LogEntry): [string, string][] {
    const typed = this.#typed.filter(({ name, value }) => name === 'name' && !Object.values(what).includes(String(value())));
    return typed.map(({ value }) => ['Name', String(value())]);
  }

  get #operation(): Record<string, string> {
    return { operator: this.#operator.by, action: this.#sent.change.name };
  }

  /** The operator's newest entry for this kind of change. */
  async #newest(): Promise<LogEntry | undefined> {
    if (this.#operator.game !== undefined) return undefined;
    return (await admin('/log', { limit: '1', ...this.#operation })).entries[0];
  }

  /** The entry of this change, if the log has one. Also undefined while the service does not answer. */
  async #logged(before: number): Promise<LogEntry | undefined> {
    if (this.#operator.game !== undefined) return undefined;
    const { entries } = await admin('/log', { limit: '10', ...this.#operation }).catch(() => ({ entries: [] }));
    const { reason } = this.#input;
    return (entries as LogEntry[]).find(({ number, why }) => number > before && why === reason);
  }

  /** @param tries how often the change was sent: if the second try is a replay, the first may have made the change */
  #showDone(entry: LogEntry | undefined, tries: number, secret?: string): void {
    const outcome = entry === undefined ? 'done' : outcomeOf(entry);
    this.#hasHappened = true;
    const texts: Readonly<Record<string, string>> = {
      done:
        entry !== undefined && isReplay(entry) && tries === 1
          ? 'Nothing changed: this ticket was booked before. The log has it:'
          : 'Done. The log has it:',
      refused: 'It was refused, and nothing was changed. The log has it:',
      failed: 'Redis refused it, and nothing was changed. The log has it:',
    };
    const said = make('p', {
      textContent: texts[outcome] ?? 'It is not known yet whether the change happened: check before you try again. The log has it:',
    });
    said.setAttribute('role', 'status');
    const isLost = secret === undefined && this.#change.handsOutSecret && outcome === 'done';
    const lost = 'The secret was lost with the answer, and nothing has stored it: revoke or remove what was made, and make another.';
    this.#show(
      ...(isLost ? [make('p', { className: 'warning', textContent: lost })] : []),
      ...(secret === undefined ? [] : shownOnce(secret)),
      said,
      ...(entry === undefined ? [] : [logFacts(entry, this.#typedName(entry))]),
      this.#row(),
    );
    this.#box.querySelector<HTMLElement>('.row button')?.focus();
  }
}

const MOST_TRIES = 4;
const BETWEEN_TRIES_MS = 1500;

function shownOnce(secret: string): Part[] {
  const shown = make('output', { className: 'code once', textContent: secret });
  shown.setAttribute('aria-label', 'Secret');
  return [make('p', { textContent: 'The secret is shown only once, and nothing stores it: copy it before you close this.' }), shown];
}

/** A field of a change, with the input in which a person types it. */
interface TypedField {
  readonly name: string;
  readonly parts: readonly HTMLElement[];
  readonly value: () => unknown;
  /** A sentence for the question. */
  readonly note?: () => string;
}

function typedField(declared: Field): TypedField {
  const { name, type, daysAhead, description } = declared;
  const label = fieldLabel(declared);
  const typed = inputOf(declared, 'none');
  const isTime = isTimeField(declared);
  const hint = description.replaceAll('`', '') + (type === 'array' ? ' With commas between them.' : '');
  const value = (): unknown => {
    const text = typed.value.trim();
    if (text === '') return undefined;
    if (isTime) return timeOf(text);
    return type === 'integer' ? Number(text) : type === 'array' ? text.split(',').map((word) => word.trim()) : text;
  };
  return {
    name,
    value,
    parts: [field(marked(label, typed), typed, hint.trim()), ...(daysAhead === undefined ? [] : [daysFor(typed, daysAhead)])],
    ...(daysAhead === undefined ? {} : { note: () => spanTo(typed) }),
  };
}

const DAY_MS = 86_400_000;

/** Buttons that fill a time in. */
function daysFor(time: Input, ahead: readonly number[]): HTMLElement {
  const buttons = ahead.map((days) =>
    button(days === 1 ? 'in 1 day' : `in ${days} days`, () => (time.value = zonedTime(new Date(Date.now() + days * DAY_MS)))),
  );
  return make('div', { className: 'row' }, ...buttons);
}

/** When the effect of a change begins and ends. */
function spanTo({ value }: Input): string {
  const end = value === '' ? 'without an end' : `until ${value.replace('T', ' ')} (${zoneName()})`;
  return `From now, ${zonedTime(new Date()).replace('T', ' ')} (${zoneName()}), ${end}.`;
}
