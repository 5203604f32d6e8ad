// What the sample of the README uses of Godot .NET, in place of Godot itself.
using System;

namespace Godot {
    public class Node {
        public virtual void _Ready() { }

        public virtual void _Process(double delta) { }

        public virtual void _ExitTree() { }
    }

    public static class ProjectSettings {
        public static string GlobalizePath(string path) => path.Replace("user:/", System.IO.Path.GetTempPath());
    }

    public static class GD {
        public static void Print(params object[] what) => Console.WriteLine(string.Concat(what));
    }
}
