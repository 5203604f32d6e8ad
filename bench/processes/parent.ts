import type { FromChild, Question } from './child.ts';

/**
 * The child's end of the line to the bench. A child says `ready` once, answers what it is asked, and ends with its parent,
 * however that ends.
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
  // It may have gone while this process was starting.
  if (!process.connected) process.exit(0);
  process.on('disconnect', () => process.exit(0));
  process.on('SIGTERM', () => process.exit(0));
  process.send?.({ ready: said } satisfies FromChild);
}

/** Tells the bench something that it did not ask for. */
export function tell(news: unknown): void {
  process.send?.({ news } satisfies FromChild);
}

function unknown(question: string): () => never {
  return () => {
    throw new Error(`asked "${question}", which it has no answer to`);
  };
}
