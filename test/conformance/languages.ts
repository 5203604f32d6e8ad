import { fileURLToPath } from 'node:url';
import { compiler, UNITY } from '../clients/csharp.ts';
import { godot } from '../clients/godot.ts';
import { languageProgram } from '../languages.ts';
import type { Language } from './play.ts';

const project = fileURLToPath(new URL('../..', import.meta.url));
const pathOf = (name: string): string => fileURLToPath(new URL(`drivers/${name}`, import.meta.url));

const program = (name: string): string => languageProgram('clients', name);

/** The driver in C#, compiled with some more words. */
function csharp(name: string, ...words: readonly string[]): Language {
  const made = `${project}.cache/conformance/${name}.exe`;
  return { name, command: [program('mono'), made], build: compiler(made, pathOf('csharp.cs'), ...words) };
}

/** The client in C# as Unity compiles it: for devices, and for browsers, where only compiling it tells something. */
export const inUnity = csharp('csharp-unity', '-define:UNITY_STAND_INS', ...UNITY);
export const inBrowsers = csharp('csharp-browser', '-define:UNITY_STAND_INS;UNITY_WEBGL', ...UNITY);

/** The languages in which there is a client, and the command that starts the driver of each. */
export const languages: readonly Language[] = [
  { name: 'javascript', command: [process.execPath, pathOf('javascript.ts')] },
  { name: 'python', command: [program('python3'), pathOf('python.py')] },
  csharp('csharp'),
  {
    name: 'gdscript',
    command: [godot, '--headless', '--no-header', '--path', `${project}src/clients/gdscript`, '--script', pathOf('gdscript.gd')],
    // Godot's texts have code points only, and its HTTPClient refuses such a chunk. The client then says `network`.
    lacks: ['half surrogates', 'chunk extensions'],
  },
];
