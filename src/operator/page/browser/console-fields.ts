import type { Field } from '../../fields.ts';
import { labelOf } from '../../shown/cells.ts';
import { addressForm, hashOf, input, select, type Asked } from './console-parts.ts';

export type Input = HTMLInputElement | HTMLSelectElement;

export function fieldLabel({ name, label = labelOf(name), format }: Field): string {
  return format === 'date-time' ? `${label} (UTC)` : label;
}

const CHOICES: Readonly<Record<string, string>> = { true: 'yes', false: 'no' };

/**
 * The input of an operation's field.
 * @param none the choice of nothing
 */
export function inputOf(
  { name, isRequired, type, format, choices, minimum, maximum, maxLength, example, initial = '' }: Field,
  none: string,
): Input {
  if (choices !== undefined && type !== 'array') {
    const options = choices.map((choice) => [choice, CHOICES[choice] ?? choice] as const);
    return select(name, initial, isRequired ? options : [['', none], ...options]);
  }
  return input(name, initial, {
    required: isRequired,
    ...(type === 'integer' ? { type: 'number', step: '1', min: String(minimum ?? ''), max: String(maximum ?? '') } : {}),
    ...(format === undefined ? {} : { type: format === 'date' ? 'date' : 'datetime-local' }),
    ...(maxLength === undefined ? {} : { maxLength }),
    ...(example === undefined || initial !== '' ? {} : { placeholder: String(example) }),
  });
}

/** The time of an input, which is in UTC like all times of the console. An address may have a day in its place. */
export function timeOf(text: string): string | undefined {
  if (/^\d{4}-\d\d-\d\d$/.test(text)) return `${text}T00:00:00Z`;
  return /^\d{4}-\d\d-\d\dT\d\d:\d\d/.test(text) ? new Date(`${text}Z`).toISOString() : undefined;
}

export interface Filter {
  readonly form: HTMLElement;
  /** The fields as the address has them. */
  readonly typed: Readonly<Record<string, string>>;
  /** The fields as the service takes them. */
  readonly sent: Readonly<Record<string, string | undefined>>;
}

/** The optional fields of a read. Their values are in the query of the address, so that a filter can be linked and the back button undoes it. */
export function filterOf(read: string, words: readonly string[], { operator, query }: Pick<Asked, 'operator' | 'query'>): Filter {
  const { fields = [] } = operator.operations.find(({ name }) => name === read) ?? {};
  const filters = fields.filter(({ name, isRequired }) => !isRequired && name !== 'limit' && name !== 'cursor');
  const typed = Object.fromEntries(filters.map(({ name }) => [name, query.get(name) ?? '']));
  const inputs = filters.map((field) => [fieldLabel(field), inputOf({ ...field, initial: typed[field.name]! }, 'all')] as const);
  return {
    form: addressForm(inputs, () => hashOf(words, Object.fromEntries(inputs.map(([, { name, value }]) => [name, value.trim()])))),
    typed,
    sent: Object.fromEntries(filters.map(({ name, format }) => [name, format === 'date-time' ? timeOf(typed[name]!) : typed[name]])),
  };
}
