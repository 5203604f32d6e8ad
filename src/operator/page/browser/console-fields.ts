import type { Field } from '../../fields.ts';
import { labelOf } from '../../shown/cells.ts';
import { addressForm, hashOf, input, link, row, select, timeTyped, zonedTime, zoneName, type Asked } from './console-parts.ts';

export type Input = HTMLInputElement | HTMLSelectElement;

export const isTime = ({ format, isTime: isSpan = false }: Pick<Field, 'format' | 'isTime'>): boolean => isSpan || format === 'date-time';

export function fieldLabel({ name, label = labelOf(name), ...field }: Field): string {
  return isTime(field) ? `${label} (${zoneName()})` : field.format === 'date' ? `${label} (UTC day)` : label;
}

const CHOICES: Readonly<Record<string, string>> = { true: 'yes', false: 'no' };

/**
 * The input of an operation's field.
 * @param none the choice of nothing
 */
export function inputOf(field: Field, none: string): Input {
  const { name, isRequired, type, format, choices, minimum, maximum, maxLength, example, initial = '' } = field;
  if (choices !== undefined && type !== 'array') {
    const options = choices.map((choice) => [choice, CHOICES[choice] ?? choice] as const);
    return select(name, initial, isRequired ? options : [['', none], ...options]);
  }
  return input(name, initial, {
    required: isRequired,
    ...(type === 'integer' ? { type: 'number', step: '1', min: String(minimum ?? ''), max: String(maximum ?? '') } : {}),
    ...(isTime(field) ? { type: 'datetime-local', step: '1' } : format === 'date' ? { type: 'date' } : {}),
    ...(maxLength === undefined ? {} : { maxLength }),
    ...(example === undefined || initial !== '' ? {} : { placeholder: String(example) }),
  });
}

/** The time of an input, in UTC. */
export function timeOf(text: string): string | undefined {
  return timeTyped(text)?.toISOString();
}

const DAY = /^\d{4}-\d\d-\d\d$/;
const SECOND_MS = 1000;

/**
 * Converts the text of a time in the address into a time that the service takes. The last second of a span belongs to the span, unless the
 * address is exact. A day of an address stays a day.
 */
function sentTime(name: string, text: string): string | undefined {
  if (DAY.test(text)) return text;
  const at = Date.parse(text);
  if (Number.isNaN(at)) return undefined;
  return new Date(name === 'to' && !text.includes('.') ? at + SECOND_MS : at).toISOString();
}

/** Converts the text of a time in the address into the text that an input shows. */
function shownTime(name: string, text: string): string {
  const at = new Date(DAY.test(text) && name === 'to' ? `${text}T23:59:59Z` : text);
  return Number.isNaN(at.getTime()) ? '' : zonedTime(at);
}

/** A time for an address, to the second. */
export const addressTime = (at: number): string => `${new Date(at).toISOString().slice(0, 19)}Z`;

/** The spans that a filter offers, in the time zone of the page. */
function presets(words: readonly string[]): HTMLElement {
  const now = Date.now();
  const dayBegins = (at: number): number => timeTyped(`${zonedTime(new Date(at)).slice(0, 10)}T00:00:00`)!.getTime();
  const today = dayBegins(now);
  // Noon of the day before is used, because a day has 23 to 25 hours where clocks change.
  const yesterday = dayBegins(today - 12 * 3_600_000);
  const to = (text: string, from: number, until: number): HTMLElement =>
    link(words, text, { from: addressTime(from), to: addressTime(until) });
  return row(to('Last hour', now - 3_600_000, now), to('Today', today, now), to('Yesterday', yesterday, today - SECOND_MS));
}

const AROUND_MS = 120_000;

/** A link to all other events of an account from two minutes before to two minutes after a time. */
export function aroundLink(accountId: string, iso: string): HTMLElement {
  const at = Date.parse(iso);
  const made = link(['accounts', accountId, 'timeline'], 'Around', { from: addressTime(at - AROUND_MS), to: addressTime(at + AROUND_MS) });
  made.setAttribute('aria-label', `What else happened around ${iso}`);
  return made;
}

export interface Filter {
  readonly form: HTMLElement;
  /** The fields as the address has them. */
  readonly typed: Readonly<Record<string, string>>;
  /** The fields as the service takes them. */
  readonly sent: Readonly<Record<string, string | undefined>>;
}

/** The kinds of changes, each group in front of its members. */
function kindsOf(actions: readonly string[]): string[] {
  const groups = [...new Set(actions.map((action) => action.split(' ')[0]!))].toSorted();
  return groups.flatMap((group) => [group, ...actions.filter((action) => action.startsWith(`${group} `)).toSorted()]);
}

/**
 * The optional fields of a read. Their values are in the query of the address. So a person can link to a filter, and the back button undoes
 * it.
 */
export function filterOf(read: string, words: readonly string[], { operator, query }: Pick<Asked, 'operator' | 'query'>): Filter {
  const { fields = [] } = operator.operations.find(({ name }) => name === read) ?? {};
  const filters = fields
    .filter(({ name, isRequired }) => !isRequired && name !== 'limit' && name !== 'cursor')
    .map((field) => (field.name === 'action' ? { ...field, choices: kindsOf(operator.actions) } : field));
  const typed = Object.fromEntries(filters.map(({ name }) => [name, query.get(name) ?? '']));
  const inputs = filters.map((field) => {
    const initial = isTime(field) ? shownTime(field.name, typed[field.name]!) : typed[field.name]!;
    return [fieldLabel(field), inputOf({ ...field, initial }, 'all'), field] as const;
  });
  const addressOf = (): string =>
    hashOf(
      words,
      Object.fromEntries(
        inputs.map(([, { name, value }, field]) => {
          const at = isTime(field) ? timeTyped(value) : undefined;
          return [name, at === undefined ? value.trim() : addressTime(at.getTime())];
        }),
      ),
    );
  const hasSpan = ['from', 'to'].every((name) => filters.some((field) => field.name === name && isTime(field)));
  return {
    form: addressForm(
      inputs.map(([label, made]) => [label, made]),
      addressOf,
      ...(hasSpan ? [presets(words)] : []),
    ),
    typed,
    sent: Object.fromEntries(
      filters.map((field) => [field.name, isTime(field) ? sentTime(field.name, typed[field.name]!) : typed[field.name]]),
    ),
  };
}
