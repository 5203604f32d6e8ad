import { readFileSync } from 'node:fs';
import { stripTypes } from '../pages/strip-types.ts';

/**
 * The client library as one JavaScript module, as `/client.js` serves it and the package carries it. One file, because pages
 * must not mix files of two versions during an update.
 *
 * Node removes types and comments. Blanks and long names go too, for the size: they are 23 % of it, gzipped. The service has no
 * minifier among its packages. The steps below know only the code that Node prints for the files of src/client, which has to keep
 * two rules: no two files share a top-level name, and no template holds a backtick or a quotation mark.
 */
export function clientModule(): string {
  return `${shortNamed(squeezed(files.map(sourceOf).join('')))}export{coinop};\n`;
}

/** The server half of the library as one JavaScript module, for the package. No page downloads it, so its names stay. */
export function serverModule(): string {
  return `${serverFiles.map(sourceOf).join('')}export { coinopServer };\n`;
}

/** A file comes after those that it imports from. */
const serverFiles = ['request', 'server'];
const files = ['request', 'store', 'identity', 'outbox', 'routes', 'watch', 'client'];

/** The JavaScript of a file of src/client, without its imports and exports. */
function sourceOf(file: string): string {
  return stripTypes(readFileSync(new URL(`../client/${file}.ts`, import.meta.url), 'utf8'), 'transform')
    .replace(/^import .*\n/gm, '')
    .replace(/^export (?=[acf])/gm, '');
}

const LITERAL = String.raw`'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|\`[^\`]*\`|\/(?![*/ ])(?:\\.|\[[^\]]*\]|[^/\n])+\/(?=[.,)])`;
const OPERATOR = String.raw`\+=|[{}()[\]=><,;:?|&*!]|(?<= )[+/%-](?= [^+-])|(?<=\))-(?= \w)`;
const NAME = String.raw`[A-Za-z_$][\w$]*`;

/**
 * Outside of literals, removes blanks and line breaks around operators, the last semicolon of a block, `void` of a call and
 * `return undefined` at the end of a block, and writes `let` for `const`. Node ends every statement with a semicolon, and leaves no statement empty.
 */
function squeezed(code: string): string {
  const dense = code.replace(
    new RegExp(`(${LITERAL})|\\s*(${OPERATOR})\\s*|\\n\\s*`, 'g'),
    (_, literal, operator) => literal ?? operator ?? '\n',
  );
  return dense.replace(
    new RegExp(`(${LITERAL})|(?:;?return undefined)?;(})|\\bvoid (?=[\\w.]+\\()|\\bconst\\b`, 'g'),
    (text, literal, end) => literal ?? end ?? (text === 'const' ? 'let' : ''),
  );
}

/**
 * Shortens the names of variables, each in the whole module at once. A name that is anywhere a property, a key, a method or in a
 * template keeps its length, so that the meaning cannot change.
 */
function shortNamed(code: string): string {
  const declared = [/\b(?:const|let|function) ([\w$]+)/g, /\(([\w$,]+)\)=>/g, /\b(?:async |function |catch)[\w$]*\(([\w$,]+)\)\{/g].flatMap(
    (pattern) => [...code.matchAll(pattern)].flatMap(([, names = '']) => names.split(',')),
  );
  const methods = code.matchAll(new RegExp(`(?:[{},;]|get |async )(${NAME})\\([^()]*\\)\\{`, 'g'));
  const fixed = new Set(['coinop', ...Array.from(methods, ([, name]) => name!)]);
  // The open brackets tell a property of an object from an argument of a call.
  const open: string[] = [];
  let before = '';
  for (const { 0: token, 1: literal, 2: name, index } of code.matchAll(new RegExp(`(${LITERAL})|(${NAME})|\\.{3}|.`, 'gs'))) {
    const after = code[index + token.length]!;
    if (literal?.startsWith('`')) {
      for (const [, value = ''] of literal.matchAll(/\$\{([^}]*)\}/g))
        for (const [word] of value.matchAll(new RegExp(NAME, 'g'))) fixed.add(word);
    } else if (/[{([]/.test(token) && !literal) open.push(token);
    else if (/[})\]]/.test(token) && !literal) open.pop();
    const isProperty = open.at(-1) === '{' && /[{,]/.test(before) && /[,}=]/.test(after);
    if (name && (before === '.' || after === ':' || isProperty)) fixed.add(name);
    before = token;
  }
  const taken = new Set(Array.from(code.matchAll(new RegExp(NAME, 'g')), ([name]) => name));
  const short = shortNames(taken);
  const uses = (name: string): number => code.split(name).length;
  // The most frequent names get the shortest ones.
  const names = [...new Set(declared)].filter((name) => name.length > 2 && !fixed.has(name)).sort((one, two) => uses(two) - uses(one));
  const renamed = new Map(names.map((name) => [name, short.next().value!]));
  const renamedCode = code.replace(
    new RegExp(`(${LITERAL})|(?<![\\w$]|(?<!\\.\\.)\\.)(${NAME})`, 'g'),
    (_, literal, name) => literal ?? renamed.get(name) ?? name,
  );
  // One argument of an arrow function needs no brackets.
  return renamedCode.replace(new RegExp(`(${LITERAL})|(?<![\\w$])\\((${NAME})\\)(?==>)`, 'g'), (_, literal, name) => literal ?? name);
}

function* shortNames(taken: ReadonlySet<string>): Generator<string, never> {
  for (let number = 10; ; number++) {
    const name = number.toString(36);
    if (!/^\d/.test(name) && !taken.has(name) && !['do', 'if', 'in', 'of', 'as', 'is'].includes(name)) yield name;
  }
}
