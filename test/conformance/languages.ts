import { fileURLToPath } from 'node:url';
import { godot } from '../clients/godot.ts';
import { languageProgram } from '../languages.ts';
import type { Language } from './play.ts';

const project = fileURLToPath(new URL('../..', import.meta.url));
const pathOf = (name: string): string => fileURLToPath(new URL(`drivers/${name}`, import.meta.url));

const program = (name: string): string => languageProgram('clients', name);

/** The driver in C#, compiled with some more words. `-langversion`: the newest C# of Mono's compiler, which Unity 2021 takes too. */
function csharp(name: string, ...words: readonly string[]): Language {
  const made = `${project}.cache/conformance/${name}.exe`;
  const options = ['-langversion:7.2', '-warnaserror', '-debug', '-r:System.Net.Http', `-out:${made}`];
  const sources = [`-recurse:${project}src/clients/csharp/Runtime/Core/*.cs`, pathOf('csharp.cs')];
  return { name, command: [program('mono'), made], build: [program('mcs'), ...options, ...words, ...sources] };
}

/** What only Unity has, with stand-ins of Unity. */
const unity = [
  `-recurse:${project}src/clients/csharp/Runtime/Unity/*.cs`,
  fileURLToPath(new URL('../clients/csharp/UnityStandIns.cs', import.meta.url)),
];

/** The client in C# as Unity compiles it: for devices, and for browsers, where only compiling it tells something. */
export const inUnity = csharp('csharp-unity', '-define:UNITY_STAND_INS', ...unity);
export const inBrowsers = csharp('csharp-browser', '-define:UNITY_STAND_INS;UNITY_WEBGL', ...unity);

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
