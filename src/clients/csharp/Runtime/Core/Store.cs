using System;
using System.Collections.Generic;
using System.IO;
using System.Text;

namespace Coinop {
    /// <summary>Where a client keeps the install, the session and what is not finished: texts by key. Any method may throw.</summary>
    public interface IStore {
        /// <summary>The text, or null if there is none.</summary>
        string Get(string key);

        void Set(string key, string value);

        void Remove(string key);

        ICollection<string> Keys();
    }

    /// <summary>
    /// A folder with a file for each key. A write is whole or not at all, and the file is on the disk before it returns. The folder holds
    /// secrets of the player. Two processes must not share it.
    /// </summary>
    public sealed class FileStore : IStore {
        readonly string folder;

        public FileStore(string folder) {
            this.folder = folder;
        }

        string PathOf(string key) {
            var name = new StringBuilder();
            foreach (var c in key) {
                // Some file systems do not tell "A" from "a".
                var isPlain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == '-' || c == '_';
                name.Append(isPlain ? c.ToString() : "%" + ((int)c).ToString("x") + "%");
            }
            return Path.Combine(folder, name + ".json");
        }

        static Json Read(string path) {
            try {
                return Json.Read(File.ReadAllText(path)) ?? Json.Null;
            } catch (IOException) {
                if (File.Exists(path)) throw;
                return Json.Null;
            }
        }

        public string Get(string key) {
            var kept = Read(PathOf(key));
            return kept[0].Text == key ? kept[1].Text : null;
        }

        public void Set(string key, string value) {
            Directory.CreateDirectory(folder);
            var path = PathOf(key);
            var bytes = new UTF8Encoding(false).GetBytes(Json.List(key, value).ToString());
            using (var file = new FileStream(path + ".new", FileMode.Create, FileAccess.Write)) {
                file.Write(bytes, 0, bytes.Length);
                file.Flush(true);
            }
            if (File.Exists(path)) File.Replace(path + ".new", path, null);
            else File.Move(path + ".new", path);
        }

        public void Remove(string key) {
            if (Directory.Exists(folder)) File.Delete(PathOf(key));
        }

        public ICollection<string> Keys() {
            var keys = new List<string>();
            if (!Directory.Exists(folder)) return keys;
            foreach (var path in Directory.GetFiles(folder, "*.json")) {
                var key = Read(path)[0].Text;
                if (key != null) keys.Add(key);
            }
            return keys;
        }
    }

    /// <summary>A store that cannot fail: what the given store does not accept is kept in memory.</summary>
    sealed class SafeStore {
        readonly IStore store;
        readonly Action<string> warn;
        bool hasWarned;

        /// <summary>What the store has not accepted. Null: it has not removed the key yet.</summary>
        readonly Dictionary<string, string> memory = new Dictionary<string, string>();

        /// <summary>Keys that could not be read. They are not written either: that could destroy what the store has.</summary>
        internal readonly HashSet<string> Unread = new HashSet<string>();

        internal SafeStore(IStore store, Action<string> warn) {
            this.store = store;
            this.warn = warn;
            hasWarned = store == null;
        }

        bool Try(Action use) {
            try {
                if (store != null) use();
                return true;
            } catch (Exception error) {
                if (!hasWarned) warn("coinop keeps data in memory: " + error.Message);
                hasWarned = true;
                return false;
            }
        }

        internal string Get(string key) {
            string text;
            if (memory.TryGetValue(key, out text)) return text;
            if (!Try(() => text = store.Get(key))) Unread.Add(key);
            return text;
        }

        /// <summary>Stores a value. Without a value the key is removed.</summary>
        internal void Put(string key, string value = null) {
            memory[key] = value;
            if (Unread.Contains(key) || (store == null && value != null)) return;
            if (value == null ? Try(() => store.Remove(key)) : Try(() => store.Set(key, value))) memory.Remove(key);
        }

        internal List<string> Keys(string prefix) {
            var found = new List<string>(memory.Keys);
            Try(() => found.AddRange(store.Keys()));
            var keys = new List<string>();
            foreach (var key in found)
                if (key.StartsWith(prefix, StringComparison.Ordinal) && !keys.Contains(key)) keys.Add(key);
            return keys;
        }

        /// <summary>The JSON under the key. Null (of JSON) if there is none.</summary>
        internal Json Load(string key) => Json.Read(Get(key)) ?? Json.Null;
    }

    static class Randoms {
        static readonly System.Security.Cryptography.RandomNumberGenerator Secure = System.Security.Cryptography.RandomNumberGenerator.Create();
        static readonly Random Quick = new Random();

        /// <summary>A number from 0 to 1.</summary>
        internal static double Share() => Quick.NextDouble();

        /// <summary>A random text, by default of 124 bits.</summary>
        internal static string Text(int size = 24) {
            var text = new StringBuilder();
            var bytes = new byte[1];
            while (text.Length < size) {
                Secure.GetBytes(bytes);
                // 252 is the largest multiple of 36: every letter is as likely as the others.
                if (bytes[0] < 252) text.Append("0123456789abcdefghijklmnopqrstuvwxyz"[bytes[0] % 36]);
            }
            return text.ToString();
        }
    }
}
