// Children that look at what their parent owns: a block with a scope joins them before the parent goes on, or fails.
#include <coflux/coflux.hpp>

#include <cstddef>
#include <cstdio>
#include <numeric>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

using coflux::borrowed;
using pool = coflux::thread_pool_executor;

struct page {
    std::string name;
    std::string text;
};

coflux::fork<void, pool> count(coflux::environment&, borrowed<const page> from, borrowed<std::size_t> words) {
    co_await coflux::yield();  // the disk
    if (from->text.empty()) throw std::runtime_error("cannot read " + from->name);
    std::istringstream in(from->text);
    for (std::string word; in >> word;) ++*words;
}

// Counts for ever, until it is stopped: its scope would wait for it for ever otherwise.
coflux::fork<void, pool> watches(coflux::environment&, borrowed<std::vector<std::size_t>> counts) {
    for (;;) {
        if (counts->empty()) std::printf("never: the counts outlive their readers\n");
        co_await coflux::yield();
    }
}

// The children borrow `pages` and `words`, which are outside the block. None runs when with_scope is over.
coflux::call<std::size_t> count_all(coflux::environment& here, const std::vector<page>& pages) {
    std::vector<std::size_t> words(pages.size());
    const std::size_t begun =
        co_await coflux::with_scope(here, [&](coflux::task_scope& scope) -> coflux::call<std::size_t> {
            for (std::size_t i = 0; i != pages.size(); ++i) scope.spawn(count, borrowed(pages[i]), borrowed(words[i]));
            co_return pages.size();
        });
    std::printf("  %zu pages\n", begun);
    co_return std::accumulate(words.begin(), words.end(), std::size_t{0});
}

// An exception of the block, or of a child, stops the other children, waits for them, and goes on.
coflux::call<void> fails(coflux::environment& here) {
    std::vector<std::size_t> counts(3);
    co_await coflux::with_scope(here, [&](coflux::task_scope& scope) -> coflux::call<void> {
        scope.spawn(watches, borrowed(counts));
        co_await coflux::yield();
        throw std::runtime_error("the block gave up");
    });
}

coflux::task<void, pool> root(coflux::environment&) {
    auto& here = co_await coflux::context();
    const std::vector<page> book{{"one", "call me Ishmael"}, {"two", "some years ago"}, {"three", "never mind"}};
    std::printf("words: %zu\n", co_await count_all(here, book));
    const std::vector<page> torn{{"one", "call me Ishmael"}, {"two", ""}};
    try {
        (void)co_await count_all(here, torn);
    } catch (const std::runtime_error& e) {
        std::printf("caught: %s\n", e.what());
    }
    try {
        co_await fails(here);
    } catch (const std::runtime_error& e) {
        std::printf("caught: %s\n", e.what());
    }
}

int main() {
    pool threads{2};
    auto env = coflux::make_environment(threads);
    root(env).join();
}
