import type { FromChild, Question } from './child.ts';

/**
 * The child's end of the channel to the bench. A child calls it once: it reports the child as ready, serves the parent's
 * questions with `answers`, and ends the process when the parent ends.
 */
export function ready(said: Record<string, unknown>, answers: Record<string, (value: never) => unknown> = {}): void {
  process.on('message', async ({ id, question, value }: Question) => {
    let reply: FromChild;
    try {
      reply = { id, answer: await (answers[question] ?? unknown(question))(value as never) };
    } catch (error) {
      reply = { id, error: (error as Error).message };
    }
    process.send?.(reply);
  });
  // The parent may have ended while this process was starting.
  if (!process.connected) process.exit(0);
  process.on('disconnect', () => process.exit(0));
  process.on('SIGTERM', () => process.exit(0));
  process.send?.({ ready: said } satisfies FromChild);
}

/** Sends the parent a message that is not an answer; see `onNews`. */
export function tell(news: unknown): void {
  process.send?.({ news } satisfies FromChild);
}

function unknown(question: string): () => never {
  return () => {
    throw new Error(`there is no answer named "${question}"`);
  };
}
