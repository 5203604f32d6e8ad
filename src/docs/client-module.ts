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
  return `${merged(shortNamed(squeezed(files.map(sourceOf).join(''))))}export{coinop};\n`;
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
    new RegExp(`(${LITERAL})|(?:;?return undefined)?;(})|\\b(\\d+(?:_000)+)\\b|\\bvoid (?=[\\w.]+\\()|\\bconst\\b`, 'g'),
    (text, literal, end, number?: string) => {
      if (number !== undefined) return number.replaceAll('_', '').replace(/0+$/, ({ length }) => `e${length}`);
      return literal ?? end ?? (text === 'const' ? 'let' : '');
    },
  );
}

/** Makes one `let` of those that follow each other. */
function merged(code: string): string {
  // For each open bracket, whether the statement in it began with `let`.
  const isLet = [false];
  return code.replace(new RegExp(`${LITERAL}|;?\\blet |[{}()[\\];]`, 'g'), (token) => {
    if (token === 'let ') isLet[isLet.length - 1] = true;
    else if (token === ';let ') {
      if (isLet.at(-1)) return ',';
      isLet[isLet.length - 1] = true;
    } else if (token === ';') isLet[isLet.length - 1] = false;
    else if (/^[{([]$/.test(token)) isLet.push(false);
    else if (/^[})\]]$/.test(token)) isLet.pop();
    return token;
  });
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
  // For each name, the module's statements that hold it. Names that the module declares are in "statement 0" too.
  const statementsOf = new Map<string, Set<number>>();
  let statement = 1;
  let before = '';
  for (const { 0: token, 1: literal, 2: name, index } of code.matchAll(new RegExp(`(${LITERAL})|(${NAME})|\\.{3}|.`, 'gs'))) {
    const after = code[index + token.length]!;
    if (literal?.startsWith('`')) {
      for (const [, value = ''] of literal.matchAll(/\$\{([^}]*)\}/g))
        for (const [word] of value.matchAll(new RegExp(NAME, 'g'))) fixed.add(word);
    } else if (/[{([]/.test(token) && !literal) open.push(token === '{' && /^(?:[)>]|else|try|finally)$/.test(before) ? 'block' : token);
    else if (/[})\]]/.test(token) && !literal) open.pop();
    if (name) {
      const found = statementsOf.get(name) ?? new Set();
      statementsOf.set(name, found.add(statement));
      if (open.length === 0 && /^(?:let|function)$/.test(before)) found.add(0);
    }
    if (open.length === 0 && /[;}]/.test(token)) statement++;
    const isProperty = open.at(-1) === '{' && /[{,]/.test(before) && /[,}=]/.test(after);
    if (name && (before === '.' || after === ':' || isProperty)) fixed.add(name);
    if (token !== ' ') before = token;
  }
  const uses = (name: string): number => code.split(name).length;
  // The most frequent names get the shortest ones.
  const names = [...new Set(declared)].filter((name) => name.length > 2 && !fixed.has(name)).sort((one, two) => uses(two) - uses(one));
  const words = new Set(Array.from(code.matchAll(new RegExp(NAME, 'g')), ([word]) => word));
  const renamed = new Map<string, string>();
  for (const name of names) {
    // Two names may share a short one if no statement has both.
    const near = names.filter((other) => [...statementsOf.get(other)!].some((each) => statementsOf.get(name)!.has(each)));
    const taken = new Set([...words, ...near.map((other) => renamed.get(other)!)]);
    renamed.set(name, shortName(taken));
  }
  const renamedCode = code.replace(
    new RegExp(`(${LITERAL})|(?<![\\w$]|(?<!\\.\\.)\\.)(${NAME})`, 'g'),
    (_, literal, name) => literal ?? renamed.get(name) ?? name,
  );
  // One argument of an arrow function needs no brackets.
  return renamedCode.replace(
    new RegExp(`(${LITERAL})|(?<![\\w$])(async)?\\((${NAME})\\)(?==>)`, 'g'),
    (_, literal, async, name) => literal ?? (async ? `async ${name}` : name),
  );
}

function shortName(taken: ReadonlySet<string>): string {
  for (let number = 10; ; number++) {
    const name = number.toString(36);
    if (!/^\d/.test(name) && !taken.has(name) && !['do', 'if', 'in', 'of', 'as', 'is'].includes(name)) return name;
  }
}
