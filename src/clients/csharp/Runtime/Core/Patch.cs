using System;
using System.Collections.Generic;

namespace Coinop {
    /// <summary>
    /// What changes a room: JSON patches of the service (RFC 6902), and merge patches of the game (RFC 7396). No argument is changed.
    /// </summary>
    static class Patch {
        /// <summary>The room after a patch. Throws FormatException if the patch does not start from this room.</summary>
        internal static Json Patched(Json room, Json from, Json operations) {
            if (!room.Has("seq") || from.Kind != JsonKind.Whole || from.Long != room["seq"].Long) throw new FormatException("The patch of another room");
            foreach (var each in operations.Items) {
                var path = (each["path"].Text ?? "").Split('/');
                Need(path.Length > 1);
                room = Changed(room, path, 1, each["op"].Text, each["value"]);
            }
            return room;
        }

        static void Need(bool holds) {
            if (!holds) throw new FormatException("The patch does not fit");
        }

        static Json Changed(Json value, string[] path, int at, string op, Json given) {
            var name = path[at].Replace("~1", "/").Replace("~0", "~");
            var isLast = at == path.Length - 1;
            var isNew = op == "add" && isLast;
            Need(op == "add" || op == "replace" || op == "remove");
            if (value.Kind == JsonKind.List) {
                Need(int.TryParse(name, out var index) && index >= 0 && index < value.Count + (isNew ? 1 : 0));
                if (!isLast) return value.WithItem(index, Changed(value[index], path, at + 1, op, given));
                var items = new List<Json>(value.Items);
                if (!isNew) items.RemoveAt(index);
                if (op != "remove") items.Insert(index, given);
                return Json.ListOf(items);
            }
            Need(value.Kind == JsonKind.Object && (isNew || value.Has(name)));
            if (isLast && op == "remove") return value.Without(name);
            return value.With(name, isLast ? given : Changed(value[name], path, at + 1, op, given));
        }

        /// <summary>The value after a merge patch, deeply, as the service does it.</summary>
        internal static Json Merged(Json target, Json patch) {
            if (patch.Kind != JsonKind.Object) return patch;
            var members = target.Without();
            foreach (var member in patch) {
                if (member.Value.IsNull) members.Remove(member.Key);
                else members.Add(member.Key, Merged(members[member.Key], member.Value));
            }
            return members;
        }

        /// <summary>
        /// One patch with the effect of two, or null of C# if there is none: `{a: null}` and then `{a: {b: 1}}` replace `a` whole.
        /// </summary>
        static Json Composed(Json earlier, Json later) {
            if (later.Kind != JsonKind.Object) return later;
            if (earlier.Kind != JsonKind.Object) return null;
            var members = earlier.Without();
            foreach (var member in later) {
                var both = members.Has(member.Key) ? Composed(members[member.Key], member.Value) : member.Value;
                if (both == null) return null;
                members.Add(member.Key, both);
            }
            return members;
        }

        /// <summary>
        /// The fields of one act that has the effect of two, or null of C# if there is none. `data` or `state` (`whole`) replaces the value, `merge`
        /// merges into it.
        /// </summary>
        internal static Json Combined(Json earlier, Json later, string whole) {
            if (later.Has(whole)) return later;
            if (earlier.Has(whole)) return new Json { { whole, Merged(earlier[whole], later["merge"]) } };
            var both = Composed(earlier["merge"], later["merge"]);
            return both == null ? null : new Json { { "merge", both } };
        }

        /// <summary>The value after an act with these fields.</summary>
        internal static Json Applied(Json value, Json fields, string whole) => fields.Has(whole) ? fields[whole] : Merged(value, fields["merge"]);
    }
}
