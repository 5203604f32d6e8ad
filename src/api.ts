import { resolve } from './features/accounts/resolve.ts';
import { balance } from './features/coins/balance.ts';
import { credit } from './features/coins/credit.ts';
import { debit } from './features/coins/debit.ts';
import { history } from './features/coins/history.ts';
import { purchase } from './features/coins/purchase.ts';
import { health } from './features/health/health.ts';
import { metrics } from './features/health/metrics.ts';
import { ready } from './features/health/ready.ts';
import { login } from './features/sessions/login.ts';
import { logout } from './features/sessions/logout.ts';
import { session } from './features/sessions/session.ts';
import type { Endpoint } from './server/endpoint.ts';
import type { Services } from './services.ts';

/** The table of contents: every endpoint, by feature. */
export const api: readonly Endpoint<Services>[] = [
  // the service itself
  health, ready, metrics,
  // accounts and sessions
  resolve, login, logout, session,
  // coins
  balance, credit, purchase, debit, history,
];
