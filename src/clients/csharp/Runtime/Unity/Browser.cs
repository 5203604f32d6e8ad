#if UNITY_WEBGL && !UNITY_EDITOR
using System;
using System.Collections.Generic;
using System.IO;
using System.Runtime.InteropServices;
using System.Threading;
using System.Threading.Tasks;

namespace Coinop.Unity {
    /// <summary>The WebSocket of the browser, by coinop.jslib. The client asks it once a frame for its news.</summary>
    sealed class BrowserSocket : ISocket {
        const int Opening = 0;
        const int Opened = 1;
        const double FrameMs = 1;

        [DllImport("__Internal")]
        static extern int CoinopSocketOpen(string url);

        [DllImport("__Internal")]
        static extern int CoinopSocketState(int id);

        [DllImport("__Internal")]
        static extern int CoinopSocketCode(int id);

        [DllImport("__Internal")]
        static extern string CoinopSocketNext(int id);

        [DllImport("__Internal")]
        static extern void CoinopSocketSend(int id, string text);

        [DllImport("__Internal")]
        static extern void CoinopSocketClose(int id);

        readonly Dispatcher dispatcher;
        readonly int id;
        bool isClosed;

        BrowserSocket(Dispatcher dispatcher, int id) {
            this.dispatcher = dispatcher;
            this.id = id;
        }

        internal static async Task<ISocket> Open(Dispatcher dispatcher, string url, CancellationToken stop) {
            var socket = new BrowserSocket(dispatcher, CoinopSocketOpen(url));
            while (CoinopSocketState(socket.id) == Opening && !stop.IsCancellationRequested) await socket.Frame();
            if (CoinopSocketState(socket.id) == Opened && !stop.IsCancellationRequested) return socket;
            socket.Close();
            throw new IOException("The WebSocket did not open.");
        }

        Task Frame() {
            var done = new TaskCompletionSource<bool>();
            dispatcher.Later(FrameMs, () => done.TrySetResult(true));
            return done.Task;
        }

        public int CloseCode { get; private set; } = 1006;

        public void Send(string text) {
            if (!isClosed) CoinopSocketSend(id, text);
        }

        public async Task<string> Receive() {
            while (!isClosed) {
                var text = CoinopSocketNext(id);
                if (text != null) return text;
                if (CoinopSocketState(id) != Opened) {
                    CloseCode = CoinopSocketCode(id);
                    break;
                }
                await Frame();
            }
            Close();
            return null;
        }

        public void Close() {
            if (isClosed) return;
            isClosed = true;
            CoinopSocketClose(id);
        }
    }

    /// <summary>The localStorage of the browser, by coinop.jslib: what is written is kept also if the page is closed at once.</summary>
    sealed class BrowserStore : IStore {
        [DllImport("__Internal")]
        static extern string CoinopStoreGet(string key);

        [DllImport("__Internal")]
        static extern int CoinopStoreSet(string key, string value);

        [DllImport("__Internal")]
        static extern int CoinopStoreRemove(string key);

        [DllImport("__Internal")]
        static extern string CoinopStoreKeys();

        static void Need(bool holds) {
            if (!holds) throw new IOException("The browser keeps nothing for this page.");
        }

        public string Get(string key) {
            // The value comes within JSON: null is no value, and no text at all is a browser that refuses.
            var found = CoinopStoreGet(key);
            Need(found != null);
            return Json.Parse(found).Text;
        }

        public void Set(string key, string value) => Need(CoinopStoreSet(key, value) == 1);

        public void Remove(string key) => Need(CoinopStoreRemove(key) == 1);

        public ICollection<string> Keys() {
            var found = CoinopStoreKeys();
            Need(found != null);
            var keys = new List<string>();
            foreach (var key in Json.Parse(found).Items) keys.Add(key.Text);
            return keys;
        }
    }
}
#endif
