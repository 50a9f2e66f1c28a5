#!/usr/bin/python3
"""Compiles a file of shapes at -O0 to -O3 and runs each.

A shape must be right, unless a line of the file's head says that a compiler is known to get it wrong:
    // known: <shape> | <compiler, levels> | <what is wrong> | <the form that is right>
What is known is looked at as well, and printed when it is not as the line says: a mended compiler is news, no failure.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import time


def known_of(source):
    found = {}
    for line in source.read_text().splitlines():
        match = re.fullmatch(r"// known: (\w+) \| ([^|]*) \| ([^|]*) \| ([^|]*)", line)
        if match:
            found[match[1]] = [part.strip() for part in match.groups()[1:]]
        elif line.startswith("// known:"):
            sys.exit(f"{source}: not one line of four parts: {line}")
    return found


def build(given, level, program):
    """In two commands, because a compiler cache has objects only."""
    compiler = [given.compiler, "-std=c++20", "-w", *level.split(), *given.flag]
    compiled = f"{program}.o"
    launcher = [part for part in given.launcher.split(";") if part]
    built = subprocess.run([*launcher, *compiler, "-c", str(given.source), "-o", compiled], capture_output=True, text=True)
    if built.returncode != 0:
        return built
    return subprocess.run([*compiler, compiled, "-o", str(program), *given.link], capture_output=True, text=True)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--compiler", required=True)
    options.add_argument("--launcher", default="", help="what compiles are begun with, of parts separated by ';', e.g. a compiler cache")
    options.add_argument("--flag", action="append", default=[], help="for compiling and linking, e.g. --flag=-Iinclude")
    options.add_argument("--link", action="append", default=[], help="a library, after the source")
    options.add_argument("--level", action="append", default=[], help="default: -O0 to -O3, at -O1 with AddressSanitizer")
    options.add_argument("--report", help="where to write the report of the reliability ladder")
    options.add_argument("source", type=pathlib.Path)
    given = options.parse_args()
    levels = given.level or ["-O0", "-O1 -fsanitize=address", "-O2", "-O3"]
    begun = time.monotonic()
    known = known_of(given.source)
    seen = {}
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder) / "shapes"
        for level in levels:
            built = build(given, level, program)
            if built.returncode != 0:
                print(built.stderr)
                failures.append(f"does not compile at {level}")
                continue
            ran = subprocess.run([program], capture_output=True, text=True, env={"ASAN_OPTIONS": "detect_leaks=0"})
            answers = dict(line.split() for line in ran.stdout.splitlines())
            if ran.returncode != 0 or not answers:
                failures.append(f"the program itself fails at {level}: {ran.stdout}{ran.stderr}")
            for name, answer in answers.items():
                seen.setdefault(name, {})[level] = answer
                if answer != "right" and name not in known:
                    failures.append(f"{name} is {answer} at {level}")
    for name, (who, what, instead) in known.items():
        if name not in seen:
            failures.append(f"{name} is said to be known, and there is no such shape")
        elif instead not in seen and not instead.startswith("Coflux"):
            failures.append(f"{instead}, the form that is to be right, is no shape")
        else:
            wrong = [level for level, answer in seen[name].items() if answer != "right"]
            print(f"{name}: {'wrong at ' + ', '.join(wrong) if wrong else 'right'} here; known of {who}: {what}; write {instead}")
    count = sum(len(levels_seen) for levels_seen in seen.values())
    print(f"{len(seen)} shapes, {count} runs, {len(failures)} failures")
    for failure in failures:
        print("FAILED:", failure)
    if given.report:
        version = subprocess.run([given.compiler, "--version"], capture_output=True, text=True).stdout.splitlines()[0]
        report = {
            "rung": "compiler bugs",
            "name": f"compiler_bugs: {given.source.stem}, {pathlib.Path(given.compiler).name}",
            "what": f"shapes of coroutines at -O0 to -O3, {version}",
            "count": count,
            "seconds": round(time.monotonic() - begun, 1),
            "result": "fail" if failures else "pass",
        }
        pathlib.Path(given.report).write_text(json.dumps(report) + "\n")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
