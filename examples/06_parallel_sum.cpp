// Fork-join over a range: one fork for each part, one await for all.
#include <coflux/coflux.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <utility>
#include <vector>

using pool = coflux::thread_pool_executor;
using numbers = std::vector<std::uint64_t>;

// The caller keeps the numbers alive until the forks are done, and says so: a plain reference would not compile.
coflux::fork<std::uint64_t, pool> sum_part(coflux::environment&, coflux::borrowed<const numbers> all, std::size_t from,
                                           std::size_t to) {
    const auto begin = all->begin();
    co_return std::accumulate(begin + static_cast<std::ptrdiff_t>(from), begin + static_cast<std::ptrdiff_t>(to),
                              std::uint64_t{0});
}

coflux::task<std::uint64_t, pool> sum(coflux::environment&, coflux::borrowed<const numbers> all, std::size_t part) {
    auto&& here = co_await coflux::context();
    // A block with a scope joins its children before it goes on, also if it fails: none looks at the numbers then.
    co_return co_await coflux::with_scope(here, [&](coflux::task_scope& scope) -> coflux::call<std::uint64_t> {
        std::vector<coflux::fork<std::uint64_t, pool>> parts;
        for (std::size_t from = 0; from < all->size(); from += part)
            parts.push_back(sum_part(scope, all, from, std::min(from + part, all->size())));
        const auto sums = co_await coflux::when_all(std::move(parts));
        std::printf("%zu parts\n", sums.size());
        co_return std::accumulate(sums.begin(), sums.end(), std::uint64_t{0});
    });
}

int main() {
    pool threads;  // one for each processor
    auto env = coflux::make_environment(threads);
    numbers all(100'001);
    std::iota(all.begin(), all.end(), std::uint64_t{0});
    const std::uint64_t total = sum(env, coflux::borrowed(std::as_const(all)), 1000).get();
    std::printf("sum of 0 to 100000: %llu\n", static_cast<unsigned long long>(total));
}
