/** An error of the service or of the client library. */
export interface Problem {
  readonly code: string;
  readonly message: string;
  readonly retryAfterMs?: number;
}

const EXPLAINED: Readonly<Record<string, string>> = {
  network: 'The service does not answer. Is it running? Try again.',
  timeout: 'The service took too long. Try again.',
  not_coinop: 'The answer did not come from coinop, but perhaps from a proxy. Try again.',
  store_unavailable: 'The service cannot reach its data just now. Try again in a moment.',
  app_store_unavailable: 'The app store does not answer just now. Try again in a moment.',
  overloaded: 'The service is busy. Try again in a moment.',
  room_not_found: 'No room has this code. A code has five letters, and a room closes two hours after its last change.',
  room_ended: 'This room has ended. Open a new one.',
  room_full: 'This room is full.',
  room_started: 'The game in this room has started already.',
  room_locked: 'The host locked this room.',
  game_not_found: 'The catalogue of this service does not list this game.',
  server_only: 'On this service only game servers give coins (COIN_AUTHORITY=server).',
  session_required: 'This session has ended. Start over with new players.',
  account_deleted: 'This account was deleted. Start over with new players.',
  account_banned: 'This account is banned. Start over with new players.',
};

/** The text that tells a person what happened, and what to do. */
export function explain({ code, message, retryAfterMs }: Problem): string {
  if (code === 'rate_limited') return `That was too fast. Try again in ${Math.ceil((retryAfterMs ?? 1000) / 1000)} s.`;
  if (code === 'invalid_request') return message.replace(/^(\w+): M/, 'The $1 m').replace(/[^.]$/, '$&.');
  return EXPLAINED[code] ?? message;
}
