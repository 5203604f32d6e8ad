using System;
using System.Collections.Generic;
using System.Threading.Tasks;

namespace Coinop {
    /// <summary>The result of an act: the `seq` of the room after it, or an error.</summary>
    public sealed class ActResult : Reply {
        public ActResult(Json json) : base(json) { }

        public long Seq => Json["seq"].Long;

        /// <summary>Whether the service had done the act before, and its answer was lost.</summary>
        public bool Replayed => Json["replayed"].Bool;

        /// <summary>The player ids of those who miss a message, because they are away.</summary>
        public IReadOnlyList<string> Away => ListOf(Json["away"], id => id.Text);
    }

    sealed class Act {
        internal readonly string Action;
        internal Json Fields;

        /// <summary>Its number in the tab. 0 before it is sent.</summary>
        internal long Order;
        internal string Seat;

        /// <summary>The `seq` of the room after the act.</summary>
        internal long Seq;
        internal bool IsUnclear;
        internal readonly List<Promise<ActResult>> Done = new List<Promise<ActResult>>();

        internal Act(string action, Json fields) {
            Action = action;
            Fields = fields;
        }

        internal bool IsData => Action == "data";
    }

    /// <summary>
    /// The acts of one player in one room. The service does them in the order of the calls, each once.
    ///
    /// The service does an act if its order is above the last order of its tab, and takes any other for a repetition. So mostly only one act is
    /// under way, and is sent again under its order until it is answered. Two kinds are sent without waiting: changes of the player's own data,
    /// and messages. A change of own data then also holds the unanswered changes before it, so the last one has all, whichever of them the
    /// service does. If the service refuses a message for now and has done a later act meanwhile, the message gets a new order before it is
    /// sent again.
    /// </summary>
    sealed class ActQueue {
        const int MostActs = 256;
        const int MostSent = 16;

        /// <summary>Milliseconds without an answer after which a new connection may help. The service answers each act within 3 s.</summary>
        const double SilenceMs = 4500;

        /// <summary>Allows a rate and a burst by the generic cell rate algorithm, as the service does.</summary>
        sealed class Bucket {
            readonly Loop loop;
            readonly double interval;
            readonly int atOnce;
            double paidUntil;

            internal Bucket(Loop loop, double perSecond, int atOnce) {
                this.loop = loop;
                this.atOnce = atOnce;
                interval = 1000 / perSecond;
            }

            internal double WaitMs => paidUntil - loop.Now - interval * (atOnce - 1);

            internal void Take() => paidUntil = Math.Max(paidUntil, loop.Now) + interval;
        }

        internal readonly string Tab = Randoms.Text(16);
        readonly Loop loop;
        readonly Action changed;
        readonly Action stuck;
        readonly Action<Json, Act> refused;

        // Below the limits of a seat: 30 acts a second and 60 at once, of which 20 and 40 may be messages.
        readonly Bucket acts;
        readonly Bucket messages;
        List<Act> waiting = new List<Act>();
        List<Act> sent = new List<Act>();

        /// <summary>Acts that were refused for now while later ones were under way.</summary>
        List<Act> again = new List<Act>();

        /// <summary>Acts that the service has done, but whose effect is not yet in the room.</summary>
        readonly List<Act> shown = new List<Act>();
        long nextOrder = 1;
        long lastDone;
        long lastData;
        long roomSeq;
        Action<Act> line;
        bool isHttp;
        string seat;
        Json refusal;
        int tries;
        double pausedUntil;
        IDisposable pausing;
        IDisposable listening;

        internal ActQueue(Loop loop, Action changed, Action stuck, Action<Json, Act> refused) {
            this.loop = loop;
            this.changed = changed;
            this.stuck = stuck;
            this.refused = refused;
            acts = new Bucket(loop, 25, 30);
            messages = new Bucket(loop, 16, 20);
        }

        static ActResult Done(long seq) => new ActResult(new Json { { "ok", true }, { "seq", seq } });

        void Settle(Act act, ActResult result) {
            if (!result.Ok) refused(result.Json["error"], act);
            foreach (var done in act.Done) done.Settle(result);
        }

        void Settle(Act act, Json failure) => Settle(act, new ActResult(failure));

        /// <summary>The fields with which an act can be sent while others have no answer. Null: it has to wait.</summary>
        Json Following(Act act) {
            if (isHttp || !IsQuick(act) || !sent.TrueForAll(IsQuick)) return null;
            var before = act.IsData ? sent.FindLast(each => each.IsData) : null;
            return before == null ? act.Fields : Patch.Combined(before.Fields, act.Fields, "data");
        }

        static bool IsQuick(Act act) => act.IsData || act.Action == "message";

        void Listen() {
            listening?.Dispose();
            if (sent.Count > 0 && !isHttp) listening = loop.Clock.Later(SilenceMs, stuck);
        }

        double WaitMs(Act act) {
            var pause = pausedUntil - loop.Now;
            if (pause > 0) return pause;
            var isMessage = act.Action == "message";
            var wait = isMessage ? Math.Max(acts.WaitMs, messages.WaitMs) : acts.WaitMs;
            if (wait > 0) return wait;
            acts.Take();
            if (isMessage) messages.Take();
            return 0;
        }

        void Pump() {
            pausing?.Dispose();
            while (line != null && waiting.Count > 0 && again.Count == 0 && sent.Count < MostSent) {
                var act = waiting[0];
                var fields = sent.Count > 0 ? Following(act) : act.Fields;
                if (fields == null) return;
                var wait = WaitMs(act);
                if (wait > 0) {
                    pausing = loop.Clock.Later(wait, Pump);
                    return;
                }
                waiting.RemoveAt(0);
                act.Fields = fields;
                if (act.Order == 0) act.Order = nextOrder++;
                sent.Add(act);
                Listen();
                line(act);
            }
        }

        /// <summary>The acts in their order: those without one come last, in the order of the list.</summary>
        static List<Act> Sorted(params List<Act>[] lists) {
            var all = new List<Act>();
            foreach (var list in lists) {
                foreach (var act in list) {
                    // List.Sort would not keep acts without an order in their places.
                    var at = act.Order == 0 ? all.Count : all.FindIndex(other => other.Order == 0 || other.Order > act.Order);
                    all.Insert(at < 0 ? all.Count : at, act);
                }
            }
            return all;
        }

        internal List<Act> Unanswered() => Sorted(sent, again, waiting);

        internal int Count => sent.Count + again.Count + waiting.Count;

        /// <summary>The acts whose effect is shown although the room from the service does not have it yet, in their order.</summary>
        internal List<Act> Echo() {
            var echo = new List<Act>(shown);
            echo.AddRange(Unanswered());
            return echo;
        }

        /// <summary>Puts refused acts back. If a later one was done in the meantime, they get new orders.</summary>
        void Requeue() {
            var isLate = again.Exists(act => act.Order < lastDone);
            var back = again;
            again = new List<Act>();
            var staying = new List<Act>();
            foreach (var act in back) {
                // The service may have sent this message already, and must not send it twice.
                if (isLate && act.IsUnclear && act.Action == "message") {
                    Settle(act, Requests.Failure("store_unavailable"));
                    continue;
                }
                if (isLate) act.Order = 0;
                staying.Add(act);
            }
            // Those without an order come before the acts that were never sent.
            waiting = Sorted(staying, waiting);
        }

        void Postpone(Act act, Json error) {
            pausedUntil = loop.Now + Requests.Backoff(tries++, error);
            act.IsUnclear = act.IsUnclear || error["outcome"].Text == "unknown";
            var later = act.IsData ? Unanswered().Find(each => each.IsData && each.Order > act.Order) : null;
            // A later one holds the changes of the refused act, which need not be sent again.
            if (later != null) later.Done.AddRange(act.Done);
            else if (act.IsData && lastData > act.Order) Settle(act, Done(roomSeq));
            else again.Add(act);
        }

        /// <summary>Notes that there is no connection. Acts without an answer are sent again by the next one.</summary>
        internal void Lost() {
            line = null;
            sent.AddRange(waiting);
            waiting = sent;
            sent = new List<Act>();
            Requeue();
            Listen();
        }

        /// <summary>Adds an act, from any thread.</summary>
        internal Task<ActResult> Add(string action, Json given) => loop.Dispatcher.Start(() => AddHere(action, given));

        /// <summary>Adds an act, or merges it into one of the same kind that waits.</summary>
        Task<ActResult> AddHere(string action, Json given) {
            // A copy, because the game may change its object before the act is sent. It throws for what is no JSON.
            var fields = Json.Parse(given.ToString());
            if (refusal != null) return Task.FromResult(new ActResult(Requests.Failure(refusal)));
            var done = new Promise<ActResult>(loop.Dispatcher);
            var last = waiting.Count > 0 ? waiting[waiting.Count - 1] : null;
            var mayJoin = last != null && (action == "data" || action == "state") && last.Action == action && last.Order == 0;
            var both = mayJoin && !last.Fields.Has("ifStateSeq") && !fields.Has("ifStateSeq") ? Patch.Combined(last.Fields, fields, action) : null;
            if (both != null) {
                last.Fields = both;
                last.Done.Add(done);
            } else if (Count >= MostActs) {
                return Task.FromResult(new ActResult(Requests.Failure("queue_full", MostActs + " acts wait already.")));
            } else {
                var act = new Act(action, fields) { Seat = seat };
                act.Done.Add(done);
                waiting.Add(act);
            }
            changed();
            Pump();
            return done.Task;
        }

        internal void Answered(Json answer) {
            var order = answer["order"].Long;
            var act = sent.Find(each => each.Order == order);
            if (act == null) return;
            var error = answer.Has("error") ? answer["error"] : null;
            sent.Remove(act);
            Listen();
            if (error == null || HasLeft(act, error)) {
                tries = 0;
                lastDone = Math.Max(lastDone, order);
                if (act.IsData) lastData = Math.Max(lastData, order);
                act.Seq = answer.Has("seq") ? answer["seq"].Long : roomSeq;
                if (act.Seq > roomSeq) shown.Add(act);
                Settle(act, Done(act.Seq).Json.WithOf(answer, "replayed", "away"));
            } else if (Requests.IsTemporary(error) && error["code"].Text != "internal") Postpone(act, error);
            else Settle(act, Requests.Failure(error));
            if (sent.Count == 0) Requeue();
            changed();
            Pump();
        }

        /// <summary>Notes that the client has the room of this `seq`.</summary>
        internal void Seen(long seq) {
            // The service has lost changes, and so the effects of acts that it had done.
            if (seq < roomSeq) shown.Clear();
            roomSeq = seq;
            shown.RemoveAll(act => act.Seq <= seq);
        }

        /// <summary>Takes an open connection for a seat.</summary>
        internal void Open(Action<Act> to, bool byHttp, string of) {
            if (line != null) Lost();
            refusal = null;
            line = to;
            isHttp = byHttp;
            seat = of ?? seat;
            var foreign = waiting.FindAll(act => act.Seat != null && seat != null && act.Seat != seat);
            waiting.RemoveAll(foreign.Contains);
            foreach (var act in foreign) Settle(act, Requests.Failure("not_in_room", "It was made for another seat."));
            foreach (var act in waiting) act.Seat = seat;
            if (foreign.Count > 0) changed();
            Pump();
        }

        /// <summary>Notes that the service refuses all acts of this caller. Null: it accepts them again.</summary>
        internal void Refuse(Json error) {
            refusal = error;
            if (error == null) return;
            Lost();
            var refusedActs = waiting;
            waiting = new List<Act>();
            foreach (var act in refusedActs) Settle(act, HasLeft(act, error) ? Done(roomSeq) : new ActResult(Requests.Failure(error)));
            pausing?.Dispose();
            changed();
        }

        /// <summary>A repeated `leave` is refused with `not_in_room` if the first one was done and its answer was lost.</summary>
        static bool HasLeft(Act act, Json error) => act.Action == "leave" && error["code"].Text == "not_in_room";
    }
}
