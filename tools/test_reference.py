#!/usr/bin/python3
"""Sees that the reference says what a small header says, and that what cannot be found out is told."""

from __future__ import annotations

import contextlib
import io
import re
import shutil
import tempfile
import unittest
from pathlib import Path

import reference
import tree

COROUTINE = """
// core: what the awaits of the reference need.
#pragma once
#include <coroutine>
namespace coflux {
struct environment {};
template <typename T>
struct call {
    struct promise_type {
        call get_return_object();
        std::suspend_never initial_suspend();
        std::suspend_never final_suspend() noexcept;
        void return_void();
        void unhandled_exception();
    };
};
namespace detail {
struct plumbing {};
template <typename T>
inline constexpr bool never = false;
template <typename T>
struct value_request {
    bool await_ready();
    void await_suspend(std::coroutine_handle<>);
    T await_resume();
};
template <typename Self>
struct handle {
    /// True once it has ended.
    bool done() const;
    /// The same, for a chain.
    Self& twice();
    /// For the library: its inside.
    int inside();
};
}  // namespace detail
}  // namespace coflux
"""
THING = """
// thing: a thing that can be waited for.
#pragma once
#include <coflux/core/core.hpp>
namespace coflux {
/// A thing of `T`, as thing<int>. Threads: any. Shapes: T moves.
/// Example: examples/01_hello.cpp
template <typename T>
class thing : public detail::handle<thing<T>> {
public:
    class lock;
    explicit thing(int size);
    thing(const thing&) = delete;
    thing& operator=(const thing&) = delete;
    /// `co_await t.wait()`: its value.
    /// Costs: none.
    [[nodiscard("awaits; nothing")]] detail::value_request<T> wait(int times = 1) noexcept { return {}; }
    detail::value_request<void> gone();
    [[nodiscard]] bool try_wait(const T& expected) const;
    bool try_wait() const;
    bool is_short() const
        requires requires(T& t) { t.size(); }
    {
        return true;
    }
    detail::plumbing& plumbing();
    bool await_ready();
    int size = 3;  ///< how many

private:
    int hidden_;
};
/// Makes one.
template <typename T>
auto make(const thing<T>& from) {
    return from.size;
}
template <typename T>
auto make(T) {
    static_assert(detail::never<T>, "no");
}
/// Makes a large one.
template <typename T>
int make_large(const thing<T>& from) {
    if constexpr (sizeof(T) == 1) {
        static_assert(detail::never<T>, "no");
    } else {
        return from.size;
    }
}
int undocumented();
}  // namespace coflux
/// Checks it.
#define CO_CHECK(condition) ((condition) ? 1 : 0)
#define COFLUX_INSIDE(condition) condition
"""
PAGE = """<!-- Written by tools/reference.py from the header. -->

# `coflux/core/thing.hpp`

A thing that can be waited for.

## `thing<T>`

```cpp
template <typename T>
class thing;
```

A thing of `T`, as thing\\<int>.

* **Shapes:** T moves.
* **Threads:** any.
* **Example:** [examples/01_hello.cpp](../../../examples/01_hello.cpp)

Neither copyable nor movable.

* `int size = 3`: how many

### `done`

```cpp
bool done() const;
```

True once it has ended.

### `twice`

```cpp
thing& twice();
```

The same, for a chain.

### Constructor

```cpp
explicit thing(int size);
```

### `wait`

```cpp
auto wait(int times = 1) noexcept;
```

`co_await` → `T`

`co_await t.wait()`: its value.

* **Costs:** none.

### `gone`

```cpp
auto gone();
```

`co_await` → nothing

### `try_wait`

```cpp
bool try_wait(const T& expected) const;
bool try_wait() const;
```

### `is_short`

```cpp
bool is_short() const
    requires requires(T& t) { t.size(); };
```

## `make`

```cpp
template <typename T>
int make(const thing<T>& from);
```

Makes one.

## `make_large`

```cpp
template <typename T>
int make_large(const thing<T>& from);
```

Makes a large one.

## `CO_CHECK`

```cpp
#define CO_CHECK(condition)
```

Checks it.
"""
DATA = {"prelude": "", "awaited": [], "arguments": {}, "probes": {"thing::plumbing": ""}, "not_for_users": {}, "needs": {}}
LINK = re.compile(r"\]\(([^)]+\.\w+)\)")


class Reference(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name).resolve()
        shutil.copy(tree.ROOT / ".clang-format", self.root)
        self.plant("include/coflux/core/core.hpp", COROUTINE)
        self.plant("include/coflux/core/thing.hpp", THING)
        self.plant("examples/01_hello.cpp", "")

    def plant(self, file: str, text: str) -> None:
        path = self.root / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.lstrip("\n"), encoding="utf-8")

    def generated(self, **changed: dict) -> tuple[dict[str, str], list[str]]:
        return reference.generate(self.root, self.root / reference.FOLDER, DATA | changed)

    def test_a_page_says_what_the_header_says(self) -> None:
        pages, problems = self.generated()
        self.maxDiff = None
        self.assertEqual(pages["core/thing.md"], PAGE)
        self.assertIn("| [core/thing.hpp](core/thing.md) | `thing<T>`, `make`, `make_large`, `CO_CHECK` |", pages["README.md"])
        self.assertEqual(problems, [])

    def test_what_an_await_gives_that_cannot_be_found_out(self) -> None:
        problems = self.generated(probes={"thing::plumbing": "", "thing::wait": "give<thing<T>&>().nothing()"})[1]
        self.assertEqual(len(problems), 1, problems)
        self.assertIn("thing::wait: what does `co_await give<thing<T>&>().nothing()` give? no member named 'nothing'",
                      problems[0])

    def test_an_example_that_is_not_there(self) -> None:
        (self.root / "examples/01_hello.cpp").unlink()
        self.assertEqual(self.generated()[1], ["thing<T>: there is no examples/01_hello.cpp"])

    def test_headers_that_do_not_compile(self) -> None:
        self.plant("include/coflux/core/wrong.hpp", "int f() { return none; }")
        with self.assertRaisesRegex(SystemExit, "wrong.hpp:1:18: error: use of undeclared identifier 'none'"):
            self.generated()

    def write(self, *arguments: str) -> tuple[int, str]:
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            status = reference.main(["--root", str(self.root), "write", *arguments])
        return status, output.getvalue()

    def test_the_pages_are_written_where_they_are_asked_for_and_their_links_lead_to_files(self) -> None:
        self.plant("docs/promises.md", "")
        self.plant("tools/reference.toml", """
            prelude = ""
            awaited = []
            arguments = {}
            probes = {"thing::plumbing" = ""}
            not_for_users = {}
            needs = {"include/coflux/of_others.hpp" = "no_such_library.hpp"}""")
        self.plant("include/coflux/of_others.hpp", "#include <no_such_library.hpp>\n")
        site = self.root / "site"
        for out, arguments in ((self.root / reference.FOLDER, ()), (site, ("--out", str(site)))):
            self.assertEqual(self.write(*arguments), (0, f"reference: 2 pages in {out}, 0 problems\n"))
            links = [page.parent / link for page in out.rglob("*.md")
                     for link in LINK.findall(page.read_text(encoding="utf-8"))]
            self.assertEqual(sorted((link.name, link.is_file()) for link in links),
                             [("01_hello.cpp", True), ("promises.md", True), ("thing.md", True)])
        (self.root / "examples/01_hello.cpp").unlink()
        self.assertEqual(self.write()[0], 1)


if __name__ == "__main__":
    unittest.main()
