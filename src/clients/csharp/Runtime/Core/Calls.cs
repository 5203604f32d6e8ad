// The calls of the API and their types, made from the OpenAPI document by `npm run build:clients`.
using System;
using System.Collections.Generic;
using System.Threading.Tasks;

namespace Coinop {
    public sealed class ResolveAccountReply : Reply {
        public ResolveAccountReply(Json json) : base(json) { }

        /// <summary>The account, for its owner only.</summary>
        public string AccountId => Json["accountId"].Text;

        public bool Created => Json["created"].Bool;
    }

    public sealed class ExportAccountReply : Reply {
        public ExportAccountReply(Json json) : base(json) { }

        /// <summary>The account, for its owner only.</summary>
        public string AccountId => Json["accountId"].Text;

        /// <summary>On the first page, as are `trial`, `subscriptionReport` and `balanceCoins`.</summary>
        public ExportAccountReplyAccount Account => Json["account"].IsNull ? null : new ExportAccountReplyAccount(Json["account"]);

        /// <summary>The sign-ins of the account, if it has any. They are on the first page.</summary>
        public IReadOnlyList<ListedSignIn> SignIns => ListOf(Json["signIns"], item => new ListedSignIn(item));

        /// <summary>On the first page, if any are listed: as in `GET /v1/sessions`.</summary>
        public IReadOnlyList<SignedInBrowser> Sessions => ListOf(Json["sessions"], item => new SignedInBrowser(item));

        /// <summary>The trial linked to the account, if there is one.</summary>
        public ExportAccountReplyTrial Trial => Json["trial"].IsNull ? null : new ExportAccountReplyTrial(Json["trial"]);

        /// <summary>Access that the people who run the service gave. It is listed even after its end.</summary>
        public ExportAccountReplyGift Gift => Json["gift"].IsNull ? null : new ExportAccountReplyGift(Json["gift"]);

        /// <summary>The name that people who run the service gave in place of the account’s own one.</summary>
        public ExportAccountReplyGivenName GivenName => Json["givenName"].IsNull ? null : new ExportAccountReplyGivenName(Json["givenName"]);

        /// <summary>Entries on boards. An entry may come twice.</summary>
        public IReadOnlyList<OwnScore> Scores => ListOf(Json["scores"], item => new OwnScore(item));

        /// <summary>Seats in rooms. A seat may come twice.</summary>
        public IReadOnlyList<OwnSeat> Seats => ListOf(Json["seats"], item => new OwnSeat(item));

        /// <summary>Saves of games, each with its last versions. A save may be listed twice.</summary>
        public IReadOnlyList<ExportedSave> Saves => ListOf(Json["saves"], item => new ExportedSave(item));

        /// <summary>The last report of the app.</summary>
        public ExportAccountReplySubscriptionReport SubscriptionReport => Json["subscriptionReport"].IsNull ? null : new ExportAccountReplySubscriptionReport(Json["subscriptionReport"]);

        /// <summary>A purchase may be listed twice. Purchase tokens are not shown, because anybody who has a token can claim the purchase.</summary>
        public IReadOnlyList<RecordedPurchase> Purchases => ListOf(Json["purchases"], item => new RecordedPurchase(item));

        /// <summary>Coins bought in an app store, oldest first.</summary>
        public IReadOnlyList<Purchase> CoinPurchases => ListOf(Json["coinPurchases"], item => new Purchase(item));

        public long? BalanceCoins => Json["balanceCoins"].IsNull ? (long?)null : Json["balanceCoins"].Long;

        /// <summary>Coins that the account owes after a refund. Left out if there is no debt. Coins that come in pay the debt first.</summary>
        public long? DebtCoins => Json["debtCoins"].IsNull ? (long?)null : Json["debtCoins"].Long;

        /// <summary>Entries of the ledger, newest first.</summary>
        public IReadOnlyList<ExportedEntry> Entries => ListOf(Json["entries"], item => new ExportedEntry(item));

        /// <summary>The cursor of the next page. The last page has none.</summary>
        public string NextCursor => Json["nextCursor"].Text;
    }

    /// <summary>On the first page, as are `trial`, `subscriptionReport` and `balanceCoins`.</summary>
    public sealed class ExportAccountReplyAccount : View {
        public ExportAccountReplyAccount(Json json) : base(json) { }

        public string Kind => Json["kind"].Text;

        /// <summary>Left out for an install that was never seen.</summary>
        public string CreatedAt => Json["createdAt"].Text;

        public string InstallVerifiedAt => Json["installVerifiedAt"].Text;

        public string FirstRunAt => Json["firstRunAt"].Text;

        /// <summary>The guests that moved in. Their entries are among `entries`.</summary>
        public IReadOnlyList<string> Guests => ListOf(Json["guests"], item => item.Text);

        public long SignOutsEverywhere => Json["signOutsEverywhere"].Long;
    }

    public static class ExportAccountReplyAccountKind {
        public const string Guest = "guest";
        public const string Store = "store";
    }

    public sealed class ListedSignIn : View {
        public ListedSignIn(Json json) : base(json) { }

        public string Id => Json["id"].Text;

        /// <summary>The name of the provider.</summary>
        public string Provider => Json["provider"].Text;

        /// <summary>When the account got the sign-in.</summary>
        public string At => Json["at"].Text;

        public string LastUsedAt => Json["lastUsedAt"].Text;
    }

    public sealed class SignedInBrowser : View {
        public SignedInBrowser(Json json) : base(json) { }

        /// <summary>For `POST /v1/sessions/end`. It opens nothing.</summary>
        public string Id => Json["id"].Text;

        /// <summary>`store`: a sign-in with the app store.</summary>
        public string Kind => Json["kind"].Text;

        public string CreatedAt => Json["createdAt"].Text;

        /// <summary>When the session last asked `GET /v1/session` or was renewed, to the hour. Other calls do not count.</summary>
        public string LastSeenAt => Json["lastSeenAt"].Text;

        /// <summary>The User-Agent header as the browser sent it, at most 200 characters. It may be any text, so show it as plain text.</summary>
        public string UserAgent => Json["userAgent"].Text;

        /// <summary>Whether this is the session of the request.</summary>
        public bool Current => Json["current"].Bool;
    }

    public static class SignedInBrowserKind {
        public const string Login = "login";
        public const string Pairing = "pairing";
        public const string Store = "store";
    }

    /// <summary>The trial linked to the account, if there is one.</summary>
    public sealed class ExportAccountReplyTrial : View {
        public ExportAccountReplyTrial(Json json) : base(json) { }

        public string StartedAt => Json["startedAt"].Text;

        /// <summary>A hash of the deviceId.</summary>
        public string Device => Json["device"].Text;
    }

    /// <summary>Access that the people who run the service gave. It is listed even after its end.</summary>
    public sealed class ExportAccountReplyGift : View {
        public ExportAccountReplyGift(Json json) : base(json) { }

        public string Until => Json["until"].Text;

        public string GivenAt => Json["givenAt"].Text;
    }

    /// <summary>The name that people who run the service gave in place of the account’s own one.</summary>
    public sealed class ExportAccountReplyGivenName : View {
        public ExportAccountReplyGivenName(Json json) : base(json) { }

        public string Name => Json["name"].Text;

        public string GivenAt => Json["givenAt"].Text;
    }

    public sealed class OwnScore : View {
        public OwnScore(Json json) : base(json) { }

        /// <summary>The player's id on this board only. Nobody can compute an account or an install from it.</summary>
        public string PlayerId => Json["playerId"].Text;

        public string Name => Json["name"].Text;

        public double Score => Json["score"].Double;

        /// <summary>When the score was submitted.</summary>
        public string At => Json["at"].Text;

        /// <summary>Identifier of a game: its id in the catalogue. A game outside the catalogue works in the same way, but gets no boards if BOARDS is `catalogue`.</summary>
        public string Game => Json["game"].Text;

        /// <summary>The number of the archive that has this entry. Left out for the current board.</summary>
        public long? Archive => Json["archive"].IsNull ? (long?)null : Json["archive"].Long;

        /// <summary>The season of the board. Left out for the board of all time.</summary>
        public string Season => Json["season"].Text;
    }

    /// <summary>A seat in a room.</summary>
    public sealed class OwnSeat : View {
        public OwnSeat(Json json) : base(json) { }

        public string Code => Json["code"].Text;

        public string Game => Json["game"].Text;

        public string Phase => Json["phase"].Text;

        /// <summary>The player's id in this room: p1, p2, … in the order of joining. No id is given twice.</summary>
        public string PlayerId => Json["playerId"].Text;

        public string Name => Json["name"].Text;

        public string JoinedAt => Json["joinedAt"].Text;
    }

    public sealed class ExportedSave : View {
        public ExportedSave(Json json) : base(json) { }

        /// <summary>The name of the save, which the game chooses.</summary>
        public string Name => Json["name"].Text;

        /// <summary>The number of the version. It rises by one with each change of the save, and never begins again.</summary>
        public long Version => Json["version"].Long;

        public string UpdatedAt => Json["updatedAt"].Text;

        /// <summary>The name that people know for the device that wrote the save.</summary>
        public string Device => Json["device"].Text;

        public string Game => Json["game"].Text;

        public Json Data => Json["data"];
    }

    /// <summary>The last report of the app.</summary>
    public sealed class ExportAccountReplySubscriptionReport : View {
        public ExportAccountReplySubscriptionReport(Json json) : base(json) { }

        public bool Subscribed => Json["subscribed"].Bool;

        public string At => Json["at"].Text;
    }

    public sealed class RecordedPurchase : View {
        public RecordedPurchase(Json json) : base(json) { }

        public string ProductId => Json["productId"].Text;

        public string PackageName => Json["packageName"].Text;

        /// <summary>The app store's last answer.</summary>
        public string State => Json["state"].Text;

        public string ExpiresAt => Json["expiresAt"].Text;

        public bool WillRenew => Json["willRenew"].Bool;

        /// <summary>The time at which the app store was last asked.</summary>
        public string CheckedAt => Json["checkedAt"].Text;

        /// <summary>True if another purchase replaced this one.</summary>
        public bool IsReplaced => Json["isReplaced"].Bool;
    }

    public sealed class Purchase : View {
        public Purchase(Json json) : base(json) { }

        /// <summary>coinop's id of the purchase.</summary>
        public string PurchaseId => Json["purchaseId"].Text;

        public string Store => Json["store"].Text;

        /// <summary>Id of the product in the catalogue.</summary>
        public string ProductId => Json["productId"].Text;

        /// <summary>Units that were bought.</summary>
        public long Quantity => Json["quantity"].Long;

        /// <summary>The coins that were granted. A refund does not change this number.</summary>
        public long Coins => Json["coins"].Long;

        /// <summary>`pending`: not paid for yet. `refunded`: all of it was refunded, or it was canceled before it was paid for.</summary>
        public string State => Json["state"].Text;

        /// <summary>The number of units that were refunded in sum. A partly refunded unit counts as one.</summary>
        public long? RefundedQuantity => Json["refundedQuantity"].IsNull ? (long?)null : Json["refundedQuantity"].Long;

        /// <summary>Nobody paid for it.</summary>
        public bool Test => Json["test"].Bool;

        /// <summary>When the service first saw it.</summary>
        public string At => Json["at"].Text;
    }

    public static class PurchaseStore {
        public const string Google = "google";
        public const string Apple = "apple";
    }

    public static class PurchaseState {
        public const string Pending = "pending";
        public const string Granted = "granted";
        public const string Refunded = "refunded";
    }

    /// <summary>As in `GET /v1/coins/history`.</summary>
    public sealed class ExportedEntry : View {
        public ExportedEntry(Json json) : base(json) { }

        public string Id => Json["id"].Text;

        public string Type => Json["type"].Text;

        public long Coins => Json["coins"].Long;

        /// <summary>The balance right after the entry. A balance below 0 is a debt.</summary>
        public long BalanceAfterCoins => Json["balanceAfterCoins"].Long;

        public string Key => Json["key"].Text;

        public string At => Json["at"].Text;
    }

    public sealed class DeleteAccountReply : Reply {
        public DeleteAccountReply(Json json) : base(json) { }

        /// <summary>Whether the account is deleted now.</summary>
        public bool Deleted => Json["deleted"].Bool;

        /// <summary>The account, for its owner only.</summary>
        public string AccountId => Json["accountId"].Text;

        /// <summary>To be sent with the second call. Present only in the answer to the first call.</summary>
        public string Confirm => Json["confirm"].Text;

        /// <summary>When `confirm` expires.</summary>
        public string ExpiresAt => Json["expiresAt"].Text;

        /// <summary>The coins that will be deleted.</summary>
        public long? BalanceCoins => Json["balanceCoins"].IsNull ? (long?)null : Json["balanceCoins"].Long;

        /// <summary>Coins that the account owes after a refund. Left out if there is no debt. Coins that come in pay the debt first.</summary>
        public long? DebtCoins => Json["debtCoins"].IsNull ? (long?)null : Json["debtCoins"].Long;

        /// <summary>With `authorizationCode`: whether Apple has revoked it. If not, the account is deleted all the same.</summary>
        public bool AppleRevoked => Json["appleRevoked"].Bool;
    }

    public sealed class GetStoreIdsReply : Reply {
        public GetStoreIdsReply(Json json) : base(json) { }

        /// <summary>22 characters.</summary>
        public string GoogleAccountId => Json["googleAccountId"].Text;

        /// <summary>A UUID.</summary>
        public string AppleAccountToken => Json["appleAccountToken"].Text;
    }

    public sealed class LoginReply : Reply {
        public LoginReply(Json json) : base(json) { }

        /// <summary>The account, for its owner only.</summary>
        public string AccountId => Json["accountId"].Text;

        public string ExpiresAt => Json["expiresAt"].Text;

        /// <summary>The token of the new session, if the request asked for it: a bearer secret, for `Authorization: Bearer` and for `hello`.</summary>
        public string SessionToken => Json["sessionToken"].Text;
    }

    public sealed class LogoutReply : Reply {
        public LogoutReply(Json json) : base(json) { }
    }

    public sealed class GetSessionReply : Reply {
        public GetSessionReply(Json json) : base(json) { }

        public bool Authenticated => Json["authenticated"].Bool;

        /// <summary>The account, for its owner only.</summary>
        public string AccountId => Json["accountId"].Text;

        public string ExpiresAt => Json["expiresAt"].Text;

        /// <summary>A new token of the same session, which ends at `expiresAt`: to a request with a bearer past half its life. Keep it in place of the old one.</summary>
        public string SessionToken => Json["sessionToken"].Text;

        /// <summary>Whether an install of this account was proven genuine.</summary>
        public bool InstallVerified => Json["installVerified"].Bool;
    }

    public sealed class ListSessionsReply : Reply {
        public ListSessionsReply(Json json) : base(json) { }

        public IReadOnlyList<SignedInBrowser> Sessions => ListOf(Json["sessions"], item => new SignedInBrowser(item));
    }

    public sealed class EndSessionReply : Reply {
        public EndSessionReply(Json json) : base(json) { }

        /// <summary>Whether the ended session was the session of this request.</summary>
        public bool Current => Json["current"].Bool;
    }

    public sealed class ListSignInsReply : Reply {
        public ListSignInsReply(Json json) : base(json) { }

        public IReadOnlyList<SignIn> SignIns => ListOf(Json["signIns"], item => new SignIn(item));
    }

    public sealed class SignIn : View {
        public SignIn(Json json) : base(json) { }

        /// <summary>For `POST /v1/account/sign-ins/remove`. It opens nothing.</summary>
        public string Id => Json["id"].Text;

        /// <summary>The name of the provider.</summary>
        public string Provider => Json["provider"].Text;

        /// <summary>The time at which the account got this sign-in.</summary>
        public string At => Json["at"].Text;

        /// <summary>Whether the session of this request began with this sign-in.</summary>
        public bool Current => Json["current"].Bool;
    }

    public sealed class StartAddingSignInReply : Reply {
        public StartAddingSignInReply(Json json) : base(json) { }

        /// <summary>43 characters of base64url.</summary>
        public string Nonce => Json["nonce"].Text;

        public string ExpiresAt => Json["expiresAt"].Text;
    }

    public sealed class AddSignInReply : Reply {
        public AddSignInReply(Json json) : base(json) { }

        /// <summary>The sign-ins of the account now.</summary>
        public IReadOnlyList<SignIn> SignIns => ListOf(Json["signIns"], item => new SignIn(item));

        /// <summary>Whether this call added the sign-in to the account.</summary>
        public bool Added => Json["added"].Bool;

        /// <summary>Whether this call merged another account into this one.</summary>
        public bool Merged => Json["merged"].Bool;

        /// <summary>The coins that moved with the other account.</summary>
        public long? MovedCoins => Json["movedCoins"].IsNull ? (long?)null : Json["movedCoins"].Long;

        /// <summary>Coins that the account owes after a refund. Left out if there is no debt. Coins that come in pay the debt first.</summary>
        public long? MovedDebtCoins => Json["movedDebtCoins"].IsNull ? (long?)null : Json["movedDebtCoins"].Long;
    }

    public sealed class RemoveSignInReply : Reply {
        public RemoveSignInReply(Json json) : base(json) { }

        /// <summary>Whether the session of this request has ended too.</summary>
        public bool Current => Json["current"].Bool;
    }

    public sealed class GetBalanceReply : Reply {
        public GetBalanceReply(Json json) : base(json) { }

        public long BalanceCoins => Json["balanceCoins"].Long;

        /// <summary>Coins that the account owes after a refund. Left out if there is no debt. Coins that come in pay the debt first.</summary>
        public long? DebtCoins => Json["debtCoins"].IsNull ? (long?)null : Json["debtCoins"].Long;
    }

    public sealed class CoinOperationReply : Reply {
        public CoinOperationReply(Json json) : base(json) { }

        /// <summary>The balance right after the operation. In a replay, the original balance.</summary>
        public long BalanceAfterCoins => Json["balanceAfterCoins"].Long;

        /// <summary>True if the key was used before, so that the operation was not applied again.</summary>
        public bool Replayed => Json["replayed"].Bool;

        /// <summary>In a replay, the balance now.</summary>
        public long? BalanceCoins => Json["balanceCoins"].IsNull ? (long?)null : Json["balanceCoins"].Long;

        /// <summary>Coins that the account owes after a refund. Left out if there is no debt. Coins that come in pay the debt first.</summary>
        public long? DebtCoins => Json["debtCoins"].IsNull ? (long?)null : Json["debtCoins"].Long;
    }

    public sealed class GetCoinHistoryReply : Reply {
        public GetCoinHistoryReply(Json json) : base(json) { }

        public IReadOnlyList<LedgerEntry> Entries => ListOf(Json["entries"], item => new LedgerEntry(item));

        public string NextCursor => Json["nextCursor"].Text;
    }

    public sealed class LedgerEntry : View {
        public LedgerEntry(Json json) : base(json) { }

        public string Id => Json["id"].Text;

        public string Type => Json["type"].Text;

        /// <summary>Coins that the entry adds to the balance. Negative if it removes coins.</summary>
        public long Coins => Json["coins"].Long;

        /// <summary>The balance right after the entry. A balance below 0 is a debt.</summary>
        public long BalanceAfterCoins => Json["balanceAfterCoins"].Long;

        public string Key => Json["key"].Text;

        public string At => Json["at"].Text;
    }

    public static class LedgerEntryType {
        public const string Credit = "credit";
        public const string Purchase = "purchase";
        public const string Debit = "debit";
        public const string Merge = "merge";
        public const string Grant = "grant";
        public const string Adjust = "adjust";
        public const string Topup = "topup";
        public const string Refund = "refund";
        public const string Prize = "prize";
    }

    public sealed class GetHighscoresReply : Reply {
        public GetHighscoresReply(Json json) : base(json) { }

        public string Game => Json["game"].Text;

        /// <summary>The ten best entries, one for each player. Equal scores share a rank (1, 2, 2, 4), and the earlier of them is listed first.</summary>
        public IReadOnlyList<HighscoreEntry> Top => ListOf(Json["top"], item => new HighscoreEntry(item));

        public OwnHighscoreEntry You => Json["you"].IsNull ? null : new OwnHighscoreEntry(Json["you"]);

        public BoardSeason Season => Json["season"].IsNull ? null : new BoardSeason(Json["season"]);
    }

    public sealed class HighscoreEntry : View {
        public HighscoreEntry(Json json) : base(json) { }

        public long Rank => Json["rank"].Long;

        /// <summary>The player's id on this board only. Nobody can compute an account or an install from it.</summary>
        public string PlayerId => Json["playerId"].Text;

        public string Name => Json["name"].Text;

        public double Score => Json["score"].Double;

        /// <summary>When the score was submitted.</summary>
        public string At => Json["at"].Text;
    }

    /// <summary>The entry of the caller: `null` without a score.</summary>
    public sealed class OwnHighscoreEntry : View {
        public OwnHighscoreEntry(Json json) : base(json) { }

        public long Rank => Json["rank"].Long;

        /// <summary>The player's id on this board only. Nobody can compute an account or an install from it.</summary>
        public string PlayerId => Json["playerId"].Text;

        public string Name => Json["name"].Text;

        public double Score => Json["score"].Double;

        /// <summary>When the score was submitted.</summary>
        public string At => Json["at"].Text;
    }

    public sealed class BoardSeason : View {
        public BoardSeason(Json json) : base(json) { }

        public string Id => Json["id"].Text;

        public string EndsAt => Json["endsAt"].Text;
    }

    public sealed class SubmitScoreReply : Reply {
        public SubmitScoreReply(Json json) : base(json) { }

        /// <summary>Rank of `best` among all players.</summary>
        public long Rank => Json["rank"].Long;

        /// <summary>The best score that this account has submitted.</summary>
        public double Best => Json["best"].Double;

        /// <summary>Whether this score is the account's first on this board, or better than its best so far.</summary>
        public bool PersonalBest => Json["personalBest"].Bool;

        /// <summary>The ten best entries, one for each player. Equal scores share a rank (1, 2, 2, 4), and the earlier of them is listed first.</summary>
        public IReadOnlyList<HighscoreEntry> Top => ListOf(Json["top"], item => new HighscoreEntry(item));

        public BoardSeason Season => Json["season"].IsNull ? null : new BoardSeason(Json["season"]);
    }

    public sealed class ListHighscoresReply : Reply {
        public ListHighscoresReply(Json json) : base(json) { }

        public string Game => Json["game"].Text;

        public IReadOnlyList<HighscoreEntry> Entries => ListOf(Json["entries"], item => new HighscoreEntry(item));

        /// <summary>Left out on the last page.</summary>
        public string NextCursor => Json["nextCursor"].Text;

        public BoardSeason Season => Json["season"].IsNull ? null : new BoardSeason(Json["season"]);
    }

    public sealed class GetHighscoresAroundReply : Reply {
        public GetHighscoresAroundReply(Json json) : base(json) { }

        public string Game => Json["game"].Text;

        public OwnHighscoreEntry You => Json["you"].IsNull ? null : new OwnHighscoreEntry(Json["you"]);

        /// <summary>In the order of the board, with the entry `you`.</summary>
        public IReadOnlyList<HighscoreEntry> Entries => ListOf(Json["entries"], item => new HighscoreEntry(item));

        public BoardSeason Season => Json["season"].IsNull ? null : new BoardSeason(Json["season"]);
    }

    public sealed class GetCatalogueReply : Reply {
        public GetCatalogueReply(Json json) : base(json) { }

        public IReadOnlyList<CatalogueEntry> Apps => ListOf(Json["apps"], item => new CatalogueEntry(item));

        /// <summary>Number of entries in `apps`.</summary>
        public long Count => Json["count"].Long;
    }

    public sealed class CatalogueEntry : View {
        public CatalogueEntry(Json json) : base(json) { }

        /// <summary>Identifier of a game: its id in the catalogue. A game outside the catalogue works in the same way, but gets no boards if BOARDS is `catalogue`.</summary>
        public string Id => Json["id"].Text;

        /// <summary>Only a game has boards, and only a game may have the fields that are for games.</summary>
        public string Kind => Json["kind"].Text;

        /// <summary>The name that people see.</summary>
        public string Name => Json["name"].Text;

        /// <summary>One sentence for the list.</summary>
        public string Tagline => Json["tagline"].Text;

        /// <summary>A URL of http, https, market or itms-apps, or a path that starts with /.</summary>
        public string Icon => Json["icon"].Text;

        /// <summary>The page of the app. A URL of http, https, market or itms-apps, or a path that starts with /.</summary>
        public string Url => Json["url"].Text;

        /// <summary>Shown to people. The service treats entries of every status alike.</summary>
        public string Status => Json["status"].Text;

        /// <summary>The platforms on which the app runs. May be empty.</summary>
        public IReadOnlyList<CataloguePlatform> Platforms => ListOf(Json["platforms"], item => new CataloguePlatform(item));

        /// <summary>Words for the page that shows the catalogue.</summary>
        public IReadOnlyList<string> Features => ListOf(Json["features"], item => item.Text);

        /// <summary>For games: asc if lower scores are better (times, strokes), desc if higher scores are better. Default: desc.</summary>
        public string Order => Json["order"].Text;

        /// <summary>For games: server if only a server key may submit scores, client if any client may. Default: client.</summary>
        public string Scores => Json["scores"].Text;

        public CatalogueSeason Season => Json["season"].IsNull ? null : new CatalogueSeason(Json["season"]);

        /// <summary>The last change, as an ISO 8601 time with its zone.</summary>
        public string UpdatedAt => Json["updatedAt"].Text;
    }

    public static class CatalogueEntryKind {
        public const string App = "app";
        public const string Game = "game";
    }

    public static class CatalogueEntryStatus {
        public const string Live = "live";
        public const string Beta = "beta";
        public const string Soon = "soon";
    }

    public sealed class CataloguePlatform : View {
        public CataloguePlatform(Json json) : base(json) { }

        /// <summary>The platform, such as android, ios or web.</summary>
        public string Platform => Json["platform"].Text;

        /// <summary>The id of the app on this platform.</summary>
        public string PackageName => Json["packageName"].Text;

        /// <summary>The page where people get the app. A URL of http, https, market or itms-apps, or a path that starts with /.</summary>
        public string Url => Json["url"].Text;
    }

    public static class CatalogueEntryOrder {
        public const string Asc = "asc";
        public const string Desc = "desc";
    }

    public static class CatalogueEntryScores {
        public const string Client = "client";
        public const string Server = "server";
    }

    public sealed class CatalogueSeason : View {
        public CatalogueSeason(Json json) : base(json) { }

        /// <summary>How long a season is. Seasons begin at midnight UTC, and a week begins on Monday.</summary>
        public string Period => Json["period"].Text;

        /// <summary>The time between the end of a season and the payment of its prizes, in which you can check the board. Default: 0.</summary>
        public long? PayAfterSeconds => Json["payAfterSeconds"].IsNull ? (long?)null : Json["payAfterSeconds"].Long;

        /// <summary>Number of closed seasons whose boards are kept. Default: 12.</summary>
        public long? Keep => Json["keep"].IsNull ? (long?)null : Json["keep"].Long;

        /// <summary>In the order of rising `upTo`: a player gets the first prize whose `upTo` is at least the rank.</summary>
        public IReadOnlyList<SeasonPrize> Prizes => ListOf(Json["prizes"], item => new SeasonPrize(item));
    }

    public static class CatalogueSeasonPeriod {
        public const string Daily = "daily";
        public const string Weekly = "weekly";
        public const string Monthly = "monthly";
    }

    public sealed class SeasonPrize : View {
        public SeasonPrize(Json json) : base(json) { }

        /// <summary>The last rank that wins this prize.</summary>
        public long UpTo => Json["upTo"].Long;

        /// <summary>Coins for each player at these ranks.</summary>
        public long Coins => Json["coins"].Long;
    }

    public sealed class ListProductsReply : Reply {
        public ListProductsReply(Json json) : base(json) { }

        public IReadOnlyList<Product> Products => ListOf(Json["products"], item => new Product(item));

        /// <summary>Number of entries in `products`.</summary>
        public long Count => Json["count"].Long;
    }

    public sealed class Product : View {
        public Product(Json json) : base(json) { }

        /// <summary>Identifier of a product in the catalogue.</summary>
        public string ProductId => Json["productId"].Text;

        /// <summary>The coins that one unit of the product gives, 1 to 1,000,000.</summary>
        public long Coins => Json["coins"].Long;

        /// <summary>The name that people see.</summary>
        public string Name => Json["name"].Text;

        /// <summary>The product's id in each app store that sells it.</summary>
        public ProductStores Stores => new ProductStores(Json["stores"]);
    }

    /// <summary>The product's id in each app store that sells it.</summary>
    public sealed class ProductStores : View {
        public ProductStores(Json json) : base(json) { }

        public string Google => Json["google"].Text;

        public string Apple => Json["apple"].Text;
    }

    public static class PurchasesBuyStore {
        public const string Google = "google";
        public const string Apple = "apple";
    }

    public sealed class PurchaseProductReply : Reply {
        public PurchaseProductReply(Json json) : base(json) { }

        public Purchase Purchase => new Purchase(Json["purchase"]);

        /// <summary>The balance right after the purchase was granted. Before the grant: the current balance.</summary>
        public long BalanceAfterCoins => Json["balanceAfterCoins"].Long;

        /// <summary>True if the purchase was granted before this call.</summary>
        public bool Replayed => Json["replayed"].Bool;

        /// <summary>In a replay, the balance now.</summary>
        public long? BalanceCoins => Json["balanceCoins"].IsNull ? (long?)null : Json["balanceCoins"].Long;

        /// <summary>Coins that the account owes after a refund. Left out if there is no debt. Coins that come in pay the debt first.</summary>
        public long? DebtCoins => Json["debtCoins"].IsNull ? (long?)null : Json["debtCoins"].Long;
    }

    public sealed class ListPurchasesReply : Reply {
        public ListPurchasesReply(Json json) : base(json) { }

        public IReadOnlyList<Purchase> Purchases => ListOf(Json["purchases"], item => new Purchase(item));

        /// <summary>Cursor of the next page. Missing on the last page.</summary>
        public string NextCursor => Json["nextCursor"].Text;
    }

    public sealed class OpenPairingReply : Reply {
        public OpenPairingReply(Json json) : base(json) { }

        public string Token => Json["token"].Text;

        /// <summary>Names the pairing in the event `pairing.claimed`.</summary>
        public string PairingId => Json["pairingId"].Text;

        /// <summary>With `session:"token"`: send it in the header `x-pair-secret` of `GET /v1/pair/status`. Keep it out of the QR code, and show it to nobody.</summary>
        public string Secret => Json["secret"].Text;

        /// <summary>Seconds in which the pairing can be claimed.</summary>
        public long ExpiresIn => Json["expiresIn"].Long;

        /// <summary>Seconds between two polls.</summary>
        public long Interval => Json["interval"].Long;

        /// <summary>Two digits, shown on both screens.</summary>
        public string MatchCode => Json["matchCode"].Text;

        /// <summary>The content of the QR code.</summary>
        public string Url => Json["url"].Text;
    }

    public static class PairingClaimStep {
        public const string Scan = "scan";
        public const string Confirm = "confirm";
        public const string Deny = "deny";
    }

    public sealed class ClaimPairingReply : Reply {
        public ClaimPairingReply(Json json) : base(json) { }

        public string Status => Json["status"].Text;

        /// <summary>Two digits, which the screen that asks for the sign-in shows too. If the screen shows other digits, its pairing is another one.</summary>
        public string MatchCode => Json["matchCode"].Text;

        public PairingRequester Requester => new PairingRequester(Json["requester"]);
    }

    public static class PairingStatus {
        public const string Pending = "pending";
        public const string Scanned = "scanned";
        public const string Claimed = "claimed";
        public const string Denied = "denied";
        public const string Expired = "expired";
    }

    /// <summary>The browser that asks to be signed in.</summary>
    public sealed class PairingRequester : View {
        public PairingRequester(Json json) : base(json) { }

        public string Address => Json["address"].Text;

        /// <summary>The User-Agent header as the browser sent it, at most 200 characters. Show it as plain text.</summary>
        public string UserAgent => Json["userAgent"].Text;

        /// <summary>Seconds since the pairing was opened.</summary>
        public long AgeSeconds => Json["ageSeconds"].Long;
    }

    public sealed class GetPairingReply : Reply {
        public GetPairingReply(Json json) : base(json) { }

        public string Status => Json["status"].Text;

        /// <summary>The token of the new session, if the request asked for it: a bearer secret, for `Authorization: Bearer` and for `hello`.</summary>
        public string SessionToken => Json["sessionToken"].Text;

        /// <summary>With `claimed`, for the client that holds svc_pair or the secret.</summary>
        public GetPairingReplyClaimedBy ClaimedBy => Json["claimedBy"].IsNull ? null : new GetPairingReplyClaimedBy(Json["claimedBy"]);
    }

    /// <summary>With `claimed`, for the client that holds svc_pair or the secret.</summary>
    public sealed class GetPairingReplyClaimedBy : View {
        public GetPairingReplyClaimedBy(Json json) : base(json) { }

        /// <summary>The name that the claimant gave itself. It proves nothing.</summary>
        public string Name => Json["name"].Text;
    }

    public static class RoomsCreateWriters {
        public const string Host = "host";
        public const string Players = "players";
        public const string Server = "server";
    }

    public sealed class SeatedReply : Reply {
        public SeatedReply(Json json) : base(json) { }

        public Room Room => new Room(Json["room"]);

        public Seat You => new Seat(Json["you"]);

        /// <summary>For `message`: the receivers who miss it, because they have no welcomed channel. Receivers are the players of `to` or, without `to`, the other players. Left out if nobody misses it.</summary>
        public IReadOnlyList<string> Away => ListOf(Json["away"], item => item.Text);

        /// <summary>True if the tab had already done an act with this order, so that nothing changed.</summary>
        public bool Replayed => Json["replayed"].Bool;
    }

    public sealed class Room : View {
        public Room(Json json) : base(json) { }

        public string Code => Json["code"].Text;

        public string Game => Json["game"].Text;

        public string Phase => Json["phase"].Text;

        /// <summary>Rises by one with every change.</summary>
        public long Seq => Json["seq"].Long;

        /// <summary>The host. After all players have left, it is the last host. `null` in a server's room, which has no host.</summary>
        public string HostId => Json["hostId"].Text;

        public long MinPlayers => Json["minPlayers"].Long;

        public long MaxPlayers => Json["maxPlayers"].Long;

        /// <summary>Whether the room refuses new players.</summary>
        public bool Locked => Json["locked"].Bool;

        /// <summary>Seconds, 1 to 3600: a player who had a channel and has had none for that long loses the seat, as with `leave`. `null`: the player keeps the seat. Time in which no process could accept a channel does not count, and the grace begins anew after it.</summary>
        public long? SeatGraceSeconds => Json["seatGraceSeconds"].IsNull ? (long?)null : Json["seatGraceSeconds"].Long;

        /// <summary>Who may write the game's state: the host, every player, or only a server with a key.</summary>
        public string Writers => Json["writers"].Text;

        /// <summary>Whether lists show the room.</summary>
        public bool Public => Json["public"].Bool;

        /// <summary>At most 8 names (small letters, digits, underscores), each with a text of at most 64 characters, a number or a boolean.</summary>
        public Json Tags => Json["tags"];

        /// <summary>The game's public state; `{}` at first.</summary>
        public Json State => Json["state"];

        /// <summary>The `seq` of the last change of the state.</summary>
        public long StateSeq => Json["stateSeq"].Long;

        /// <summary>Longest seated first.</summary>
        public IReadOnlyList<Player> Players => ListOf(Json["players"], item => new Player(item));

        public string CreatedAt => Json["createdAt"].Text;

        public string UpdatedAt => Json["updatedAt"].Text;

        public string StartedAt => Json["startedAt"].Text;

        public string EndedAt => Json["endedAt"].Text;

        /// <summary>The time at which the room expires, unless it changes before.</summary>
        public string ExpiresAt => Json["expiresAt"].Text;

        /// <summary>Code of the lobby of the rematch.</summary>
        public string NextCode => Json["nextCode"].Text;
    }

    public static class RoomPhase {
        public const string Lobby = "lobby";
        public const string Playing = "playing";
        public const string Ended = "ended";
    }

    public static class RoomWriters {
        public const string Host = "host";
        public const string Players = "players";
        public const string Server = "server";
    }

    public sealed class Player : View {
        public Player(Json json) : base(json) { }

        /// <summary>The player's id in this room: p1, p2, … in the order of joining. No id is given twice.</summary>
        public string Id => Json["id"].Text;

        public string Name => Json["name"].Text;

        /// <summary>Shown to the other players. The host may start the room even if players are not ready.</summary>
        public bool Ready => Json["ready"].Bool;

        /// <summary>Whether the player has a connection on the room's live channel. A game that only uses HTTP can ignore it.</summary>
        public bool Connected => Json["connected"].Bool;

        public bool Host => Json["host"].Bool;

        public string JoinedAt => Json["joinedAt"].Text;

        /// <summary>Data that only the player can write: any JSON, `null` at first.</summary>
        public Json Data => Json["data"];
    }

    /// <summary>The caller's seat; after `leave`, the seat given up. For a server key the seat of the host after the action.</summary>
    public sealed class Seat : View {
        public Seat(Json json) : base(json) { }

        /// <summary>The player's id in this room, or `server` for a server in a room without a host.</summary>
        public string PlayerId => Json["playerId"].Text;

        public bool Host => Json["host"].Bool;

        /// <summary>The part that only this player sees. Left out before the first `private`.</summary>
        public Json Private => Json["private"];

        /// <summary>The last order of the tab, 0 at first. Left out if no tab was named.</summary>
        public long? Order => Json["order"].IsNull ? (long?)null : Json["order"].Long;
    }

    public sealed class ListRoomsReply : Reply {
        public ListRoomsReply(Json json) : base(json) { }

        public IReadOnlyList<ListedRoom> Rooms => ListOf(Json["rooms"], item => new ListedRoom(item));

        /// <summary>The `nextCursor` of the page before.</summary>
        public string NextCursor => Json["nextCursor"].Text;
    }

    /// <summary>A room that anybody may join.</summary>
    public sealed class ListedRoom : View {
        public ListedRoom(Json json) : base(json) { }

        public string Code => Json["code"].Text;

        public string Game => Json["game"].Text;

        public long Players => Json["players"].Long;

        public long MaxPlayers => Json["maxPlayers"].Long;

        public Json Tags => Json["tags"];

        public string CreatedAt => Json["createdAt"].Text;
    }

    public static class RoomsMatchWriters {
        public const string Host = "host";
        public const string Players = "players";
        public const string Server = "server";
    }

    public sealed class MatchRoomReply : Reply {
        public MatchRoomReply(Json json) : base(json) { }

        public Room Room => new Room(Json["room"]);

        public Seat You => new Seat(Json["you"]);

        /// <summary>Whether the caller created the room, and so is the first host of the room.</summary>
        public bool Created => Json["created"].Bool;
    }

    public sealed class RoomReply : Reply {
        public RoomReply(Json json) : base(json) { }

        public Room Room => new Room(Json["room"]);
    }

    public sealed class RoomTicketReply : Reply {
        public RoomTicketReply(Json json) : base(json) { }

        public string Ticket => Json["ticket"].Text;

        /// <summary>The player's id in this room: p1, p2, … in the order of joining. No id is given twice.</summary>
        public string PlayerId => Json["playerId"].Text;

        /// <summary>Seconds.</summary>
        public long ExpiresIn => Json["expiresIn"].Long;
    }

    public static class RoomsSettingsWriters {
        public const string Host = "host";
        public const string Players = "players";
        public const string Server = "server";
    }

    public sealed class ListSavesReply : Reply {
        public ListSavesReply(Json json) : base(json) { }

        /// <summary>In the order of their names.</summary>
        public IReadOnlyList<ListedSave> Saves => ListOf(Json["saves"], item => new ListedSave(item));
    }

    public sealed class ListedSave : View {
        public ListedSave(Json json) : base(json) { }

        /// <summary>The name of the save, which the game chooses.</summary>
        public string Name => Json["name"].Text;

        /// <summary>The number of the version. It rises by one with each change of the save, and never begins again.</summary>
        public long Version => Json["version"].Long;

        /// <summary>Bytes of the data as compact JSON in UTF-8.</summary>
        public long SizeBytes => Json["sizeBytes"].Long;

        public string UpdatedAt => Json["updatedAt"].Text;

        /// <summary>The name that people know for the device that wrote the save.</summary>
        public string Device => Json["device"].Text;
    }

    public sealed class LoadSaveReply : Reply {
        public LoadSaveReply(Json json) : base(json) { }

        public string Name => Json["name"].Text;

        /// <summary>The number of the version. It rises by one with each change of the save, and never begins again.</summary>
        public long Version => Json["version"].Long;

        /// <summary>As it was sent.</summary>
        public Json Data => Json["data"];

        public string UpdatedAt => Json["updatedAt"].Text;

        /// <summary>The name that people know for the device that wrote the save.</summary>
        public string Device => Json["device"].Text;

        /// <summary>The version of a guest that moved in.</summary>
        public LoadSaveReplyOther Other => Json["other"].IsNull ? null : new LoadSaveReplyOther(Json["other"]);
    }

    /// <summary>The version of a guest that moved in.</summary>
    public sealed class LoadSaveReplyOther : View {
        public LoadSaveReplyOther(Json json) : base(json) { }

        /// <summary>The number of the version. It rises by one with each change of the save, and never begins again.</summary>
        public long Version => Json["version"].Long;
    }

    public sealed class WriteSaveReply : Reply {
        public WriteSaveReply(Json json) : base(json) { }

        /// <summary>The number of the version. It rises by one with each change of the save, and never begins again.</summary>
        public long Version => Json["version"].Long;

        public string UpdatedAt => Json["updatedAt"].Text;
    }

    public sealed class DeleteSaveReply : Reply {
        public DeleteSaveReply(Json json) : base(json) { }

        /// <summary>Whether there was such a save.</summary>
        public bool Deleted => Json["deleted"].Bool;
    }

    public sealed class Trial : Reply {
        public Trial(Json json) : base(json) { }

        public bool Active => Json["active"].Bool;

        public string State => Json["state"].Text;

        public string StartedAt => Json["startedAt"].Text;

        public string ExpiresAt => Json["expiresAt"].Text;

        /// <summary>Whole seconds, rounded up. Left out unless the trial is active.</summary>
        public long? RemainingSeconds => Json["remainingSeconds"].IsNull ? (long?)null : Json["remainingSeconds"].Long;
    }

    public static class TrialState {
        public const string None = "none";
        public const string Active = "active";
        public const string Expired = "expired";
    }

    public sealed class Subscription : Reply {
        public Subscription(Json json) : base(json) { }

        /// <summary>Whether the subscription gives access now, also during its grace period.</summary>
        public bool Subscribed => Json["subscribed"].Bool;

        public string State => Json["state"].Text;

        /// <summary>The source of the state: the app store, a report of the app, or neither.</summary>
        public string Source => Json["source"].Text;

        /// <summary>Whether the app store confirmed the state.</summary>
        public bool Verified => Json["verified"].Bool;

        public string ProductId => Json["productId"].Text;

        /// <summary>The end of the access that is paid for. With `source: report`, the time at which the report stops counting.</summary>
        public string ExpiresAt => Json["expiresAt"].Text;

        public bool WillRenew => Json["willRenew"].Bool;
    }

    public static class SubscriptionState {
        public const string Active = "active";
        public const string Grace = "grace";
        public const string OnHold = "on_hold";
        public const string Paused = "paused";
        public const string Canceled = "canceled";
        public const string Expired = "expired";
        public const string Pending = "pending";
        public const string None = "none";
    }

    public static class SubscriptionSource {
        public const string Store = "store";
        public const string Report = "report";
        public const string None = "none";
    }

    public sealed class ReportSubscriptionReply : Reply {
        public ReportSubscriptionReply(Json json) : base(json) { }

        /// <summary>Whether the report was recorded.</summary>
        public bool Recorded => Json["recorded"].Bool;
    }

    public static class SubscriptionPurchaseStore {
        public const string Google = "google";
        public const string Apple = "apple";
    }

    public static class EntitlementCurrentProof {
        public const string _1 = "1";
    }

    public sealed class Entitlement : Reply {
        public Entitlement(Json json) : base(json) { }

        /// <summary>The first of these that holds.</summary>
        public string State => Json["state"].Text;

        /// <summary>True while subscribed, in grace or on trial.</summary>
        public bool Access => Json["access"].Bool;

        /// <summary>When the access ends. In state `expired`: when the last access ended.</summary>
        public string ExpiresAt => Json["expiresAt"].Text;

        /// <summary>Time of the app's first run, by the server's clock.</summary>
        public string FirstRunAt => Json["firstRunAt"].Text;

        /// <summary>`gift`: people who run the service gave this access. Left out: it comes from a purchase, a report or a trial.</summary>
        public string Source => Json["source"].Text;

        /// <summary>Whether the app store confirmed this account's install as genuine. Absent without a caller.</summary>
        public bool InstallVerified => Json["installVerified"].Bool;

        /// <summary>A compact JWS, ES256, with `typ` "entitlement+jwt" and `iss` "coinop". Its claims are `sub` (the accountId), `state`, `access`, `expiresAt`, `iat` and `exp`, which is 24 hours later, or when the access ends if that is sooner. It is at most a minute old, and ignores unverified reports.</summary>
        public string Proof => Json["proof"].Text;
    }

    public static class EntitlementState {
        public const string Subscribed = "subscribed";
        public const string Grace = "grace";
        public const string Trial = "trial";
        public const string Expired = "expired";
        public const string None = "none";
    }

    public static class EntitlementSource {
        public const string Gift = "gift";
    }

    public sealed class RecordFirstRunReply : Reply {
        public RecordFirstRunReply(Json json) : base(json) { }

        /// <summary>Time of the app's first run, by the server's clock.</summary>
        public string FirstRunAt => Json["firstRunAt"].Text;
    }

    public sealed class SignInWithStoreReply : Reply {
        public SignInWithStoreReply(Json json) : base(json) { }

        /// <summary>The account, for its owner only.</summary>
        public string AccountId => Json["accountId"].Text;

        /// <summary>The provider that issued the token.</summary>
        public string Provider => Json["provider"].Text;

        /// <summary>Whether the store account is new.</summary>
        public bool Created => Json["created"].Bool;

        /// <summary>When the session ends.</summary>
        public string ExpiresAt => Json["expiresAt"].Text;

        /// <summary>The token of the new session, if the request asked for it: a bearer secret, for `Authorization: Bearer` and for `hello`.</summary>
        public string SessionToken => Json["sessionToken"].Text;

        /// <summary>Whether this call moved a guest into the account.</summary>
        public bool Moved => Json["moved"].Bool;

        /// <summary>The coins that moved with the guest.</summary>
        public long? MovedCoins => Json["movedCoins"].IsNull ? (long?)null : Json["movedCoins"].Long;

        /// <summary>The debt that moved with the guest, beside `movedCoins` of 0.</summary>
        public long? MovedDebtCoins => Json["movedDebtCoins"].IsNull ? (long?)null : Json["movedDebtCoins"].Long;

        /// <summary>Why the caller did not move: `not_a_guest`: it is a store account; `from_pairing`: its session came from a pairing and the request has no installId of its account; `too_many_guests`: 500 guests moved in before, or this guest has more than 100 entries in its history and 50 such guests moved in before; `balance_limit`: the balance would pass 1e12.</summary>
        public string NotMoved => Json["notMoved"].Text;
    }

    public static class SignInWithStoreReplyNotMoved {
        public const string NotAGuest = "not_a_guest";
        public const string FromPairing = "from_pairing";
        public const string TooManyGuests = "too_many_guests";
        public const string BalanceLimit = "balance_limit";
    }

    public sealed class IssueNonceReply : Reply {
        public IssueNonceReply(Json json) : base(json) { }

        /// <summary>The nonce is valid for one install proof, within 5 minutes.</summary>
        public string Nonce => Json["nonce"].Text;

        /// <summary>Seconds until the nonce expires: 300.</summary>
        public long ExpiresIn => Json["expiresIn"].Long;
    }

    public sealed class ProveInstallReply : Reply {
        public ProveInstallReply(Json json) : base(json) { }

        /// <summary>Always `true`.</summary>
        public bool InstallVerified => Json["installVerified"].Bool;

        /// <summary>The app that the token proves genuine.</summary>
        public string PackageName => Json["packageName"].Text;

        /// <summary>The account for which the proof is recorded. Only replies to requests with credentials have it.</summary>
        public string AccountId => Json["accountId"].Text;
    }

    public sealed class ErrorDetails : View {
        public ErrorDetails(Json json) : base(json) { }

        public string Code => Json["code"].Text;

        /// <summary>For people; it may change.</summary>
        public string Message => Json["message"].Text;

        /// <summary>The field of the request that caused the error.</summary>
        public string Field => Json["field"].Text;

        /// <summary>With `invalid_request`: every problem of the request.</summary>
        public IReadOnlyList<RequestIssue> Issues => ListOf(Json["issues"], item => new RequestIssue(item));

        /// <summary>Milliseconds to wait before a retry.</summary>
        public long? RetryAfterMs => Json["retryAfterMs"].IsNull ? (long?)null : Json["retryAfterMs"].Long;

        /// <summary>With `store_unavailable`: the write may or may not have happened. A retry with the same key takes effect once.</summary>
        public string Outcome => Json["outcome"].Text;

        /// <summary>With `insufficient_coins` and `balance_limit`: the balance.</summary>
        public long? BalanceCoins => Json["balanceCoins"].IsNull ? (long?)null : Json["balanceCoins"].Long;

        /// <summary>With a `balanceCoins` of 0: the coins that the account owes after a refund.</summary>
        public long? DebtCoins => Json["debtCoins"].IsNull ? (long?)null : Json["debtCoins"].Long;

        /// <summary>With `forbidden`: the scope that the server key lacks.</summary>
        public string Scope => Json["scope"].Text;

        /// <summary>With `integrity_failed`: the checks that failed.</summary>
        public IReadOnlyList<string> Failed => ListOf(Json["failed"], item => item.Text);

        /// <summary>With `stale_state`: the `stateSeq` that the room has.</summary>
        public long? StateSeq => Json["stateSeq"].IsNull ? (long?)null : Json["stateSeq"].Long;

        /// <summary>With `stale_state`: the state that the room has.</summary>
        public Json State => Json["state"];
    }

    public static class ErrorCode {
        public const string InvalidJson = "invalid_json";
        public const string InvalidRequest = "invalid_request";
        public const string UnknownAction = "unknown_action";
        public const string IdentityRequired = "identity_required";
        public const string SessionRequired = "session_required";
        public const string SignInRequired = "sign_in_required";
        public const string BadToken = "bad_token";
        public const string BadKey = "bad_key";
        public const string Forbidden = "forbidden";
        public const string CrossSite = "cross_site";
        public const string ProofRequired = "proof_required";
        public const string ServerOnly = "server_only";
        public const string AccountBanned = "account_banned";
        public const string NotHost = "not_host";
        public const string NotWriter = "not_writer";
        public const string NotInRoom = "not_in_room";
        public const string Kicked = "kicked";
        public const string IntegrityFailed = "integrity_failed";
        public const string NotFound = "not_found";
        public const string AccountNotFound = "account_not_found";
        public const string EntryNotFound = "entry_not_found";
        public const string GameNotFound = "game_not_found";
        public const string SignInNotFound = "sign_in_not_found";
        public const string SeasonNotFound = "season_not_found";
        public const string RoomNotFound = "room_not_found";
        public const string PairNotFound = "pair_not_found";
        public const string SessionNotFound = "session_not_found";
        public const string MethodNotAllowed = "method_not_allowed";
        public const string InsufficientCoins = "insufficient_coins";
        public const string BalanceLimit = "balance_limit";
        public const string AlreadyClaimed = "already_claimed";
        public const string PairExpired = "pair_expired";
        public const string PairDenied = "pair_denied";
        public const string RoomFull = "room_full";
        public const string RoomStarted = "room_started";
        public const string SignInTaken = "sign_in_taken";
        public const string LastSignIn = "last_sign_in";
        public const string MergeRefused = "merge_refused";
        public const string RoomEnded = "room_ended";
        public const string RoomLocked = "room_locked";
        public const string NotEnoughPlayers = "not_enough_players";
        public const string StaleState = "stale_state";
        public const string StaleSave = "stale_save";
        public const string SaveLimit = "save_limit";
        public const string NonceUsed = "nonce_used";
        public const string TestPurchase = "test_purchase";
        public const string ProductNotFound = "product_not_found";
        public const string SaveNotFound = "save_not_found";
        public const string PurchaseNotFound = "purchase_not_found";
        public const string WebhookNotFound = "webhook_not_found";
        public const string EventNotFound = "event_not_found";
        public const string WebhooksFull = "webhooks_full";
        public const string PurchaseOwned = "purchase_owned";
        public const string NoTrial = "no_trial";
        public const string AccountDeleted = "account_deleted";
        public const string PayloadTooLarge = "payload_too_large";
        public const string UnsupportedMediaType = "unsupported_media_type";
        public const string KeyReused = "key_reused";
        public const string UpgradeRequired = "upgrade_required";
        public const string RateLimited = "rate_limited";
        public const string Internal = "internal";
        public const string StoreUnavailable = "store_unavailable";
        public const string AppStoreUnavailable = "app_store_unavailable";
        public const string StoreUnconfigured = "store_unconfigured";
        public const string Overloaded = "overloaded";
    }

    public sealed class RequestIssue : View {
        public RequestIssue(Json json) : base(json) { }

        public string Path => Json["path"].Text;

        public string Message => Json["message"].Text;
    }

    public static class ErrorDetailsOutcome {
        public const string Unknown = "unknown";
    }

    public sealed class AccountsCalls {
        readonly Calls of;

        internal AccountsCalls(Calls of) {
            this.of = of;
        }

        /// <summary>Finds the account of an install, and creates it the first time.</summary>
        public Task<ResolveAccountReply> Resolve(CallOptions options = null) {
            var given_ = new Json();
            return of.Call("accounts.resolve", given_, options, json => new ResolveAccountReply(json));
        }

        /// <summary>All that is kept about the caller, in pages.</summary>
        public Task<ExportAccountReply> Export(string cursor = null, CallOptions options = null) {
            var given_ = new Json();
            if (cursor != null) given_.Add("cursor", cursor);
            return of.Call("accounts.export", given_, options, json => new ExportAccountReply(json));
        }

        /// <summary>Deletes an account for good, in two calls.</summary>
        public Task<DeleteAccountReply> Delete(string token = null, string confirm = null, string authorizationCode = null, CallOptions options = null) {
            var given_ = new Json();
            if (token != null) given_.Add("token", token);
            if (confirm != null) given_.Add("confirm", confirm);
            if (authorizationCode != null) given_.Add("authorizationCode", authorizationCode);
            return of.Call("accounts.delete", given_, options, json => new DeleteAccountReply(json));
        }

        /// <summary>The caller's ids for app stores, which bind a purchase to the account.</summary>
        public Task<GetStoreIdsReply> StoreIds(CallOptions options = null) {
            var given_ = new Json();
            return of.Call("accounts.storeIds", given_, options, json => new GetStoreIdsReply(json));
        }
    }

    public sealed class SessionsCalls {
        readonly Calls of;

        internal SessionsCalls(Calls of) {
            this.of = of;
        }

        /// <summary>Signs in with an installId, and sets the session cookie svc_session or answers with the session token.</summary>
        public Task<LoginReply> Login(CallOptions options = null) {
            var given_ = new Json();
            return of.Call("sessions.login", given_, options, json => new LoginReply(json));
        }

        /// <summary>Signs out: the session ends on every process at once.</summary>
        public Task<LogoutReply> Logout(bool? everywhere = null, CallOptions options = null) {
            var given_ = new Json();
            if (everywhere != null) given_.Add("everywhere", everywhere.Value);
            return of.Call("sessions.logout", given_, options, json => new LogoutReply(json));
        }

        /// <summary>Tells whether the session is valid, and for which account.</summary>
        public Task<GetSessionReply> Current(CallOptions options = null) {
            var given_ = new Json();
            return of.Call("sessions.current", given_, options, json => new GetSessionReply(json));
        }

        /// <summary>The sessions of the caller's account: its signed-in browsers.</summary>
        public Task<ListSessionsReply> List(CallOptions options = null) {
            var given_ = new Json();
            return of.Call("sessions.list", given_, options, json => new ListSessionsReply(json));
        }

        /// <summary>Ends one session of the caller's account, on every process at once.</summary>
        public Task<EndSessionReply> End(string id, CallOptions options = null) {
            var given_ = new Json();
            given_.Add("id", id);
            return of.Call("sessions.end", given_, options, json => new EndSessionReply(json));
        }
    }

    public sealed class SignInsCalls {
        readonly Calls of;

        internal SignInsCalls(Calls of) {
            this.of = of;
        }

        /// <summary>The sign-ins of the session's account: the providers with which its user signs in.</summary>
        public Task<ListSignInsReply> List(CallOptions options = null) {
            var given_ = new Json();
            return of.Call("signIns.list", given_, options, json => new ListSignInsReply(json));
        }

        /// <summary>A nonce for the token of the sign-in that the session's account is to get.</summary>
        public Task<StartAddingSignInReply> Nonce(CallOptions options = null) {
            var given_ = new Json();
            return of.Call("signIns.nonce", given_, options, json => new StartAddingSignInReply(json));
        }

        /// <summary>Adds a sign-in to the session's account, or merges the account that the sign-in has.</summary>
        public Task<AddSignInReply> Add(string token, string proof = null, string confirm = null, CallOptions options = null) {
            var given_ = new Json();
            given_.Add("token", token);
            if (proof != null) given_.Add("proof", proof);
            if (confirm != null) given_.Add("confirm", confirm);
            return of.Call("signIns.add", given_, options, json => new AddSignInReply(json));
        }

        /// <summary>Removes a sign-in from the session's account.</summary>
        public Task<RemoveSignInReply> Remove(string id, string proof = null, CallOptions options = null) {
            var given_ = new Json();
            given_.Add("id", id);
            if (proof != null) given_.Add("proof", proof);
            return of.Call("signIns.remove", given_, options, json => new RemoveSignInReply(json));
        }
    }

    public sealed class CoinsCalls {
        readonly Calls of;

        internal CoinsCalls(Calls of) {
            this.of = of;
        }

        /// <summary>The caller's coin balance. It is 0 for an unknown install.</summary>
        public Task<GetBalanceReply> Balance(CallOptions options = null) {
            var given_ = new Json();
            return of.Call("coins.balance", given_, options, json => new GetBalanceReply(json));
        }

        /// <summary>Adds coins, once per key.</summary>
        public Task<CoinOperationReply> Credit(long coins, string key = null, CallOptions options = null) {
            var given_ = new Json();
            given_.Add("coins", coins);
            if (key != null) given_.Add("key", key);
            return of.Call("coins.credit", given_, options, json => new CoinOperationReply(json));
        }

        /// <summary>Adds bought coins, once per key.</summary>
        public Task<CoinOperationReply> Purchase(long coins, string key = null, CallOptions options = null) {
            var given_ = new Json();
            given_.Add("coins", coins);
            if (key != null) given_.Add("key", key);
            return of.Call("coins.purchase", given_, options, json => new CoinOperationReply(json));
        }

        /// <summary>Removes coins, once per key, and never more than the balance.</summary>
        public Task<CoinOperationReply> Debit(long coins, string key = null, CallOptions options = null) {
            var given_ = new Json();
            given_.Add("coins", coins);
            if (key != null) given_.Add("key", key);
            return of.Call("coins.debit", given_, options, json => new CoinOperationReply(json));
        }

        /// <summary>The caller's ledger, newest entry first.</summary>
        public Task<GetCoinHistoryReply> History(long? limit = null, string cursor = null, CallOptions options = null) {
            var given_ = new Json();
            if (limit != null) given_.Add("limit", limit.Value);
            if (cursor != null) given_.Add("cursor", cursor);
            return of.Call("coins.history", given_, options, json => new GetCoinHistoryReply(json));
        }
    }

    public sealed class HighscoresCalls {
        readonly Calls of;

        internal HighscoresCalls(Calls of) {
            this.of = of;
        }

        /// <summary>A game's ten best scores; an empty list for a game without scores.</summary>
        public Task<GetHighscoresReply> Top(string game, string season = null, CallOptions options = null) {
            var given_ = new Json();
            given_.Add("game", game);
            if (season != null) given_.Add("season", season);
            return of.Call("highscores.top", given_, options, json => new GetHighscoresReply(json));
        }

        /// <summary>Submits a score to a game's board, which keeps each account's best score.</summary>
        public Task<SubmitScoreReply> Submit(string game, double score, string name, CallOptions options = null) {
            var given_ = new Json();
            given_.Add("game", game);
            given_.Add("score", score);
            given_.Add("name", name);
            return of.Call("highscores.submit", given_, options, json => new SubmitScoreReply(json));
        }

        /// <summary>A page of a game's board, best first.</summary>
        public Task<ListHighscoresReply> Entries(string game, long? limit = null, string cursor = null, string season = null, CallOptions options = null) {
            var given_ = new Json();
            given_.Add("game", game);
            if (limit != null) given_.Add("limit", limit.Value);
            if (cursor != null) given_.Add("cursor", cursor);
            if (season != null) given_.Add("season", season);
            return of.Call("highscores.entries", given_, options, json => new ListHighscoresReply(json));
        }

        /// <summary>The caller's entry on a game's board, and the entries around it.</summary>
        public Task<GetHighscoresAroundReply> Around(string game, string playerId = null, string season = null, long? limit = null, CallOptions options = null) {
            var given_ = new Json();
            given_.Add("game", game);
            if (playerId != null) given_.Add("playerId", playerId);
            if (season != null) given_.Add("season", season);
            if (limit != null) given_.Add("limit", limit.Value);
            return of.Call("highscores.around", given_, options, json => new GetHighscoresAroundReply(json));
        }
    }

    public sealed class CatalogueCalls {
        readonly Calls of;

        internal CatalogueCalls(Calls of) {
            this.of = of;
        }

        /// <summary>The apps and games of the portfolio.</summary>
        public Task<GetCatalogueReply> List(CallOptions options = null) {
            var given_ = new Json();
            return of.Call("catalogue.list", given_, options, json => new GetCatalogueReply(json));
        }
    }

    public sealed class ProductsCalls {
        readonly Calls of;

        internal ProductsCalls(Calls of) {
            this.of = of;
        }

        /// <summary>The coins that the app stores sell.</summary>
        public Task<ListProductsReply> List(CallOptions options = null) {
            var given_ = new Json();
            return of.Call("products.list", given_, options, json => new ListProductsReply(json));
        }
    }

    public sealed class PurchasesCalls {
        readonly Calls of;

        internal PurchasesCalls(Calls of) {
            this.of = of;
        }

        /// <summary>Books coins that were bought in an app store, once the store confirms it.</summary>
        public Task<PurchaseProductReply> Buy(string store, string purchaseToken = null, string transaction = null, string transactionId = null, CallOptions options = null) {
            var given_ = new Json();
            given_.Add("store", store);
            if (purchaseToken != null) given_.Add("purchaseToken", purchaseToken);
            if (transaction != null) given_.Add("transaction", transaction);
            if (transactionId != null) given_.Add("transactionId", transactionId);
            return of.Call("purchases.buy", given_, options, json => new PurchaseProductReply(json));
        }

        /// <summary>The caller's purchases of coins, newest first.</summary>
        public Task<ListPurchasesReply> List(long? limit = null, string cursor = null, CallOptions options = null) {
            var given_ = new Json();
            if (limit != null) given_.Add("limit", limit.Value);
            if (cursor != null) given_.Add("cursor", cursor);
            return of.Call("purchases.list", given_, options, json => new ListPurchasesReply(json));
        }
    }

    public sealed class PairingCalls {
        readonly Calls of;

        internal PairingCalls(Calls of) {
            this.of = of;
        }

        /// <summary>Opens a pairing: a token for a website to show as a QR code and an app to claim.</summary>
        public Task<OpenPairingReply> Open(CallOptions options = null) {
            var given_ = new Json();
            return of.Call("pairing.open", given_, options, json => new OpenPairingReply(json));
        }

        /// <summary>Claims a pairing for the caller's account, so that the browser that opened it can sign in.</summary>
        public Task<ClaimPairingReply> Claim(string token, string step = null, string name = null, CallOptions options = null) {
            var given_ = new Json();
            given_.Add("token", token);
            if (step != null) given_.Add("step", step);
            if (name != null) given_.Add("name", name);
            return of.Call("pairing.claim", given_, options, json => new ClaimPairingReply(json));
        }

        /// <summary>Reads the status of a pairing. Once it is claimed, signs in the browser that opened it.</summary>
        public Task<GetPairingReply> Status(string token, long? wait = null, string since = null, string secret = null, CallOptions options = null) {
            var given_ = new Json();
            given_.Add("token", token);
            if (wait != null) given_.Add("wait", wait.Value);
            if (since != null) given_.Add("since", since);
            if (secret != null) given_.Add("secret", secret);
            return of.Call("pairing.status", given_, options, json => new GetPairingReply(json));
        }
    }

    public sealed class RoomsCalls {
        readonly Calls of;

        internal RoomsCalls(Calls of) {
            this.of = of;
        }

        /// <summary>Opens a room with the caller as host and first player.</summary>
        public Task<SeatedReply> Create(string name = null, long? minPlayers = null, Json state = null, string writers = null, Json tags = null, Json seatGraceSeconds = null, bool? startWhenFull = null, string game = null, long? maxPlayers = null, bool? @public = null, CallOptions options = null) {
            var given_ = new Json();
            if (name != null) given_.Add("name", name);
            if (minPlayers != null) given_.Add("minPlayers", minPlayers.Value);
            if (state != null) given_.Add("state", state);
            if (writers != null) given_.Add("writers", writers);
            if (tags != null) given_.Add("tags", tags);
            if (seatGraceSeconds != null) given_.Add("seatGraceSeconds", seatGraceSeconds);
            if (startWhenFull != null) given_.Add("startWhenFull", startWhenFull.Value);
            if (game != null) given_.Add("game", game);
            if (maxPlayers != null) given_.Add("maxPlayers", maxPlayers.Value);
            if (@public != null) given_.Add("public", @public.Value);
            return of.Call("rooms.create", given_, options, json => new SeatedReply(json));
        }

        /// <summary>The public rooms that can be joined, newest first.</summary>
        public Task<ListRoomsReply> List(string game = null, long? limit = null, string cursor = null, Json tags = null, CallOptions options = null) {
            var given_ = new Json();
            if (game != null) given_.Add("game", game);
            if (limit != null) given_.Add("limit", limit.Value);
            if (cursor != null) given_.Add("cursor", cursor);
            if (tags != null) given_.Add("tags", tags);
            return of.Call("rooms.list", given_, options, json => new ListRoomsReply(json));
        }

        /// <summary>A room's public state.</summary>
        public Task<RoomReply> Read(string code, long? since = null, long? wait = null, CallOptions options = null) {
            var given_ = new Json();
            given_.Add("code", code);
            if (since != null) given_.Add("since", since.Value);
            if (wait != null) given_.Add("wait", wait.Value);
            return of.Call("rooms.read", given_, options, json => new RoomReply(json));
        }

        /// <summary>Gives a player a ticket that proves the seat to the game's own server.</summary>
        public Task<RoomTicketReply> Ticket(string code, CallOptions options = null) {
            var given_ = new Json();
            given_.Add("code", code);
            return of.Call("rooms.ticket", given_, options, json => new RoomTicketReply(json));
        }

        /// <summary>Takes a seat in the lobby. A caller who joins again, in any phase, gets the same seat.</summary>
        public Task<SeatedReply> Join(string code, string name = null, CallOptions options = null) {
            var given_ = new Json();
            given_.Add("code", code);
            if (name != null) given_.Add("name", name);
            return of.Call("rooms.join", given_, options, json => new SeatedReply(json));
        }

        /// <summary>Gives up the seat, in any phase. If the host leaves, the player who has been seated longest becomes the host. When the last player leaves, the room ends.</summary>
        public Task<SeatedReply> Leave(string code, CallOptions options = null) {
            var given_ = new Json();
            given_.Add("code", code);
            return of.Call("rooms.leave", given_, options, json => new SeatedReply(json));
        }

        /// <summary>Tells the other players that the caller is ready.</summary>
        public Task<SeatedReply> Ready(string code, CallOptions options = null) {
            var given_ = new Json();
            given_.Add("code", code);
            return of.Call("rooms.ready", given_, options, json => new SeatedReply(json));
        }

        /// <summary>Tells the other players that the caller is not ready.</summary>
        public Task<SeatedReply> Unready(string code, CallOptions options = null) {
            var given_ = new Json();
            given_.Add("code", code);
            return of.Call("rooms.unready", given_, options, json => new SeatedReply(json));
        }

        /// <summary>The host moves the room from lobby to playing. A repeated call is answered with 200.</summary>
        public Task<SeatedReply> Start(string code, CallOptions options = null) {
            var given_ = new Json();
            given_.Add("code", code);
            return of.Call("rooms.start", given_, options, json => new SeatedReply(json));
        }

        /// <summary>The host ends the room, in any phase. A repeated call is answered with 200.</summary>
        public Task<SeatedReply> End(string code, CallOptions options = null) {
            var given_ = new Json();
            given_.Add("code", code);
            return of.Call("rooms.end", given_, options, json => new SeatedReply(json));
        }

        /// <summary>The host removes another player, who then cannot join again.</summary>
        public Task<SeatedReply> Kick(string code, string playerId, CallOptions options = null) {
            var given_ = new Json();
            given_.Add("code", code);
            given_.Add("playerId", playerId);
            return of.Call("rooms.kick", given_, options, json => new SeatedReply(json));
        }

        /// <summary>The host makes another player the host.</summary>
        public Task<SeatedReply> Transfer(string code, string playerId, CallOptions options = null) {
            var given_ = new Json();
            given_.Add("code", code);
            given_.Add("playerId", playerId);
            return of.Call("rooms.transfer", given_, options, json => new SeatedReply(json));
        }

        /// <summary>The host locks the room, which then refuses new players.</summary>
        public Task<SeatedReply> Lock(string code, CallOptions options = null) {
            var given_ = new Json();
            given_.Add("code", code);
            return of.Call("rooms.lock", given_, options, json => new SeatedReply(json));
        }

        /// <summary>The host unlocks the room, which then accepts new players again.</summary>
        public Task<SeatedReply> Unlock(string code, CallOptions options = null) {
            var given_ = new Json();
            given_.Add("code", code);
            return of.Call("rooms.unlock", given_, options, json => new SeatedReply(json));
        }

        /// <summary>The host changes the settings of the lobby.</summary>
        public Task<SeatedReply> Settings(string code, bool? @public = null, Json tags = null, long? minPlayers = null, long? maxPlayers = null, string writers = null, Json seatGraceSeconds = null, CallOptions options = null) {
            var given_ = new Json();
            given_.Add("code", code);
            if (@public != null) given_.Add("public", @public.Value);
            if (tags != null) given_.Add("tags", tags);
            if (minPlayers != null) given_.Add("minPlayers", minPlayers.Value);
            if (maxPlayers != null) given_.Add("maxPlayers", maxPlayers.Value);
            if (writers != null) given_.Add("writers", writers);
            if (seatGraceSeconds != null) given_.Add("seatGraceSeconds", seatGraceSeconds);
            return of.Call("rooms.settings", given_, options, json => new SeatedReply(json));
        }

        /// <summary>Replaces the game's public state, or merges into it.</summary>
        public Task<SeatedReply> State(string code, Json state = null, Json merge = null, long? ifStateSeq = null, CallOptions options = null) {
            var given_ = new Json();
            given_.Add("code", code);
            if (state != null) given_.Add("state", state);
            if (merge != null) given_.Add("merge", merge);
            if (ifStateSeq != null) given_.Add("ifStateSeq", ifStateSeq.Value);
            return of.Call("rooms.state", given_, options, json => new SeatedReply(json));
        }

        /// <summary>Sets the caller's own public data, or merges into it.</summary>
        public Task<SeatedReply> Data(string code, Json data = null, Json merge = null, CallOptions options = null) {
            var given_ = new Json();
            given_.Add("code", code);
            if (data != null) given_.Add("data", data);
            if (merge != null) given_.Add("merge", merge);
            return of.Call("rooms.data", given_, options, json => new SeatedReply(json));
        }

        /// <summary>The host gives players private parts, such as a hand of cards. No player sees the part of another.</summary>
        public Task<SeatedReply> Private(string code, Json seats, Json state = null, Json merge = null, long? ifStateSeq = null, CallOptions options = null) {
            var given_ = new Json();
            given_.Add("code", code);
            given_.Add("seats", seats);
            if (state != null) given_.Add("state", state);
            if (merge != null) given_.Add("merge", merge);
            if (ifStateSeq != null) given_.Add("ifStateSeq", ifStateSeq.Value);
            return of.Call("rooms.private", given_, options, json => new SeatedReply(json));
        }

        /// <summary>Sends a message to the channels of the room.</summary>
        public Task<SeatedReply> Message(string code, Json data, IEnumerable<string> to = null, CallOptions options = null) {
            var given_ = new Json();
            given_.Add("code", code);
            given_.Add("data", data);
            if (to != null) given_.Add("to", Json.ListOf(new List<string>(to).ConvertAll(each => (Json)each)));
            return of.Call("rooms.message", given_, options, json => new SeatedReply(json));
        }

        /// <summary>The host opens a lobby with the same game and settings, named by `nextCode`. Repeating it gives the same `nextCode`.</summary>
        public Task<SeatedReply> Rematch(string code, CallOptions options = null) {
            var given_ = new Json();
            given_.Add("code", code);
            return of.Call("rooms.rematch", given_, options, json => new SeatedReply(json));
        }
    }

    public abstract class SavesCalls {
        readonly Calls of;

        internal SavesCalls(Calls of) {
            this.of = of;
        }

        /// <summary>The saves of a player in a game, without their data.</summary>
        public Task<ListSavesReply> List(string game, CallOptions options = null) {
            var given_ = new Json();
            given_.Add("game", game);
            return of.Call("saves.list", given_, options, json => new ListSavesReply(json));
        }

        /// <summary>Deletes a save with all its versions.</summary>
        public Task<DeleteSaveReply> Delete(string game, string name, long? ifVersion = null, CallOptions options = null) {
            var given_ = new Json();
            given_.Add("game", game);
            given_.Add("name", name);
            if (ifVersion != null) given_.Add("ifVersion", ifVersion.Value);
            return of.Call("saves.delete", given_, options, json => new DeleteSaveReply(json));
        }
    }

    public sealed class TrialCalls {
        readonly Calls of;

        internal TrialCalls(Calls of) {
            this.of = of;
        }

        /// <summary>Starts a device's trial. Later calls only answer with its state.</summary>
        public Task<Trial> Touch(string deviceId, CallOptions options = null) {
            var given_ = new Json();
            given_.Add("deviceId", deviceId);
            return of.Call("trial.touch", given_, options, json => new Trial(json));
        }

        /// <summary>The state of a trial. The call does not start a trial.</summary>
        public Task<Trial> Current(string deviceId = null, CallOptions options = null) {
            var given_ = new Json();
            if (deviceId != null) given_.Add("deviceId", deviceId);
            return of.Call("trial.current", given_, options, json => new Trial(json));
        }

        /// <summary>Links the device's trial to the signed-in account.</summary>
        public Task<Trial> Link(CallOptions options = null) {
            var given_ = new Json();
            return of.Call("trial.link", given_, options, json => new Trial(json));
        }
    }

    public sealed class SubscriptionCalls {
        readonly Calls of;

        internal SubscriptionCalls(Calls of) {
            this.of = of;
        }

        /// <summary>Whether the caller's subscription gives access now, and the source of that state.</summary>
        public Task<Subscription> Current(CallOptions options = null) {
            var given_ = new Json();
            return of.Call("subscription.current", given_, options, json => new Subscription(json));
        }

        /// <summary>Records the app's report that its user subscribes or no longer subscribes.</summary>
        public Task<ReportSubscriptionReply> Report(bool subscribed, CallOptions options = null) {
            var given_ = new Json();
            given_.Add("subscribed", subscribed);
            return of.Call("subscription.report", given_, options, json => new ReportSubscriptionReply(json));
        }

        /// <summary>Records a subscription bought in the app store, once the app store confirms it.</summary>
        public Task<Subscription> Purchase(string store = null, string purchaseToken = null, string transaction = null, string transactionId = null, string packageName = null, CallOptions options = null) {
            var given_ = new Json();
            if (store != null) given_.Add("store", store);
            if (purchaseToken != null) given_.Add("purchaseToken", purchaseToken);
            if (transaction != null) given_.Add("transaction", transaction);
            if (transactionId != null) given_.Add("transactionId", transactionId);
            if (packageName != null) given_.Add("packageName", packageName);
            return of.Call("subscription.purchase", given_, options, json => new Subscription(json));
        }
    }

    public sealed class EntitlementCalls {
        readonly Calls of;

        internal EntitlementCalls(Calls of) {
            this.of = of;
        }

        /// <summary>The caller's access now, and when it ends.</summary>
        public Task<Entitlement> Current(string proof = null, CallOptions options = null) {
            var given_ = new Json();
            if (proof != null) given_.Add("proof", proof);
            return of.Call("entitlement.current", given_, options, json => new Entitlement(json));
        }

        /// <summary>Records the app's first run, once, on the server's clock.</summary>
        public Task<RecordFirstRunReply> FirstRun(CallOptions options = null) {
            var given_ = new Json();
            return of.Call("entitlement.firstRun", given_, options, json => new RecordFirstRunReply(json));
        }
    }

    public sealed class StoreCalls {
        readonly Calls of;

        internal StoreCalls(Calls of) {
            this.of = of;
        }

        /// <summary>Signs in with Google, Apple or another OpenID provider. The first sign-in creates the account.</summary>
        public Task<SignInWithStoreReply> Provision(string token, string nonce = null, bool? move = null, CallOptions options = null) {
            var given_ = new Json();
            given_.Add("token", token);
            if (nonce != null) given_.Add("nonce", nonce);
            if (move != null) given_.Add("move", move.Value);
            return of.Call("store.provision", given_, options, json => new SignInWithStoreReply(json));
        }

        /// <summary>Issues a nonce for one install proof.</summary>
        public Task<IssueNonceReply> Nonce(CallOptions options = null) {
            var given_ = new Json();
            return of.Call("store.nonce", given_, options, json => new IssueNonceReply(json));
        }

        /// <summary>Proves that an install of the app is genuine, with an integrity token made for a nonce.</summary>
        public Task<ProveInstallReply> Install(string nonce, string integrityToken, CallOptions options = null) {
            var given_ = new Json();
            given_.Add("nonce", nonce);
            given_.Add("integrityToken", integrityToken);
            return of.Call("store.install", given_, options, json => new ProveInstallReply(json));
        }
    }

    /// <summary>Every call, by feature.</summary>
    public abstract class Calls {
        public const string ApiVersion = "1";

        internal static readonly Dictionary<string, string> Routes = new Dictionary<string, string> {
            { "accounts.resolve", "POST /v1/account/resolve" },
            { "accounts.export", "GET /v1/account/export" },
            { "accounts.delete", "POST /v1/account/delete" },
            { "accounts.storeIds", "GET /v1/account/store-ids" },
            { "sessions.login", "POST /v1/login" },
            { "sessions.logout", "POST /v1/logout" },
            { "sessions.current", "GET /v1/session" },
            { "sessions.list", "GET /v1/sessions" },
            { "sessions.end", "POST /v1/sessions/end" },
            { "signIns.list", "GET /v1/account/sign-ins" },
            { "signIns.nonce", "POST /v1/account/sign-ins/nonce" },
            { "signIns.add", "!POST /v1/account/sign-ins" },
            { "signIns.remove", "POST /v1/account/sign-ins/remove" },
            { "coins.balance", "GET /v1/balance" },
            { "coins.credit", "POST /v1/coins/credit" },
            { "coins.purchase", "POST /v1/coins/purchase" },
            { "coins.debit", "POST /v1/coins/debit" },
            { "coins.history", "GET /v1/coins/history" },
            { "highscores.top", "GET /v1/highscores/{game}" },
            { "highscores.submit", "POST /v1/highscores/{game}" },
            { "highscores.entries", "GET /v1/highscores/{game}/entries" },
            { "highscores.around", "GET /v1/highscores/{game}/around" },
            { "catalogue.list", "GET /v1/catalogue" },
            { "products.list", "GET /v1/products" },
            { "purchases.buy", "POST /v1/purchases" },
            { "purchases.list", "GET /v1/purchases" },
            { "pairing.open", "POST /v1/pair/new" },
            { "pairing.claim", "POST /v1/pair/claim" },
            { "pairing.status", "GET /v1/pair/status" },
            { "rooms.create", "!POST /v1/rooms" },
            { "rooms.list", "GET /v1/rooms" },
            { "rooms.match", "POST /v1/rooms/match" },
            { "rooms.read", "GET /v1/rooms/{code}" },
            { "rooms.ticket", "POST /v1/rooms/{code}/ticket" },
            { "rooms.join", "POST /v1/rooms/{code}/join" },
            { "rooms.leave", "POST /v1/rooms/{code}/leave" },
            { "rooms.ready", "POST /v1/rooms/{code}/ready" },
            { "rooms.unready", "POST /v1/rooms/{code}/unready" },
            { "rooms.start", "POST /v1/rooms/{code}/start" },
            { "rooms.end", "POST /v1/rooms/{code}/end" },
            { "rooms.kick", "POST /v1/rooms/{code}/kick" },
            { "rooms.transfer", "POST /v1/rooms/{code}/transfer" },
            { "rooms.lock", "POST /v1/rooms/{code}/lock" },
            { "rooms.unlock", "POST /v1/rooms/{code}/unlock" },
            { "rooms.settings", "POST /v1/rooms/{code}/settings" },
            { "rooms.state", "POST /v1/rooms/{code}/state" },
            { "rooms.data", "POST /v1/rooms/{code}/data" },
            { "rooms.private", "POST /v1/rooms/{code}/private" },
            { "rooms.message", "!POST /v1/rooms/{code}/message" },
            { "rooms.rematch", "POST /v1/rooms/{code}/rematch" },
            { "saves.list", "GET /v1/saves/{game}" },
            { "saves.load", "GET /v1/saves/{game}/{name}" },
            { "saves.save", "POST /v1/saves/{game}/{name}" },
            { "saves.delete", "POST /v1/saves/{game}/{name}/delete" },
            { "trial.touch", "POST /v1/trial/touch" },
            { "trial.current", "GET /v1/trial/status" },
            { "trial.link", "POST /v1/trial/link" },
            { "subscription.current", "GET /v1/subscription" },
            { "subscription.report", "POST /v1/subscription/report" },
            { "subscription.purchase", "POST /v1/subscription/purchase" },
            { "entitlement.current", "GET /v1/entitlement" },
            { "entitlement.firstRun", "POST /v1/entitlement/first-run" },
            { "store.provision", "POST /v1/account/store-provision" },
            { "store.nonce", "GET /v1/account/store-install/nonce" },
            { "store.install", "!POST /v1/account/store-install" },
        };

        public readonly AccountsCalls Accounts;
        public readonly SessionsCalls Sessions;
        public readonly SignInsCalls SignIns;
        public readonly CoinsCalls Coins;
        public readonly HighscoresCalls Highscores;
        public readonly CatalogueCalls Catalogue;
        public readonly ProductsCalls Products;
        public readonly PurchasesCalls Purchases;
        public readonly PairingCalls Pairing;
        public readonly RoomsCalls Rooms;
        public readonly TrialCalls Trial;
        public readonly SubscriptionCalls Subscription;
        public readonly EntitlementCalls Entitlement;
        public readonly StoreCalls Store;

        protected Calls() {
            Accounts = new AccountsCalls(this);
            Sessions = new SessionsCalls(this);
            SignIns = new SignInsCalls(this);
            Coins = new CoinsCalls(this);
            Highscores = new HighscoresCalls(this);
            Catalogue = new CatalogueCalls(this);
            Products = new ProductsCalls(this);
            Purchases = new PurchasesCalls(this);
            Pairing = new PairingCalls(this);
            Rooms = new RoomsCalls(this);
            Trial = new TrialCalls(this);
            Subscription = new SubscriptionCalls(this);
            Entitlement = new EntitlementCalls(this);
            Store = new StoreCalls(this);
        }

        internal abstract Task<T> Call<T>(string name, Json given, CallOptions options, Func<Json, T> reply);
    }
}
