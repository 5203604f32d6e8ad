/** The endpoints of the documented interface, copied by hand: method, path, auth, request fields, reply fields besides `ok`. */
const table = `
  GET  | /health                          | none               |                         | service
  GET  | /?format=json                    | none               |                         | service openapi endpoints
  GET  | /openapi.json                    | none               |                         |
  POST | /v1/account/resolve              | none               | installId               |
  GET  | /v1/balance                      | session (optional) | installId               | balanceCoins
  POST | /v1/coins/credit                 | session (optional) | installId coins key     | balanceAfterCoins
  POST | /v1/coins/purchase               | session (optional) | installId coins key     | balanceAfterCoins
  POST | /v1/coins/debit                  | session (optional) | installId coins key     | balanceAfterCoins
  GET  | /v1/coins/history                | session (required) |                         | entries
  GET  | /v1/highscores/{game}            | none               | game                    | game top
  POST | /v1/highscores/{game}            | session (optional) | game installId score name | rank personalBest top
  GET  | /v1/catalogue                    | none               |                         | apps count
  GET  | /v1/apps                         | none               |                         | apps count
  GET  | /v1/lobby/catalogue              | none               |                         | apps count
  POST | /v1/pair/new                     | none               |                         | token
  POST | /v1/pair/claim                   | none               | token installId         |
  GET  | /v1/pair/status                  | none               | token                   | status
  POST | /v1/rooms                        | session (optional) | installId               | room
  GET  | /v1/rooms/{code}                 | none               | code                    | room
  POST | /v1/rooms/{code}/{action}        | session (optional) | code action             |
  POST | /v1/login                        | none               | installId               |
  POST | /login                           | none               | installId               |
  POST | /v1/logout                       | session (optional) |                         |
  GET  | /v1/session                      | session (optional) |                         | authenticated
  GET  | /v1/subscription                 | session (optional) |                         | subscribed
  POST | /v1/subscription/report          | session (optional) | installId subscribed    |
  POST | /v1/subscription/purchase        | session (optional) | purchaseToken           |
  GET  | /v1/entitlement                  | session (optional) |                         | state
  POST | /v1/entitlement/first-run        | session (optional) | installId               |
  POST | /v1/trial/touch                  | none               | deviceId                |
  GET  | /v1/trial/status                 | none               |                         | active
  POST | /v1/trial/link                   | session (required) |                         |
  POST | /v1/account/store-provision      | none               | token                   |
  GET  | /v1/account/store-install/nonce  | none               |                         | nonce
  POST | /v1/account/store-install        | none               | nonce integrityToken    |
`;

const words = (cell: string) => cell.split(' ').filter((word) => word !== '');

/** The table above, parsed. */
export const interfaceEndpoints = table
  .trim()
  .split('\n')
  .map((row) => row.split('|').map((cell) => cell.trim()))
  .map(([method = '', path = '', auth = '', request = '', reply = '']) => ({
    method,
    path,
    auth,
    request: words(request),
    reply: words(reply),
  }));
