import { showAccess } from './access.ts';
import { showBoard } from './board.ts';
import { showCoins } from './coins.ts';
import { byId } from '../../../web/browser/dom.ts';
import { showPairing } from './pairing.ts';
import { forgetPlayers } from '../../../web/browser/kept-players.ts';
import { showSaves } from './saves.ts';
import { showRoom } from './room.ts';
import { showSignIns } from './sign-ins.ts';
import { showSteps } from './steps.ts';

showSteps();
showCoins();
showBoard();
showSaves();
showRoom();
showPairing();
showSignIns();
showAccess();
byId('restart').addEventListener('click', () => {
  forgetPlayers();
  location.reload();
});
// Shows people and tests that the buttons now work.
byId('playground').removeAttribute('aria-busy');
