"""Finds the coroutines of a program that uses Coflux in its memory, for gdb and lldb. docs/howto/see-what-hangs.md."""
