import type { Scenario } from '../scenario.ts';
import { actLatency } from './act-latency.ts';
import { actTransports } from './act-transports.ts';
import { submit, top } from './boards.ts';
import { bigBoard } from './big-board.ts';
import { burst } from './burst.ts';
import { balance, creditInstall, creditReplay, creditSession, mixedDay } from './coins.ts';
import { eventsRead } from './events-read.ts';
import { eventsWebhook } from './events-webhook.ts';
import { eventScenarios } from './events.ts';
import { fanOutRoom, fanOutRooms } from './fan-out.ts';
import { growthRooms } from './growth-rooms.ts';
import { growthAccounts, growthBoard, growthLedger } from './growth.ts';
import { health } from './health.ts';
import { idle } from './idle.ts';
import { ledgerMemory } from './ledger-memory.ts';
import { overload } from './overload.ts';
import { pairing } from './pairing.ts';
import { purchases } from './purchases.ts';
import { roomList } from './room-list.ts';
import { saves } from './saves.ts';
import { seatData } from './seat-data.ts';
import { signed } from './signed.ts';
import { tails } from './tail.ts';
import { workersCredit, workersRooms } from './workers.ts';

/** All scenarios. Those with a fixed number of rounds run first (budget.ts), else they run in this order. */
export const scenarios: readonly Scenario[] = [
  health,
  top,
  submit,
  balance,
  creditInstall,
  creditSession,
  creditReplay,
  mixedDay,
  saves,
  ledgerMemory,
  fanOutRoom,
  fanOutRooms,
  burst,
  seatData,
  actTransports,
  actLatency,
  pairing,
  idle,
  growthAccounts,
  growthBoard,
  growthLedger,
  growthRooms,
  overload,
  bigBoard,
  roomList,
  workersCredit,
  workersRooms,
  ...tails,
  ...signed,
  ...eventScenarios,
  eventsRead,
  eventsWebhook,
  purchases,
];
