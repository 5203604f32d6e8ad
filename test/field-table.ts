import { z } from 'zod';

type Schema = Readonly<Record<string, unknown>>;

/** The fields of a shape as a Markdown table, with those of the objects and lists in it, such as `apps[].season.period`. */
export function fieldTable(shape: z.ZodType): string {
  const schema = z.toJSONSchema(shape, { io: 'input', unrepresentable: 'any' }) as Schema;
  const definitions = (schema['$defs'] ?? {}) as Readonly<Record<string, Schema>>;
  const rows = rowsOf(schema, '', definitions);
  return ['| field | | what it is |', '|---|---|---|', ...rows.map((cells) => `| ${cells.join(' | ')} |`)].join('\n');
}

function rowsOf(schema: Schema, before: string, definitions: Readonly<Record<string, Schema>>): string[][] {
  const { properties = {}, required = [] } = schema as { properties?: Record<string, Schema>; required?: string[] };
  return Object.entries(properties).flatMap(([name, sent]) => {
    const field = resolved(sent, definitions);
    const isList = field['type'] === 'array';
    const inner = isList ? resolved((field['items'] ?? {}) as Schema, definitions) : field;
    const path = `${before}${name}${isList ? '[]' : ''}`;
    const need = required.includes(name) ? '' : ', optional';
    const row = [
      `\`${path}\``,
      `${typeOf(field, inner)}${need}`,
      ((field['description'] as string | undefined) ?? '').replaceAll('|', '\\|'),
    ];
    return [row, ...rowsOf(inner, `${path}.`, definitions)];
  });
}

function resolved(schema: Schema, definitions: Readonly<Record<string, Schema>>): Schema {
  const reference = schema['$ref'] as string | undefined;
  return reference === undefined ? schema : { ...definitions[reference.split('/').at(-1)!], ...schema };
}

function typeOf(field: Schema, inner: Schema): string {
  if (field['type'] === 'array')
    return `list of ${inner['type'] === 'object' ? 'objects' : typeOf(inner, inner)}${bounds(field, 'minItems', 'maxItems', ' entries')}`;
  const values = (field['enum'] ?? ('const' in field ? [field['const']] : undefined)) as unknown[] | undefined;
  if (values !== undefined) return values.map((value) => `\`${String(value)}\``).join(', ');
  if (field['type'] === 'string') return `text${bounds(field, 'minLength', 'maxLength', ' characters')}${patternOf(field)}`;
  if (field['type'] === 'integer' || field['type'] === 'number')
    return `${field['type'] === 'integer' ? 'whole number' : 'number'}${bounds(field, 'minimum', 'maximum', '')}`;
  return typeof field['type'] === 'string' ? field['type'] : 'any JSON';
}

/** Those of zod's formats, such as of a time, would fill the page. */
function patternOf({ pattern, format }: Schema): string {
  return typeof pattern === 'string' && format === undefined ? `, like \`${pattern.replaceAll('|', '\\|')}\`` : '';
}

function bounds(field: Schema, least: string, most: string, unit: string): string {
  const [from, to] = [field[least], field[most]].map((bound) =>
    // zod writes the bounds of every whole number.
    typeof bound === 'number' && Math.abs(bound) !== Number.MAX_SAFE_INTEGER ? bound.toLocaleString('en') : undefined,
  );
  if (to === undefined) return '';
  return from === undefined ? `, at most ${to}${unit}` : `, ${from} to ${to}${unit}`;
}
