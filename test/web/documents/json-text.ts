/** Columns of a line in this project. */
const WIDTH = 140;

/** JSON with each list or object on one line if it fits: half the lines of `JSON.stringify`, and still a line for each change. */
export function jsonText(value: unknown, indent = ''): string {
  const line = lineOf(value);
  if (typeof value !== 'object' || value === null || indent.length + line.length <= WIDTH) return line;
  const inner = `${indent}  `;
  const parts = Array.isArray(value)
    ? value.map((each) => jsonText(each, inner))
    : Object.entries(value).map(([name, each]) => `${JSON.stringify(name)}: ${jsonText(each, inner)}`);
  const [open, close] = Array.isArray(value) ? '[]' : '{}';
  return `${open}\n${parts.map((part) => inner + part).join(',\n')}\n${indent}${close}`;
}

/** On one line, with a blank after each comma and colon. */
function lineOf(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(lineOf).join(', ')}]`;
  const fields = Object.entries(value).map(([name, each]) => `${JSON.stringify(name)}: ${lineOf(each)}`);
  return fields.length === 0 ? '{}' : `{ ${fields.join(', ')} }`;
}
