// Pages of a slow source, read one ahead: the next page is fetched while the present one is used.
#include <coflux/coflux.hpp>

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

using pool = coflux::thread_pool_executor;
using page = std::vector<std::string>;

coflux::fork<page, pool> fetch(coflux::environment&, int number) {
    co_await coflux::yield();  // a server would be asked here
    page lines;
    for (int i = 0; i < 3 && number < 3; ++i) lines.push_back(std::to_string(number) + "." + std::to_string(i));
    co_return lines;
}

// Runs only as far as it is read, as part of its reader. Its forks are its own: they never outlive its locals.
coflux::async_generator<page> pages(coflux::environment&) {
    auto&& here = co_await coflux::context();
    auto next = fetch(here, 0);
    for (int number = 1;; ++number) {
        page present = co_await std::move(next);
        if (present.empty()) co_return;
        next = fetch(here, number);
        co_yield std::move(present);
    }
}

coflux::async_generator<std::string> lines(coflux::environment&) {
    auto&& here = co_await coflux::context();
    auto all = pages(here);
    while (page* const p = co_await all.next()) {
        for (std::string& line : *p) co_yield std::move(line);
    }
}

// Another generator's elements as if they were our own.
coflux::async_generator<std::string> report(coflux::environment&) {
    auto&& here = co_await coflux::context();
    co_yield "begin";
    co_yield coflux::elements_of(lines(here));
    co_yield "end";
}

coflux::task<int, pool> read(coflux::environment&) {
    auto&& here = co_await coflux::context();
    auto text = report(here);
    while (const std::string* const line = co_await text.next()) std::printf("%s\n", line->c_str());

    // Left half-way: what is being fetched is stopped, and joined before this coroutine ends.
    auto again = lines(here);
    const std::string* const first = co_await again.next();
    std::printf("again %s\n", first->c_str());
    co_return 0;
}

int main() {
    pool threads{2};
    auto env = coflux::make_environment(threads);
    return read(env).get();
}
