"""The kubectl plugin `kubectl gpu`: one module a verb. It reads through kubectl itself and writes nothing."""
