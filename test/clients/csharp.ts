import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { childEnvironment } from '../environment.ts';
import { languageProgram } from '../languages.ts';

const client = fileURLToPath(new URL('../../src/clients/csharp/Runtime/', import.meta.url));

/** What only Unity has of the client, with stand-ins of Unity. */
export const UNITY: readonly string[] = [
  `-recurse:${client}Unity/*.cs`,
  fileURLToPath(new URL('csharp/UnityStandIns.cs', import.meta.url)),
];

/** Stand-ins of Godot, for the sample of the README. */
export const GODOT: readonly string[] = [fileURLToPath(new URL('csharp/GodotStandIns.cs', import.meta.url))];

/** The command that compiles a program with the client. `-langversion`: the newest C# of Mono's compiler, which Unity 2021 takes too. */
export function compiler(to: string, ...sources: readonly string[]): string[] {
  const options = ['-langversion:7.2', '-warnaserror', '-debug', '-r:System.Net.Http', `-out:${to}`];
  return [languageProgram('clients', 'mcs'), ...options, `-recurse:${client}Core/*.cs`, ...sources];
}

/** Compiles something into a file. Throws with what the compiler says. */
export function compile(to: string, [program, ...words]: readonly string[]): void {
  mkdirSync(dirname(to), { recursive: true });
  const { status, stdout, stderr, error } = spawnSync(program!, words, { env: childEnvironment({}), encoding: 'utf8' });
  if (status !== 0) throw new Error(error?.message ?? stdout + stderr);
}

/** Compiles a program with the client. Returns the command that runs it. */
export function compiled(to: string, ...sources: readonly string[]): string[] {
  compile(to, compiler(to, ...sources));
  return [languageProgram('clients', 'mono'), to];
}
