export { coinop, type Options, type Watch } from '../../../src/clients/javascript/client.ts';
export { listRooms, playRoom, quickMatch, watchBoard, watchLobby } from '../../../src/clients/javascript/rooms.ts';
export { savesOf } from '../../../src/clients/javascript/saves.ts';
export type { Socket } from '../../../src/clients/javascript/watched.ts';
// Modules that the client loads when it first needs them: here at once, so that no load of a file falls into a case.
import '../../../src/clients/javascript/patch.ts';
import '../../../src/clients/javascript/account.ts';
import '../../../src/clients/javascript/pairing.ts';
import '../../../src/clients/javascript/sign-ins.ts';
import '../../../src/clients/javascript/watched-room.ts';
