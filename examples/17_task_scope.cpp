// A crawler: pages are found while other pages are read. Each becomes a child of one scope, which is joined at the end.
#include <coflux/coflux.hpp>

#include <algorithm>
#include <cstdio>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

using pool = coflux::thread_pool_executor;

struct results {
    void add(std::string line) {
        const std::lock_guard<std::mutex> guard(lock);
        lines.push_back(std::move(line));
    }
    void print() {
        std::sort(lines.begin(), lines.end());
        for (const std::string& line : lines) std::printf("  %s\n", line.c_str());
        lines.clear();
    }
    std::mutex lock;
    std::vector<std::string> lines;
};

// Each page has two links, down to pages of four letters. The children of a scope may add to it while it is joined.
coflux::fork<void, pool> crawl(coflux::task_scope& scope, std::string page, coflux::borrowed<results> found) {
    co_await coflux::yield();  // the network
    if (page == "abba") throw std::runtime_error("cannot read " + page);
    if (page.size() == 4) {
        found->add(page);
        co_return;
    }
    scope.spawn(crawl, page + "a", found);
    scope.spawn(crawl, page + "b", found);
}

coflux::fork<void, pool> keeps_alive(coflux::environment&, coflux::borrowed<results> found) {
    struct says_when_it_ends {
        results& to;
        ~says_when_it_ends() { to.add("the connection is closed"); }
    } const closes{*found};
    for (;;) co_await coflux::yield();
}

coflux::task<void, pool> root(coflux::environment&) {
    auto&& here = co_await coflux::context();
    results found;

    std::printf("all that can be read\n");
    const auto both = [&](coflux::task_scope& scope) -> coflux::call<void> {
        scope.spawn(crawl, "ab", coflux::borrowed(found));
        co_await crawl(scope, "ba", coflux::borrowed(found));
    };
    try {
        co_await coflux::with_scope(here, coflux::collect_all, both);
    } catch (const std::runtime_error& e) {
        std::printf("  but: %s\n", e.what());
    }
    found.print();

    std::printf("all or nothing\n");  // the first error stops the rest, also what would run for ever
    const auto strict = [&](coflux::task_scope& scope) -> coflux::call<void> {
        scope.spawn(keeps_alive, coflux::borrowed(found));
        co_await crawl(scope, "abba", coflux::borrowed(found));
    };
    try {
        co_await coflux::with_scope(here, strict);
    } catch (const std::runtime_error& e) {
        std::printf("  %s\n", e.what());
    }
    found.print();
}

int main() {
    pool threads{2};
    auto env = coflux::make_environment(threads);
    root(env).join();
}
