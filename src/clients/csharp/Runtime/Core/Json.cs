using System;
using System.Collections.Generic;
using System.Globalization;
using System.Text;

namespace Coinop {
    public enum JsonKind { Null, Bool, Whole, Number, Text, List, Object }

    /// <summary>
    /// A JSON value. Whole numbers of up to 64 bits are exact. Make objects with <c>new Json { { "x", 1 } }</c> and lists with
    /// <c>Json.List(1, "x")</c>. Do not change a value that a client gave: later rooms share its parts.
    /// </summary>
    public sealed class Json : IEnumerable<KeyValuePair<string, Json>> {
        /// <summary>The most levels of lists and objects that are read or written.</summary>
        public const int MostDepth = 128;

        /// <summary>The longest text that is read, in UTF-16 units.</summary>
        public const int MostLength = 16 << 20;

        public static readonly Json Null = new Json(JsonKind.Null, null, 0, 0);
        static readonly Json True = new Json(JsonKind.Bool, null, 1, 1);
        static readonly Json False = new Json(JsonKind.Bool, null, 0, 0);
        static readonly Json[] NoItems = new Json[0];

        public readonly JsonKind Kind;
        readonly object of;
        readonly long whole;
        readonly double number;

        Json(JsonKind kind, object of, long whole, double number) {
            Kind = kind;
            this.of = of;
            this.whole = whole;
            this.number = number;
        }

        /// <summary>An empty object.</summary>
        public Json() : this(JsonKind.Object, new Dictionary<string, Json>(), 0, 0) { }

        public static implicit operator Json(string text) => text == null ? Null : new Json(JsonKind.Text, text, 0, 0);

        public static implicit operator Json(bool flag) => flag ? True : False;

        public static implicit operator Json(long whole) => new Json(JsonKind.Whole, null, whole, whole);

        public static implicit operator Json(double number) => new Json(JsonKind.Number, null, 0, number);

        public static Json List(params Json[] items) => ListOf(items);

        public static Json ListOf(IEnumerable<Json> items) {
            var list = new List<Json>();
            foreach (var item in items) list.Add(item ?? Null);
            return new Json(JsonKind.List, list, 0, 0);
        }

        Dictionary<string, Json> Fields => of as Dictionary<string, Json>;
        public bool IsNull => Kind == JsonKind.Null;

        /// <summary>The text, or null of any other kind.</summary>
        public string Text => of as string;

        /// <summary>The whole number. 0 of any other kind, and of numbers that are not whole.</summary>
        public long Long => Kind == JsonKind.Number && number == Math.Floor(number) && Math.Abs(number) < 9e15 ? (long)number : Kind == JsonKind.Whole ? whole : 0;

        public int Int => Long > int.MaxValue || Long < int.MinValue ? 0 : (int)Long;

        /// <summary>The number, or 0 of any other kind.</summary>
        public double Double => Kind == JsonKind.Number || Kind == JsonKind.Whole ? number : 0;

        public bool Bool => Kind == JsonKind.Bool && whole == 1;

        /// <summary>The items of a list. Of any other kind there are none.</summary>
        public IReadOnlyList<Json> Items => (IReadOnlyList<Json>)(of as List<Json>) ?? NoItems;

        /// <summary>The number of items or members.</summary>
        public int Count => Fields != null ? Fields.Count : Items.Count;

        /// <summary>A member. Null (of JSON) if there is none.</summary>
        public Json this[string name] => Fields != null && Fields.TryGetValue(name, out var member) ? member : Null;

        /// <summary>An item of a list. Null (of JSON) if there is none.</summary>
        public Json this[int index] => index >= 0 && index < Items.Count ? Items[index] : Null;

        public bool Has(string name) => Fields != null && Fields.ContainsKey(name);

        /// <summary>Sets a member of an object that is being made.</summary>
        public void Add(string name, Json value) => Fields[name] = value ?? Null;

        internal void Remove(string name) => Fields.Remove(name);

        /// <summary>A copy of the object with this member.</summary>
        public Json With(string name, Json value) {
            var copy = Without();
            copy.Add(name, value);
            return copy;
        }

        /// <summary>A copy of the object without these members.</summary>
        public Json Without(params string[] names) {
            var copy = new Json();
            foreach (var member in this)
                if (Array.IndexOf(names, member.Key) < 0) copy.Add(member.Key, member.Value);
            return copy;
        }

        /// <summary>A copy of the object with these members of another one, as far as that has them.</summary>
        internal Json WithOf(Json other, params string[] names) {
            var copy = Without();
            foreach (var name in names)
                if (other.Has(name)) copy.Add(name, other[name]);
            return copy;
        }

        /// <summary>A copy of the list with one item changed.</summary>
        public Json WithItem(int index, Json value) {
            var items = new List<Json>(Items);
            items[index] = value ?? Null;
            return new Json(JsonKind.List, items, 0, 0);
        }

        public IEnumerator<KeyValuePair<string, Json>> GetEnumerator() => (Fields ?? new Dictionary<string, Json>()).GetEnumerator();

        System.Collections.IEnumerator System.Collections.IEnumerable.GetEnumerator() => GetEnumerator();

        /// <summary>The value as JSON. Throws FormatException for what is no JSON: NaN, or too many levels.</summary>
        public override string ToString() {
            var text = new StringBuilder();
            Write(text, 0);
            return text.ToString();
        }

        void Write(StringBuilder text, int depth) {
            if (depth > MostDepth) throw new FormatException("The JSON is nested too deeply.");
            switch (Kind) {
                case JsonKind.Null: text.Append("null"); return;
                case JsonKind.Bool: text.Append(Bool ? "true" : "false"); return;
                case JsonKind.Whole: text.Append(whole.ToString(CultureInfo.InvariantCulture)); return;
                case JsonKind.Number: text.Append(NumberText()); return;
                case JsonKind.Text: WriteText(text, Text); return;
            }
            text.Append(Fields == null ? '[' : '{');
            var from = text.Length;
            foreach (var item in Items) item.Write(text.Append(text.Length > from ? "," : ""), depth + 1);
            foreach (var member in this) {
                WriteText(text.Append(text.Length > from ? "," : ""), member.Key);
                member.Value.Write(text.Append(':'), depth + 1);
            }
            text.Append(Fields == null ? ']' : '}');
        }

        string NumberText() {
            if (double.IsNaN(number) || double.IsInfinity(number)) throw new FormatException("JSON has no such number.");
            var text = number.ToString("R", CultureInfo.InvariantCulture);
            // Older runtimes lose the last bit of some numbers.
            return double.Parse(text, CultureInfo.InvariantCulture) == number ? text : number.ToString("G17", CultureInfo.InvariantCulture);
        }

        static void WriteText(StringBuilder text, string value) {
            text.Append('"');
            for (var at = 0; at < value.Length; at++) {
                var c = value[at];
                var isPair = char.IsHighSurrogate(c) && at + 1 < value.Length && char.IsLowSurrogate(value[at + 1]);
                if (c == '"' || c == '\\') text.Append('\\').Append(c);
                // UTF-8 has no half of a surrogate pair.
                else if (c < ' ' || (char.IsSurrogate(c) && !isPair)) text.Append("\\u").Append(((int)c).ToString("x4", CultureInfo.InvariantCulture));
                else text.Append(c);
                if (isPair) text.Append(value[++at]);
            }
            text.Append('"');
        }

        /// <summary>Reads a JSON text (RFC 8259). Throws FormatException for any other text, and for one that is too long or too deep.</summary>
        public static Json Parse(string text) {
            if (text.Length > MostLength) throw new FormatException("The JSON is too long.");
            var reader = new Reader(text);
            var value = reader.Value(0);
            reader.End();
            return value;
        }

        /// <summary>The value of a JSON text, or null of C# if it is none.</summary>
        public static Json Read(string text) {
            try {
                return text == null ? null : Parse(text);
            } catch (FormatException) {
                return null;
            }
        }

        struct Reader {
            readonly string text;
            int at;

            internal Reader(string text) {
                this.text = text;
                at = 0;
            }

            char Here => at < text.Length ? text[at] : '\0';

            void Space() {
                while (at < text.Length && (text[at] == ' ' || text[at] == '\n' || text[at] == '\r' || text[at] == '\t')) at++;
            }

            bool Take(char c) {
                Space();
                if (at >= text.Length || text[at] != c) return false;
                at++;
                return true;
            }

            void Need(bool holds) {
                if (!holds) throw new FormatException("No JSON at character " + at.ToString(CultureInfo.InvariantCulture));
            }

            internal void End() {
                Space();
                Need(at == text.Length);
            }

            bool Word(string word) {
                if (string.CompareOrdinal(text, at, word, 0, word.Length) != 0) return false;
                at += word.Length;
                return true;
            }

            internal Json Value(int depth) {
                Need(depth <= MostDepth);
                if (Take('{')) return Object(depth);
                if (Take('[')) return List(depth);
                if (Here == '"') return Text();
                if (Word("true")) return True;
                if (Word("false")) return False;
                return Word("null") ? Null : Number();
            }

            Json Object(int depth) {
                var made = new Json();
                if (Take('}')) return made;
                do {
                    Space();
                    var name = Text();
                    Need(Take(':'));
                    made.Add(name, Value(depth + 1));
                } while (Take(','));
                Need(Take('}'));
                return made;
            }

            Json List(int depth) {
                var items = new List<Json>();
                if (Take(']')) return ListOf(items);
                do {
                    items.Add(Value(depth + 1));
                } while (Take(','));
                Need(Take(']'));
                return new Json(JsonKind.List, items, 0, 0);
            }

            string Text() {
                Need(Here == '"');
                var from = ++at;
                while (Here >= ' ' && Here != '"' && Here != '\\') at++;
                if (Here == '"') return text.Substring(from, at++ - from);
                var made = new StringBuilder(text, from, at - from, 64);
                while (Here != '"') {
                    Need(Here >= ' ');
                    made.Append(Here == '\\' ? Escaped() : Here);
                    at++;
                }
                at++;
                return made.ToString();
            }

            char Escaped() {
                at++;
                var index = "\"\\/bfnrt".IndexOf(Here);
                if (index >= 0) return "\"\\/\b\f\n\r\t"[index];
                Need(Here == 'u' && at + 4 < text.Length);
                var code = 0;
                for (var left = 4; left > 0; left--) {
                    at++;
                    Need(Uri.IsHexDigit(Here));
                    code = code * 16 + Uri.FromHex(Here);
                }
                return (char)code;
            }

            bool Digits() {
                var from = at;
                while (Here >= '0' && Here <= '9') at++;
                return at > from;
            }

            Json Number() {
                var from = at;
                if (Here == '-') at++;
                if (Here == '0') at++;
                else Need(Digits());
                var isWhole = Here != '.' && Here != 'e' && Here != 'E';
                if (Here == '.') {
                    at++;
                    Need(Digits());
                }
                if (Here == 'e' || Here == 'E') {
                    at++;
                    if (Here == '+' || Here == '-') at++;
                    Need(Digits());
                }
                var part = text.Substring(from, at - from);
                if (isWhole && long.TryParse(part, NumberStyles.AllowLeadingSign, CultureInfo.InvariantCulture, out var whole)) return whole;
                Need(double.TryParse(part, NumberStyles.Float, CultureInfo.InvariantCulture, out var number) && !double.IsInfinity(number));
                return number;
            }
        }
    }

    /// <summary>What the client gives of an object of the service: its fields by name and type, and the whole object as <c>Json</c>.</summary>
    public abstract class View {
        public readonly Json Json;

        protected View(Json json) {
            Json = json ?? Json.Null;
        }

        protected static IReadOnlyList<T> ListOf<T>(Json list, Func<Json, T> make) {
            var made = new List<T>(list.Count);
            foreach (var item in list.Items) made.Add(make(item));
            return made;
        }

        public override string ToString() => Json.ToString();
    }

    /// <summary>The result of a call: <c>Ok</c> and its fields, or an <c>Error</c>.</summary>
    public abstract class Reply : View {
        protected Reply(Json json) : base(json) { }

        public bool Ok => Json["ok"].Bool;

        /// <summary>Why the call failed. Null if it did not.</summary>
        public ErrorDetails Error => Ok ? null : new ErrorDetails(Json["error"]);

        /// <summary>Whether the operation waits, and will be finished later.</summary>
        public bool Pending => Json["pending"].Bool;

        /// <summary>The HTTP status of a refusal. 0 if the service has not answered.</summary>
        public int HttpStatus => Json["status"].Int;
    }
}
