/**
 * The endpoints of the documented interface, copied by hand: method, path, auth, status and error code of the answer to a bare request (a
 * GET without parameters, or a POST of a new installId alone), request fields, reply fields besides `ok`.
 */
const table = `
  GET  | /health                          | none               | 200                   |                         | service
  GET  | /?format=json                    | none               | 200                   |                         | service openapi endpoints
  GET  | /openapi.json                    | none               | 200                   |                         |
  POST | /v1/account/resolve              | none               | 200                   | installId               |
  GET  | /v1/balance                      | session (optional) | 401 identity_required | installId               | balanceCoins
  POST | /v1/coins/credit                 | session (optional) | 400 invalid_request   | installId coins key     | balanceAfterCoins
  POST | /v1/coins/purchase               | session (optional) | 400 invalid_request   | installId coins key     | balanceAfterCoins
  POST | /v1/coins/debit                  | session (optional) | 400 invalid_request   | installId coins key     | balanceAfterCoins
  GET  | /v1/coins/history                | session (required) | 401 session_required  |                         | entries
  GET  | /v1/highscores/{game}            | none               | 200                   | game                    | game top
  POST | /v1/highscores/{game}            | session (optional) | 400 invalid_request   | game installId score name | rank personalBest top
  GET  | /v1/catalogue                    | none               | 200                   |                         | apps count
  GET  | /v1/apps                         | none               | 200                   |                         | apps count
  GET  | /v1/lobby/catalogue              | none               | 200                   |                         | apps count
  POST | /v1/pair/new                     | none               | 200                   |                         | token
  POST | /v1/pair/claim                   | none               | 400 invalid_request   | token installId         |
  GET  | /v1/pair/status                  | none               | 400 invalid_request   | token                   | status
  POST | /v1/rooms                        | session (optional) | 200                   | installId               | room
  GET  | /v1/rooms/{code}                 | none               | 404 room_not_found    | code                    | room
  POST | /v1/rooms/{code}/{action}        | session (optional) | 404 room_not_found    | code action             |
  POST | /v1/login                        | none               | 200                   | installId               |
  POST | /login                           | none               | 200                   | installId               |
  POST | /v1/logout                       | session (optional) | 200                   |                         |
  GET  | /v1/session                      | session (optional) | 200                   |                         | authenticated
  GET  | /v1/subscription                 | session (optional) | 200                   |                         | subscribed
  POST | /v1/subscription/report          | session (optional) | 400 invalid_request   | installId subscribed    |
  POST | /v1/subscription/purchase        | session (optional) | 400 invalid_request   | purchaseToken           |
  GET  | /v1/entitlement                  | session (optional) | 200                   |                         | state
  POST | /v1/entitlement/first-run        | session (optional) | 200                   | installId               |
  POST | /v1/trial/touch                  | none               | 400 invalid_request   | deviceId                |
  GET  | /v1/trial/status                 | none               | 200                   |                         | active
  POST | /v1/trial/link                   | session (required) | 401 session_required  |                         |
  POST | /v1/account/store-provision      | none               | 400 invalid_request   | token                   |
  GET  | /v1/account/store-install/nonce  | none               | 200                   |                         | nonce
  POST | /v1/account/store-install        | none               | 400 invalid_request   | nonce integrityToken    |
`;

const words = (cell: string) => cell.split(' ').filter((word) => word !== '');

/** The table above, parsed. */
export const interfaceEndpoints = table
  .trim()
  .split('\n')
  .map((row) => row.split('|').map((cell) => cell.trim()))
  .map(([method = '', path = '', auth = '', answer = '', request = '', reply = '']) => ({
    ...{ method, path, auth, answer },
    request: words(request),
    reply: words(reply),
  }));
