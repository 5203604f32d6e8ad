import { html, type Html } from '../html.ts';
import type { Schema } from '../documents/schemas.ts';
import { paragraphs } from './prose.ts';

export type Components = Readonly<Record<string, Schema>>;

type Properties = Readonly<Record<string, Schema>>;

/** How deep objects within objects are listed. Only recursive schemas have deeper ones. */
const DEEPEST = 6;

/** The fields of an object as a list, in which the fields of inner objects are folded. Empty for a schema without fields. */
export function fieldList(schema: Schema, components: Components, depth = 0): Html {
  const { properties = {}, required = [] } = resolved(schema, components);
  // `ok` is left out, because every reply has it, as the introduction says.
  const fields = Object.entries(properties as Properties).filter(([name]) => name !== 'ok');
  if (fields.length === 0 || depth > DEEPEST) return html``;
  return html`<ul class="fields">
    ${fields.map(([name, field]) =>
      fieldItem(name, field, (required as readonly string[]).includes(name) ? 'required' : '', components, depth),
    )}
  </ul> `;
}

/** An item of the list. @param note `required`, or empty */
export function fieldItem(name: string, schema: Schema, note: string, components: Components, depth = 0): Html {
  const field = resolved(schema, components);
  const within = fieldsWithin(field, components, depth);
  return html`<li>
    <p class="field">
      <code>${name}</code> <span class="type">${typeOf(field, components)}</span>${
        note === '' ? '' : html` <span class="required">${note}</span>`
      }
    </p>
    ${paragraphs((field['description'] as string | undefined) ?? '')}${
      within.text === ''
        ? ''
        : html`<details>
            <summary class="chip">Fields of <code>${name}</code></summary>
            ${within}
          </details>`
    }
  </li> `;
}

function fieldsWithin(field: Schema, components: Components, depth: number): Html {
  if (field['type'] === 'array') return fieldsWithin(resolved((field['items'] ?? {}) as Schema, components), components, depth);
  const choices = (field['oneOf'] ?? field['anyOf']) as Schema[] | undefined;
  if (choices !== undefined) return html`${choices.map((choice) => fieldsWithin(resolved(choice, components), components, depth))}`;
  return fieldList(field, components, depth + 1);
}

/** The schema to which a reference leads, with the fields of all parts of an `allOf`. */
export function resolved(schema: Schema, components: Components): Schema {
  const { $ref: reference, allOf, ...own } = schema as Schema & { $ref?: string; allOf?: Schema[] };
  const parts = [
    ...(reference === undefined ? [] : [resolved(components[reference.split('/').at(-1)!] ?? {}, components)]),
    ...(allOf ?? []).map((part) => resolved(part, components)),
  ];
  if (parts.length === 0) return own;
  return {
    ...Object.assign({}, ...parts),
    ...own,
    ...(parts.some(({ properties }) => properties !== undefined)
      ? {
          properties: Object.assign({}, ...[...parts, own].map(({ properties }) => properties)) as object,
          required: [...parts, own].flatMap(({ required = [] }) => required as string[]),
        }
      : {}),
  };
}

/** The type of a field in words: `integer, 1 to 1,000,000`, `"a" or "b"`, `array of objects`. */
function typeOf(schema: Schema, components: Components): string {
  const { type, nullable, format, minLength, maxLength } = schema as Readonly<Record<string, string | number | undefined>>;
  const values = (schema['enum'] ?? ('const' in schema ? [schema['const']] : undefined)) as unknown[] | undefined;
  const orNull = nullable ? ' or null' : '';
  // A long list of values is not written out. The longest list has the error codes, which have a page of their own.
  if (values !== undefined && values.length <= 12) return values.map((value) => JSON.stringify(value)).join(' or ');
  const choices = (schema['oneOf'] ?? schema['anyOf']) as Schema[] | undefined;
  if (choices !== undefined) return choices.map((choice) => typeOf(resolved(choice, components), components)).join(' or ') + orNull;
  if (type === 'array') return `array of ${typeOf(resolved((schema['items'] ?? {}) as Schema, components), components)}${orNull}`;
  if (type === undefined) return 'any value';
  const name = format === 'date-time' ? 'time (ISO 8601)' : type === 'integer' ? 'whole number' : String(type);
  return [name + orNull, ...rangeOf(schema), ...lengthOf(Number(minLength ?? 0), maxLength)].join(', ');
}

function rangeOf({ minimum, maximum }: Schema): string[] {
  const written = (bound: unknown): string => (bound as number).toLocaleString('en');
  if (minimum !== undefined && maximum !== undefined) return [`${written(minimum)} to ${written(maximum)}`];
  if (minimum !== undefined) return [`${written(minimum)} or more`];
  return maximum === undefined ? [] : [`${written(maximum)} at most`];
}

function lengthOf(least: number, most: string | number | undefined): string[] {
  if (most === undefined) return [];
  return [least > 0 ? `${least} to ${most} characters` : `${most} characters at most`];
}
