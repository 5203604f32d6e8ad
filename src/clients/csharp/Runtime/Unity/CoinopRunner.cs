using UnityEngine;

namespace Coinop.Unity {
    /// <summary>Runs a client in a game of Unity: an object that lives over scenes, and calls the client once a frame.</summary>
    public sealed class CoinopRunner : MonoBehaviour {
        Client client;

        /// <summary>
        /// Makes a client whose install, session and unfinished operations are kept on the device. Call it on the main thread. What the
        /// options leave out is that of Unity.
        /// </summary>
        public static Client Create(string url, ClientOptions options = null) {
            options = options ?? new ClientOptions();
            var dispatcher = options.Dispatcher ?? new Dispatcher();
            dispatcher.OnException = Debug.LogException;
            options.Dispatcher = dispatcher;
            if (options.OnWarning == null) options.OnWarning = Debug.LogWarning;
            if (options.Store == null) options.Store = DeviceStore();
            if (options.Transport == null) options.Transport = new UnityTransport(dispatcher);
            var client = new Client(url, options);
            var runner = new GameObject("coinop").AddComponent<CoinopRunner>();
            runner.client = client;
            DontDestroyOnLoad(runner.gameObject);
            return client;
        }

        static IStore DeviceStore() {
#if UNITY_WEBGL && !UNITY_EDITOR
            return new BrowserStore();
#else
            return new FileStore(Application.persistentDataPath + "/coinop");
#endif
        }

        void Update() {
            client.Update();
        }

        /// <summary>A player who comes back may have another network, and does not wait.</summary>
        void OnApplicationPause(bool isPaused) {
            if (isPaused || client == null) return;
            client.Wake();
            client.Saves.Wake();
        }

        void OnDestroy() {
            client.Close();
        }
    }
}
