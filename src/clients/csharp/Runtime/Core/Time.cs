using System;
using System.Collections.Generic;
using System.Threading;
using System.Threading.Tasks;

namespace Coinop {
    /// <summary>The clocks of the machine, in milliseconds. A test gives its own, so that a wait of a day takes no time.</summary>
    public interface IClock {
        /// <summary>A time that only rises, and that no change of the wall clock moves.</summary>
        double Now();

        /// <summary>Milliseconds since 1970, as the device believes.</summary>
        double Wall();

        /// <summary>Calls back once, on the main thread, unless the result is disposed before.</summary>
        IDisposable Later(double ms, Action run);
    }

    /// <summary>
    /// The thread on which a client works and calls back: the one that makes this object. The game calls <c>Pump</c> on it, once a frame. A
    /// program without frames begins with <c>Dispatcher.Run</c>.
    /// </summary>
    public sealed class Dispatcher : SynchronizationContext, IClock {
        /// <summary>Milliseconds after which <c>Pump</c> begins nothing new.</summary>
        const double MostMs = 50;
        static readonly DateTime Epoch = new DateTime(1970, 1, 1, 0, 0, 0, DateTimeKind.Utc);
        readonly object gate = new object();
        readonly System.Diagnostics.Stopwatch watch = System.Diagnostics.Stopwatch.StartNew();
        readonly int thread = Thread.CurrentThread.ManagedThreadId;
        readonly List<Timer> timers = new List<Timer>();
        Queue<Action> waiting = new Queue<Action>();

        /// <summary>Gets what a function of the game throws, which must not stop the client.</summary>
        public Action<Exception> OnException = error => Console.Error.WriteLine(error);

        sealed class Timer : IDisposable {
            internal double Due;
            internal Action Run;
            internal List<Timer> Of;

            public void Dispose() => Of.Remove(this);
        }

        internal bool IsHere => Thread.CurrentThread.ManagedThreadId == thread;

        public double Now() => watch.Elapsed.TotalMilliseconds;

        public double Wall() => (DateTime.UtcNow - Epoch).TotalMilliseconds;

        public IDisposable Later(double ms, Action run) {
            var timer = new Timer { Due = Now() + Math.Max(0, ms), Run = run, Of = timers };
            timers.Add(timer);
            return timer;
        }

        /// <summary>Calls back in the next turn, on the main thread. Any thread may call it.</summary>
        public void Post(Action run) {
            lock (gate) {
                waiting.Enqueue(run);
                Monitor.Pulse(gate);
            }
        }

        public override void Post(SendOrPostCallback run, object state) => Post(() => run(state));

        public override void Send(SendOrPostCallback run, object state) {
            if (!IsHere) throw new NotSupportedException("Another thread may only post.");
            run(state);
        }

        public override SynchronizationContext CreateCopy() => this;

        /// <summary>Does all that there is to do now: timers that are due, and answers that came.</summary>
        public void Pump() {
            if (!IsHere) throw new InvalidOperationException("Pump on the thread that made the dispatcher.");
            Within(() => {
                // A timer that is set meanwhile fires in a later frame.
                var now = Now();
                for (var due = Next(); due != null && due.Due <= now; due = Next()) {
                    due.Dispose();
                    Guard(due.Run);
                }
                Queue<Action> turn;
                do {
                    turn = Taken();
                    foreach (var run in turn) Guard(run);
                    // A flood of messages must not stop the game. The rest is for the next frame.
                } while (turn.Count > 0 && Now() - now < MostMs);
                return true;
            });
        }

        Timer Next() {
            Timer first = null;
            foreach (var timer in timers)
                if (first == null || timer.Due < first.Due) first = timer;
            return first;
        }

        Queue<Action> Taken() {
            lock (gate) {
                var taken = waiting;
                waiting = new Queue<Action>();
                return taken;
            }
        }

        internal void Guard(Action run) {
            try {
                run();
            } catch (Exception error) {
                Report(error);
            }
        }

        internal void Report(Exception error) {
            if (OnException != null && error != null) OnException(error);
        }

        /// <summary>Runs with this context, so that what is awaited goes on in <c>Pump</c>.</summary>
        T Within<T>(Func<T> run) {
            var before = Current;
            SetSynchronizationContext(this);
            try {
                return run();
            } finally {
                SetSynchronizationContext(before);
            }
        }

        /// <summary>Starts work on the main thread, from any thread.</summary>
        internal Task<T> Start<T>(Func<Task<T>> work) {
            if (IsHere) return Within(work);
            var done = new TaskCompletionSource<T>();
            Post(async () => {
                try {
                    done.TrySetResult(await work());
                } catch (Exception error) {
                    done.TrySetException(error);
                }
            });
            return done.Task;
        }

        /// <summary>Runs a program that has no frames, until its work is done.</summary>
        public static void Run(Func<Task> work) {
            var dispatcher = new Dispatcher();
            var done = dispatcher.Within(work);
            done.ContinueWith(_ => dispatcher.Post(() => { }), TaskScheduler.Default);
            while (!done.IsCompleted) {
                dispatcher.Pump();
                lock (dispatcher.gate) {
                    var next = dispatcher.Next();
                    if (dispatcher.waiting.Count > 0 || done.IsCompleted) continue;
                    Monitor.Wait(dispatcher.gate, next == null ? 1000 : (int)Math.Max(0, Math.Min(1000, Math.Ceiling(next.Due - dispatcher.Now()))));
                }
            }
            done.GetAwaiter().GetResult();
        }
    }

    /// <summary>A result that comes once. Who awaits it goes on in a later turn, and never within the work that settles it.</summary>
    sealed class Promise<T> {
        readonly Dispatcher dispatcher;
        readonly TaskCompletionSource<T> source = new TaskCompletionSource<T>();

        internal Promise(Dispatcher dispatcher) {
            this.dispatcher = dispatcher;
        }

        internal Task<T> Task => source.Task;
        internal bool IsSettled { get; private set; }

        internal void Settle(T value) {
            if (IsSettled) return;
            IsSettled = true;
            dispatcher.Post(() => source.TrySetResult(value));
        }
    }

    /// <summary>Waits, and work that is limited by time and by what stops it.</summary>
    sealed class Loop {
        internal readonly Dispatcher Dispatcher;
        internal readonly IClock Clock;

        internal Loop(Dispatcher dispatcher, IClock clock) {
            Dispatcher = dispatcher;
            Clock = clock ?? dispatcher;
        }

        internal double Now => Clock.Now();

        /// <summary>Starts work in the next turn that nobody awaits.</summary>
        internal void Spawn(Func<Task> work) {
            Dispatcher.Post(() => work().ContinueWith(done => Dispatcher.Report(done.Exception), TaskContinuationOptions.ExecuteSynchronously));
        }

        /// <summary>Runs work with a token that stops it after <c>ms</c>, or when one of the given tokens does.</summary>
        internal async Task<T> Within<T>(double ms, CancellationToken[] stops, Func<CancellationToken, Task<T>> work) {
            using (var whole = stops.Length == 0 ? new CancellationTokenSource() : CancellationTokenSource.CreateLinkedTokenSource(stops))
            using (Clock.Later(ms, whole.Cancel)) return await work(whole.Token);
        }

        /// <summary>The result of work, or null if it was stopped: after <c>ms</c>, or by one of the given tokens.</summary>
        internal Task<T> Limited<T>(double ms, CancellationToken[] stops, Func<CancellationToken, Task<T>> start) where T : class {
            return Within(ms, stops, async whole => {
                if (whole.IsCancellationRequested) return null;
                var work = start(whole);
                if (await Task.WhenAny(work, Stopped(whole)) != work) return null;
                try {
                    return await work;
                } catch (Exception) {
                    if (whole.IsCancellationRequested) return null;
                    throw;
                }
            });
        }

        /// <summary>Whether work that goes on is done within <c>ms</c>, and before one of the given tokens stops the wait.</summary>
        internal Task<bool> IsDone(double ms, Task work, params CancellationToken[] stops) {
            return Within(ms, stops, async whole => !whole.IsCancellationRequested && await Task.WhenAny(work, Stopped(whole)) == work);
        }

        /// <summary>Waits for <c>ms</c>, or until one of the tokens stops it.</summary>
        internal Task Sleep(double ms, params CancellationToken[] stops) => Within(ms, stops, Stopped);

        Task<bool> Stopped(CancellationToken whole) {
            var stopped = new Promise<bool>(Dispatcher);
            whole.Register(() => stopped.Settle(true));
            return stopped.Task;
        }
    }
}
