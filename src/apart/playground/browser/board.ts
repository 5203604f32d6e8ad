import type { Client } from '/client.js';
import { byId, formatted, make, name, onSubmit, sayProblem } from '../../../web/browser/dom.ts';
import { player } from './players.ts';
import { explain } from '../../../web/browser/problems.ts';
import { wireOf } from './wire.ts';

type Board = Extract<Awaited<ReturnType<Client['highscores']['top']>>, { ok: true }>;
type Entry = Board['top'][number];

const NAMES = { ada: 'Ada', bob: 'Bob', cleo: 'Cleo' } as const;

/** The step about boards: submit scores of three players, and see the order of the top ten change. */
export function showBoard(): void {
  const [wire, said] = [wireOf('board'), byId('board-said')];
  const [games, who] = [byId<HTMLSelectElement>('board-game'), byId<HTMLSelectElement>('board-player')];
  const [shownName, score] = [byId<HTMLInputElement>('board-name'), byId<HTMLInputElement>('board-score')];
  const players = new Map<string, Client>();
  const playing = (): Client => {
    const known = players.get(who.value) ?? player(who.value, wire);
    players.set(who.value, known);
    return known;
  };

  let reads = 0;
  /** Shows the board as the chosen player sees it. The answer is dropped if another request was sent in the meantime. */
  const read = async (): Promise<void> => {
    const turn = ++reads;
    const reply = await playing().highscores.top({ game: games.value });
    if (turn !== reads) return;
    if (reply.ok) showTop(reply);
    else sayProblem(said, explain(reply.error));
  };

  const start = async (): Promise<void> => {
    const catalogue = await playing().catalogue.list();
    const listed = catalogue.ok ? catalogue.apps.filter(({ kind }) => kind === 'game') : [];
    const options = listed.map((game) => make('option', { value: game.id, textContent: game.name }));
    games.replaceChildren(...(options.length > 0 ? options : [make('option', { value: 'playground', textContent: 'playground' })]));
    for (const place of document.querySelectorAll('[data-game]')) place.textContent = games.value;
    if (catalogue.ok) await read();
    else sayProblem(said, explain(catalogue.error));
  };

  games.addEventListener('change', () => void read());
  who.addEventListener('change', () => {
    shownName.value = NAMES[who.value as keyof typeof NAMES];
    void read();
  });
  const submit = async (): Promise<void> => {
    const reply = await playing().highscores.submit({ game: games.value, score: Number(score.value), name: shownName.value });
    if (!reply.ok) return sayProblem(said, explain(reply.error));
    said.textContent = `Rank ${reply.rank}. ${reply.personalBest ? 'A personal best.' : `The best of this player stays ${formatted(reply.best)}.`}`;
    // The read is not awaited. The form ignores presses until its work is done, so a press during the read would be lost.
    void read();
  };
  onSubmit(byId('board-form'), submit);
  void start();
}

/**
 * Shows the board, and marks the line of the player. If the player is not among the top ten, the line is added below them. Each line moves
 * from its old place to the new one, unless the person prefers less motion.
 */
function showTop({ top, you }: Board): void {
  const list = byId('board-top');
  const before = new Map([...list.children].map((line) => [(line as HTMLElement).dataset['player'], line.getBoundingClientRect().top]));
  list.replaceChildren(
    ...(top.length === 0 ? [make('li', { className: 'none', textContent: 'No scores yet' })] : []),
    ...top.map((entry) => lineOf(entry, you)),
    ...(you === undefined || you === null || top.some(({ playerId }) => playerId === you.playerId) ? [] : [lineOf(you, you)]),
  );
  if (matchMedia('(prefers-reduced-motion: reduce)').matches) return;
  for (const line of list.children as Iterable<HTMLElement> & HTMLCollection) {
    const was = before.get((line as HTMLElement).dataset['player']);
    const moved = was === undefined ? 12 : was - line.getBoundingClientRect().top;
    if (moved !== 0)
      line.animate(
        [
          { transform: `translateY(${moved}px)`, opacity: was === undefined ? 0 : 1 },
          { transform: 'none', opacity: 1 },
        ],
        { duration: 320, easing: 'cubic-bezier(.2,.8,.2,1)' },
      );
  }
}

function lineOf(entry: Entry, you: Board['you']): HTMLElement {
  const isOwn = entry.playerId === you?.playerId;
  const line = make(
    'li',
    { className: isOwn ? 'own' : '' },
    make('span', { className: 'rank', textContent: String(entry.rank) }),
    name(entry.name),
    ...(isOwn ? [make('span', { className: 'you', textContent: 'you' })] : []),
    make('span', { className: 'score', textContent: formatted(entry.score) }),
  );
  line.dataset['player'] = entry.playerId;
  return line;
}
