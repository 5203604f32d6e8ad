import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { languageProgram } from '../languages.ts';
import { compiled } from './csharp.ts';
import { godot, inGodot } from './godot.ts';

type Command = readonly string[];

/** The players of a language: programs that go on where a killed process was. A compiled one is compiled into the folder. */
export interface Players {
  readonly language: string;
  /** The program without which there are none. */
  readonly program: string;
  /** Earns a coin so many times: URL FOLDER TIMES. It prints its installId at the end. */
  readonly coins: (folder: string) => Command;
  /**
   * Makes each second move of a room, those whose number has the parity, until there are so many: URL CODE INSTALL FOLDER MOVES PARITY. It
   * prints REFUSED for an act that is refused, and BACK when the room goes back.
   */
  readonly mover?: (folder: string) => Command;
}

const pathOf = (name: string): string => fileURLToPath(new URL(`players/${name}`, import.meta.url));
const [python, mcs] = ['python3', 'mcs'].map((name) => languageProgram('clients', name)) as [string, string];

export const players: readonly Players[] = [
  { language: 'javascript', program: process.execPath, coins: () => [process.execPath, pathOf('coins.ts')] },
  { language: 'python', program: python, coins: () => [python, pathOf('coins.py')], mover: () => [python, pathOf('mover.py')] },
  {
    ...{ language: 'csharp', program: mcs, coins: (folder) => compiled(join(folder, 'coins.exe'), pathOf('coins.cs')) },
    mover: (folder) => compiled(join(folder, 'mover.exe'), pathOf('mover.cs')),
  },
  { language: 'gdscript', program: godot, coins: () => inGodot(pathOf('coins.gd')), mover: () => inGodot(pathOf('mover.gd')) },
];

/** Two players of one room, a row each, with the number of their moves. The page of a browser can be the first one. */
export const pairs: readonly (readonly [first: string, second: string, moves: number])[] = [
  ['browser', 'python', 1000],
  ['browser', 'gdscript', 500],
  ['browser', 'csharp', 500],
  ['gdscript', 'python', 500],
  ['gdscript', 'csharp', 500],
];
