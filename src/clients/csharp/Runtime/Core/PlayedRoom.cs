using System;
using System.Collections.Generic;
using System.Threading;
using System.Threading.Tasks;

namespace Coinop {
    /// <summary>A message of a player or of a server in a room.</summary>
    public sealed class RoomMessage : View {
        internal RoomMessage(Json json) : base(json) { }

        /// <summary>Its number. All players get messages in the order of their numbers.</summary>
        public long N => Json["n"].Long;

        /// <summary>The player id of the sender, or `server`.</summary>
        public string From => Json["from"].Text;

        public Json Data => Json["data"];
    }

    /// <summary>
    /// A room in which the player acts. Acts are done in the order of the calls, each once, also over a lost connection. Each returns its result
    /// later, and is under way without being awaited.
    /// </summary>
    public sealed class PlayedRoom {
        /// <summary>The error codes after which a sign-in may give the caller the seat back, so the acts are kept.</summary>
        static readonly string[] Held = { "session_required", "sign_in_required" };
        const string NoSeat = "You have no seat in this room any more: the host removed you, you were away for too long, or you left elsewhere.";

        public readonly string Code;
        readonly Client client;
        readonly ActQueue queue;
        readonly Channel channel;
        readonly Watch watch;
        readonly HashSet<string> warned = new HashSet<string>();
        Action<PlayedRoom> onChange;
        Json confirmed;
        Room shown;
        string playerId;
        Json own = new Json();
        bool isTelling;
        bool isClosed;
        bool hasLeft;
        double? offsetMs;
        double roundTripMs = double.PositiveInfinity;

        internal PlayedRoom(Client client, string code) {
            this.client = client;
            Code = code;
            channel = new Channel(this);
            queue = new ActQueue(client.Loop, Changed, () => channel.Drop(), RefusedAct);
            watch = client.Follow(channel, OnState);
        }

        // What the game reads.

        /// <summary>Calls back after every change and every own act; a listener that is added later at once.</summary>
        public event Action<PlayedRoom> Change {
            add {
                onChange += value;
                if (Room != null) client.Tell(value, this);
            }
            remove { onChange -= value; }
        }

        /// <summary>Calls back with each message, the player's own too.</summary>
        public event Action<RoomMessage> Message;

        /// <summary>Calls back with the numbers, `from` and `to`, of the messages that this connection was too slow to receive.</summary>
        public event Action<Json> Missed;

        /// <summary>Calls back when an act is refused, with the error and the name of the act.</summary>
        public event Action<ErrorDetails, string> Refused;

        /// <summary>Calls back when the player has no seat, and when there is no such room.</summary>
        public event Action<ErrorDetails> Error;

        /// <summary>Calls back with each state of the connection.</summary>
        public event Action<WatchState> Connection;

        /// <summary>The room with the effect of own acts. Null before the first news.</summary>
        public Room Room {
            get {
                if (shown != null || confirmed == null) return shown;
                var state = confirmed["state"];
                var players = confirmed["players"];
                foreach (var act in queue.Echo()) {
                    var fields = act.Fields;
                    if (act.IsData) {
                        for (var at = 0; at < players.Count; at++)
                            if (IsMine(players[at])) players = players.WithItem(at, players[at].With("data", Patch.Applied(players[at]["data"], fields, "data")));
                    } else if (act.Action == "state" || fields.Has("state") || fields.Has("merge")) state = Patch.Applied(state, fields, "state");
                }
                return shown = new Room(confirmed.With("state", state).With("players", players));
            }
        }

        /// <summary>The room's state. Null (of JSON) before the first news.</summary>
        public Json State => Room == null ? Json.Null : Room.State;

        public IReadOnlyList<Player> Players => Room == null ? new Player[0] : Room.Players;

        /// <summary>The own player. Null without a seat.</summary>
        public Player Me {
            get {
                var mine = Mine(Room == null ? null : Room.Json);
                return mine == null ? null : new Player(mine.WithOf(own, "private"));
            }
        }

        /// <summary>What only this player sees. Null (of JSON) if the host has dealt nothing.</summary>
        public Json Private => own["private"];

        public WatchState ConnectionState => watch.State;

        /// <summary>The number of acts without an answer.</summary>
        public int Unanswered => queue.Count;

        /// <summary>Gives the code with which the room's watch ended.</summary>
        public Task<string> Ended => watch.Ended;

        /// <summary>The time by the clock of the service, in milliseconds since 1970.</summary>
        public double Now() => offsetMs.HasValue ? client.Loop.Now + offsetMs.Value : client.Loop.Clock.Wall();

        // What the game does.

        /// <summary>Writes the player's own public data.</summary>
        public Task<ActResult> Set(Json data) => queue.Add("data", new Json { { "data", data } });

        /// <summary>Merges a patch (RFC 7396) into the player's own public data.</summary>
        public Task<ActResult> Merge(Json patch) => queue.Add("data", new Json { { "merge", patch } });

        /// <summary>Writes the room's state. With `ifStateSeq` only if nobody was faster.</summary>
        public Task<ActResult> SetState(Json state, long? ifStateSeq = null) => queue.Add("state", If(ifStateSeq, new Json { { "state", state } }));

        /// <summary>Merges a patch (RFC 7396) into the room's state.</summary>
        public Task<ActResult> MergeState(Json patch, long? ifStateSeq = null) => queue.Add("state", If(ifStateSeq, new Json { { "merge", patch } }));

        /// <summary>
        /// Writes what only these players see (`seats`: player id → value), and with `state` or `merge` in `more` the room's state in the same step. Only
        /// the host may.
        /// </summary>
        public Task<ActResult> Deal(Json seats, Json more = null) => queue.Add("private", (more ?? new Json()).With("seats", seats));

        /// <summary>Sends a message to everybody, or to some player ids or `server`. `Away` of the result names those who miss it.</summary>
        public Task<ActResult> Send(Json data, params string[] to) {
            var fields = new Json { { "data", data } };
            if (to.Length > 0) fields.Add("to", Json.ListOf(Array.ConvertAll(to, id => (Json)id)));
            return queue.Add("message", fields);
        }

        /// <summary>Does an action of the lobby: `leave`, `ready`, `unready`, `start`, `end`, `kick`, `transfer`, `lock`, `settings`, `rematch` …</summary>
        public Task<ActResult> Act(string action, Json fields = null) => queue.Add(action, fields ?? new Json());

        /// <summary>Stops everything here, but keeps the seat. `Act("leave")` gives it up.</summary>
        public void Close() => watch.Close();

        static Json If(long? ifStateSeq, Json fields) => ifStateSeq.HasValue ? fields.With("ifStateSeq", ifStateSeq.Value) : fields;

        // What comes from the service.

        bool IsMine(Json player) => player["id"].Text == playerId;

        void Changed() {
            shown = null;
            if (isTelling) return;
            isTelling = true;
            client.Loop.Dispatcher.Post(() => {
                isTelling = false;
                if (Room != null && !isClosed) client.Tell(onChange, this);
            });
        }

        void RefusedAct(Json error, Act act) {
            if (isClosed) return;
            var warning = "The act " + act.Action + " was refused: " + error["message"].Text + " (" + error["code"].Text + ")";
            if (warned.Add(warning) && Refused == null) client.Warn(warning);
            client.Tell(Refused, new ErrorDetails(error), act.Action);
        }

        Json Mine(Json room) {
            foreach (var player in (room ?? Json.Null)["players"].Items)
                if (IsMine(player)) return player;
            return null;
        }

        string Seat() => confirmed != null && playerId != null ? confirmed["createdAt"].Text + " " + playerId : null;

        void Sits(Json you) {
            playerId = you["playerId"].Text;
            own = new Json().WithOf(you, "private");
            Changed();
        }

        void TakeRoom(Json room) {
            var wasSeated = Mine(confirmed) != null;
            confirmed = room;
            queue.Seen(room["seq"].Long);
            if (wasSeated && Mine(room) == null) {
                hasLeft = hasLeft || queue.Unanswered().Exists(act => act.Action == "leave");
                Refuse(Requests.Failure("not_in_room", NoSeat)["error"]);
            }
            Changed();
        }

        void Refuse(Json error) {
            if (Requests.Has(Held, error["code"].Text)) queue.Lost();
            else queue.Refuse(error);
            if (!hasLeft) client.Tell(Error, new ErrorDetails(error));
        }

        void NoteTime(double now, double sentAt) {
            var ms = client.Loop.Now - sentAt;
            // A faster exchange is more exact.
            if (ms > roundTripMs) return;
            roundTripMs = ms;
            offsetMs = now - sentAt - ms / 2;
        }

        /// <summary>Sends an act by HTTP: for a room that has ended, and on networks that block WebSockets.</summary>
        async Task Post(Act act) {
            var given = act.Fields.With("code", Code).With("order", act.Order).With("tab", queue.Tab);
            var route = "POST /v1/rooms/{code}/" + act.Action;
            var reply = await client.Once(route, given, client.Identity.Credential(), CancellationToken.None);
            var answer = new Json { { "order", act.Order } };
            if (!Requests.IsOk(reply)) {
                queue.Answered(answer.With("error", reply["error"]));
                return;
            }
            Sits(reply["you"]);
            if (watch.State.Status == "ended") TakeRoom(reply["room"]);
            queue.Answered(answer.With("seq", reply["room"]["seq"]).WithOf(reply, "replayed", "away"));
        }

        void Other(Json message) {
            switch (message["type"].Text) {
                case "pong": NoteTime(message["now"].Double, message["t"].Double); return;
                case "welcome":
                    hasLeft = false;
                    roundTripMs = double.PositiveInfinity;
                    if (message.Has("now")) NoteTime(message["now"].Double, channel.GreetedAt);
                    Sits(message["you"]);
                    queue.Open(channel.SendAct, false, Seat());
                    return;
                case "you": Sits(message); return;
                case "acted": queue.Answered(message); return;
                case "message": client.Tell(Message, new RoomMessage(message)); return;
                case "missed": client.Tell(Missed, message); return;
            }
            if (message.Has("error") && !Requests.IsTemporary(message["error"])) Refuse(message["error"]);
        }

        void OnState(WatchState state) {
            isClosed = state.Code == "closed";
            if (state.Code == "finished" || state.By == "poll") queue.Open(act => client.Loop.Spawn(() => Post(act)), true, Seat());
            else if (isClosed) queue.Refuse(Requests.Failure("aborted", "The game has closed the room.")["error"]);
            else if (state.Status == "ended") {
                var error = Requests.Failure("room_not_found", "This room does not exist.")["error"];
                queue.Refuse(error);
                if (!hasLeft && (state.Code == "gone" || state.Code == "room_not_found")) client.Tell(Error, new ErrorDetails(error));
            } else if (state.Status != "live") queue.Lost();
            client.Tell(Connection, state);
        }

        /// <summary>The channel of a played room.</summary>
        sealed class Channel : RoomChannel {
            readonly PlayedRoom of;
            Action<Json> send = message => { };
            internal Action Drop = () => { };
            internal double GreetedAt;
            string greeting;

            internal Channel(PlayedRoom of) : base(of.client, of.Code, of.TakeRoom) {
                this.of = of;
            }

            internal override void Other(Json message) => of.Other(message);

            internal override void Opened(Action<Json> sending, Action close) {
                send = sending;
                Drop = close;
                greeting = null;
            }

            internal override Json Hello() {
                var hello = Caller().With("tab", of.queue.Tab);
                var text = hello.ToString();
                if (greeting != null && greeting != text) {
                    // A connection belongs to one caller. The acts under way on it must not be sent as acts of another.
                    Drop();
                    return null;
                }
                of.queue.Refuse(null);
                GreetedAt = Client.Loop.Now;
                greeting = text;
                return hello;
            }

            internal void SendAct(Act act) {
                var message = act.Fields.With("type", "act").With("order", act.Order).With("action", act.Action);
                send(message.With("tab", of.queue.Tab));
            }
        }
    }
}
