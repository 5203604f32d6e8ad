using System;
using System.Threading;
using System.Threading.Tasks;

namespace Coinop {
    /// <summary>The player's balance and entitlement.</summary>
    public sealed class AccountNews : View {
        internal AccountNews(Json json) : base(json) { }

        /// <summary>Null while the account is not known.</summary>
        public string AccountId => Json["accountId"].Text;

        public long BalanceCoins => Json["balanceCoins"].Long;
        public long DebtCoins => Json["debtCoins"].Long;
        public Entitlement Entitlement => new Entitlement(Json["entitlement"]);
    }

    /// <summary>
    /// A board, or the open rooms. The service sends them whole, and without positions: each text that differs from the last one gets the next
    /// number.
    /// </summary>
    class WatchedList : Watched {
        /// <summary>Between two reads of what the service does not long-poll.</summary>
        const double PollMs = 4000;

        readonly string field;
        readonly string call;
        readonly Json given;
        readonly int most;
        readonly Action<Json> show;
        long now;
        string last = "";

        /// <summary>`field`: the one that each message with news has. `most`: the length of a whole list that is read in pages.</summary>
        internal WatchedList(Client client, string path, string field, string call, Json given, Action<Json> show, int most = 0) : base(client, path) {
            this.field = field;
            this.call = call;
            this.given = given;
            this.show = show;
            this.most = most;
        }

        protected virtual Task<Json> Read(CancellationToken stop) => Client.Once(Calls.Routes[call], given, new Json(), stop);

        /// <summary>What the game is shown of a message.</summary>
        protected virtual Json Shown(Json message) => new Json { { field, message[field] }, { "season", message["season"] } };

        string TextOf(Json message) => message.Has(field) && !message[field].IsNull ? Shown(message).ToString() : null;

        /// <summary>Whether the channel may have more than this reply.</summary>
        bool IsShort(Json reply) => !reply["nextCursor"].IsNull && reply[field].Count < most;

        internal override async Task<Json> Poll(int wait, long position, CancellationToken stop) {
            // The service answers these reads at once, so the client waits before them.
            if (wait > 0) {
                await Client.Loop.Sleep(PollMs, stop);
                if (stop.IsCancellationRequested) return Requests.Failure("aborted");
            }
            var before = now;
            var reply = await Read(stop);
            // The socket has brought news since.
            var isOld = now > before || (wait == 0 && before > 0 && IsShort(reply));
            return Requests.IsOk(reply) && isOld ? new Json { { "ok", true } } : reply;
        }

        internal override long? PositionOf(Json message) {
            var text = TextOf(message);
            return text == null ? (long?)null : text == last ? now : now + 1;
        }

        internal override Task<bool> Deliver(Json message) {
            last = TextOf(message);
            now++;
            show(Shown(message));
            return Task.FromResult(false);
        }
    }

    /// <summary>The caller's account.</summary>
    sealed class WatchedAccount : WatchedList {
        const int NextCallerMs = 3000;
        string accountId;
        string greeted;
        string before;
        double greetedAt;
        bool isNew = true;

        internal WatchedAccount(Client client, Action<Json> show) : base(client, "/v1/account/live", "entitlement", null, null, show) { }

        protected override async Task<Json> Read(CancellationToken stop) {
            var by = Client.Identity.Credential();
            var balance = await Client.Once(Calls.Routes["coins.balance"], new Json(), by, stop);
            if (!Requests.IsOk(balance)) return balance;
            var reply = await Client.Once(Calls.Routes["entitlement.current"], new Json(), by, stop);
            return Requests.IsOk(reply) ? balance.With("entitlement", new Json().WithOf(reply, "state", "access", "expiresAt")) : reply;
        }

        protected override Json Shown(Json message) {
            accountId = message["accountId"].Text ?? accountId;
            var shown = message.Without("type", "ok", "version", "requestId");
            return accountId == null ? shown : shown.With("accountId", accountId);
        }

        internal override void Opened(Action<Json> send, Action close) => isNew = true;

        internal override Json Hello() {
            var hello = Caller();
            var text = hello.ToString();
            if (text != greeted) {
                accountId = null;
                before = isNew ? null : greeted;
                greetedAt = Client.Loop.Now;
            }
            isNew = false;
            greeted = text;
            return hello;
        }

        internal override async Task<bool> GoesOn() {
            // The service may have closed the connection of the former caller before it got the hello of the present one.
            var isRecent = Client.Loop.Now - greetedAt < NextCallerMs;
            var lost = before != null && isRecent ? before : greeted;
            before = null;
            for (var left = NextCallerMs / 100; left > 0; left--) {
                if (Caller().ToString() != lost) return true;
                await Client.Loop.Sleep(100);
            }
            return false;
        }
    }

    /// <summary>A pairing. With `claimed` the client has the session.</summary>
    sealed class WatchedPairing : Watched {
        readonly Json pairing;
        readonly Action<Json> show;
        string since;

        internal WatchedPairing(Client client, string token, string secret, Action<Json> show)
            : base(client, "/v1/pair/live?token=" + Requests.Component(token)) {
            pairing = new Json { { "token", token }, { "secret", secret } };
            this.show = show;
        }

        Task<Json> Status(Json more, CancellationToken stop, double ms) {
            return Client.CallRaw("pairing.status", pairing.WithOf(more, "wait", "since"), new CallOptions { TimeoutMs = ms, Stop = stop });
        }

        internal override Task<Json> Poll(int wait, long position, CancellationToken stop) {
            return Status(wait > 0 ? new Json { { "wait", wait }, { "since", since } } : new Json(), stop, 30000);
        }

        internal override long? PositionOf(Json message) {
            var status = message["status"].Text;
            return status == null ? (long?)null : status == "pending" ? 1 : status == "scanned" ? 2 : 3;
        }

        internal override async Task<bool> Deliver(Json message) {
            since = message["status"].Text;
            // The channel brings only the status. A read gives the session, which the service keeps for ten minutes.
            var isClaimed = message.Has("type") && since == "claimed";
            var reply = isClaimed ? await Status(new Json(), Client.Closed, 600000) : message;
            show(new Json { { "status", since } }.WithOf(reply, "claimedBy"));
            return PositionOf(message) == 3;
        }
    }

    /// <summary>The channel of a room: what a watch and a player read of it in the same way.</summary>
    abstract class RoomChannel : Watched {
        readonly string code;
        readonly Action<Json> show;

        protected RoomChannel(Client client, string code, Action<Json> show) : base(client, "/v1/rooms/" + Requests.Component(code) + "/live") {
            this.code = code;
            this.show = show;
        }

        internal override bool Patches => true;

        internal override Task<Json> Poll(int wait, long position, CancellationToken stop) {
            var given = new Json { { "code", code } };
            if (wait > 0) given = given.With("since", position).With("wait", wait);
            return Client.Once(Calls.Routes["rooms.read"], given, new Json(), stop, wait * 1000 + Requests.TryMs);
        }

        internal override long? PositionOf(Json message) {
            var room = message["room"];
            if (room.Kind != JsonKind.Object) return null;
            if (!room.Has("seq")) throw new FormatException("A room without seq");
            return room["seq"].Long;
        }

        internal override Task<bool> Deliver(Json message) {
            show(message["room"]);
            return Task.FromResult(message["room"]["phase"].Text == "ended");
        }
    }

    /// <summary>A room, as a spectator or a player who only watches sees it.</summary>
    sealed class WatchedRoom : RoomChannel {
        readonly bool greets;
        readonly Action<Json> onYou;
        readonly Action<Json> onError;

        internal WatchedRoom(Client client, string code, bool greets, Action<Json> show, Action<Json> onYou, Action<Json> onError)
            : base(client, code, show) {
            this.greets = greets;
            this.onYou = onYou;
            this.onError = onError;
        }

        internal override void Other(Json message) {
            if (message.Has("error")) onError(message["error"]);
            else if (message.Has("you")) onYou(message["you"]);
        }

        internal override Json Hello() => greets ? Caller() : null;
    }
}
