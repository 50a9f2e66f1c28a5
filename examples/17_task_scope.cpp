// A crawler: pages are found while others are read, and each becomes a child of one scope, which is joined in the end.
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

coflux::fork<void, pool> keeps_alive(auto&&, coflux::borrowed<results> found) {
    struct says_when_it_ends {
        results& to;
        ~says_when_it_ends() { to.add("the connection is closed"); }
    } const closes{*found};
    for (;;) co_await coflux::yield();
}

coflux::task<void, pool> root(auto&&) {
    auto&& here = co_await coflux::context();
    results found;

    std::printf("all that can be read\n");
    coflux::task_scope all(here, coflux::scope_policy::collect_all);
    all.spawn(crawl, "ab", coflux::borrowed(found));
    all.spawn(crawl, "ba", coflux::borrowed(found));
    try {
        co_await all.join();
    } catch (const std::runtime_error& e) {
        std::printf("  but: %s\n", e.what());
    }
    found.print();

    // The first error stops the others, also those that would run for ever.
    std::printf("all or nothing\n");
    coflux::task_scope strict(here);
    strict.spawn([](auto&& env, auto to) { return keeps_alive(env, to); }, coflux::borrowed(found));
    strict.spawn(crawl, "abba", coflux::borrowed(found));
    try {
        co_await strict.join();
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
