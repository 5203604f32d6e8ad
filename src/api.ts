import { clientLibrary, roomsLibrary, savesLibrary } from './web/client/library-endpoints.ts';
import { clientPart } from './web/client/module-endpoint.ts';
import { document } from './web/documents/openapi-endpoint.ts';
import { liveDocument } from './web/documents/asyncapi-endpoint.ts';
import { root } from './web/documents/home-endpoint.ts';
import { channelsDocs, docsForModels, errorsDocs, folderDocs, guideDocs, searchedDocs, startDocs } from './web/reference/docs-endpoints.ts';
import { liveAccount } from './features/account-watch/live.ts';
import { deleteAccount } from './features/deletion/delete.ts';
import { exportAccount } from './features/export/export.ts';
import { resolve } from './features/sign-in/resolve.ts';
import { catalogue } from './features/catalogue/catalogue.ts';
import { products } from './features/catalogue/products.ts';
import { balance } from './features/coins/balance.ts';
import { credit } from './features/coins/credit.ts';
import { debit } from './features/coins/debit.ts';
import { history } from './features/coins/history.ts';
import { boughtCredit } from './features/coins/bought-credit.ts';
import { entitlement } from './features/entitlement/entitlement.ts';
import { firstRun } from './features/entitlement/first-run.ts';
import { jwks } from './features/entitlement/jwks.ts';
import { events } from './features/events/events.ts';
import { health } from './features/health/health.ts';
import { metrics } from './features/health/metrics.ts';
import { ready } from './features/health/ready.ts';
import { aroundMe } from './features/highscores/around.ts';
import { boardEntries } from './features/highscores/entries.ts';
import { liveBoard } from './features/highscores/live.ts';
import { submitScore } from './features/highscores/submit.ts';
import { topScores } from './features/highscores/top.ts';
import { claimPairing } from './features/pairing/claim.ts';
import { livePairing } from './features/pairing/live.ts';
import { pairingPage } from './features/pairing/pairing-page.ts';
import { pairingQrCode } from './features/pairing/qr.ts';
import { newPairing } from './features/pairing/new.ts';
import { pairingStatus } from './features/pairing/status.ts';
import { listPurchases } from './features/purchases/coins/list.ts';
import { claimPurchase } from './features/purchases/coins/claim-purchase.ts';
import { storeIds } from './features/purchases/store-ids.ts';
import { actInRoom } from './features/rooms/act.ts';
import { createRoom } from './features/rooms/create.ts';
import { liveRoom } from './features/rooms/live.ts';
import { listRooms } from './features/rooms/list/list.ts';
import { liveLobby } from './features/rooms/list/lobby-live.ts';
import { matchRoom } from './features/rooms/match/match.ts';
import { readRoom } from './features/rooms/read.ts';
import { roomTicket } from './features/rooms/ticket.ts';
import { verifyTicket } from './features/rooms/verify-ticket.ts';
import { storeNotifications } from './features/purchases/notification-endpoints.ts';
import { deleteSave } from './features/saves/delete.ts';
import { listSaves } from './features/saves/list.ts';
import { load } from './features/saves/load.ts';
import { save } from './features/saves/save.ts';
import { endSession } from './features/sessions/end.ts';
import { listSessions } from './features/sessions/list.ts';
import { login } from './features/sessions/login.ts';
import { logout } from './features/sessions/logout.ts';
import { session } from './features/sessions/current-session.ts';
import { verifySession } from './features/sessions/verify.ts';
import { storeInstallNonce } from './features/install-proof/nonce.ts';
import { storeInstall } from './features/install-proof/prove.ts';
import { appleAccountNotification } from './features/sign-in/account-notifications.ts';
import { addSignIn } from './features/sign-in/add.ts';
import { listSignIns } from './features/sign-in/list.ts';
import { storeProvision } from './features/sign-in/provision.ts';
import { removeSignIn } from './features/sign-in/remove.ts';
import { signInNonce } from './features/sign-in/sign-in-nonce.ts';
import { claimSubscription } from './features/purchases/subscription/claim-subscription.ts';
import { report } from './features/purchases/subscription/report.ts';
import { subscription } from './features/purchases/subscription/subscription.ts';
import { linkTrial } from './features/trial/link.ts';
import { trialStatus } from './features/trial/status.ts';
import { touchTrial } from './features/trial/touch.ts';
import { holdings } from './holdings.ts';
import { pageModule } from './web/browser-module-endpoint.ts';
import { docsStyle, ownStyle, pagesStyle } from './web/style/sheet-endpoints.ts';
import type { Channel } from './server/live/channel.ts';
import type { Endpoint } from './server/http/endpoint.ts';
import type { Services } from './declare.ts';

/** The table of contents: every endpoint, by feature. */
export const features = {
  service: [
    root,
    document,
    liveDocument,
    clientLibrary,
    clientPart,
    roomsLibrary,
    savesLibrary,
    pagesStyle,
    ownStyle,
    pageModule,
    health,
    ready,
    metrics,
  ],
  accounts: [resolve, exportAccount(holdings), deleteAccount, listSignIns, signInNonce, addSignIn, removeSignIn],
  sessions: [login, logout, session, listSessions, endSession, verifySession],
  coins: [balance, credit, boughtCredit, debit, history],
  highscores: [topScores, submitScore, boardEntries, aroundMe],
  catalogue: [catalogue, products],
  pairing: [newPairing, claimPairing, pairingStatus, pairingQrCode, pairingPage],
  rooms: [createRoom, listRooms, matchRoom, readRoom, actInRoom, roomTicket, verifyTicket],
  saves: [listSaves, load, save, deleteSave],
  trial: [touchTrial, trialStatus, linkTrial],
  subscription: [subscription, report, claimSubscription],
  purchases: [claimPurchase, listPurchases, storeIds],
  entitlement: [entitlement, firstRun, jwks],
  store: [storeProvision, storeInstallNonce, storeInstall, ...storeNotifications, appleAccountNotification],
  events: [events],
  docs: [startDocs, guideDocs, folderDocs, channelsDocs, errorsDocs, searchedDocs, docsForModels, docsStyle],
} satisfies Record<string, readonly Endpoint<Services>[]>;

export const api: readonly Endpoint<Services>[] = Object.values(features).flat();

export const channels: readonly Channel<Services>[] = [liveRoom, liveLobby, livePairing, liveBoard, liveAccount];
