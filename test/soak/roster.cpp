#include "soak/roster.hpp"

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "core/detail/scope/environment_tree.hpp"
#include "core/detail/wait/wait_records.hpp"

namespace coflux_test::soak {
namespace {

using coflux::detail::environment_tree;
using coflux::detail::wait_record;
using coflux::detail::wait_records;

void print_place(coflux::detail::promise_base& p, int depth, const char* what) noexcept {
    const std::source_location at = p.control().location();
    std::fprintf(stderr, "%*s%s %s at %s:%u\n", 2 * depth, "", what, at.function_name(), at.file_name(),
                 static_cast<unsigned>(at.line()));
}

void print_record(const wait_record& r, int depth) noexcept {
    if (depth > 64) return;
    coflux::detail::promise_base* const waits = r.waiting.empty() ? nullptr : &r.waiting.front()->coroutine();
    if (environment_tree::is_object(*r.of)) {
        std::fprintf(stderr, "%*san environment\n", 2 * depth, "");
    } else {
        coflux::detail::promise_base& self = environment_tree::coroutine(*r.of);
        print_place(self, depth, waits == &self ? "waits in" : "in");
        if (waits != nullptr && waits != &self) print_place(*waits, depth, "and its call waits in");
    }
    for (const wait_record* below = r.below.front(); below != nullptr; below = below->next)
        print_record(*below, depth + 1);
}

}  // namespace

void print_waiting(coflux::environment& root) noexcept {
    const wait_record* const r = wait_records::find(root);
    if (r == nullptr) {
        std::fprintf(stderr, "  nothing below has ever waited in a primitive\n");
    } else {
        print_record(*r, 1);
    }
}

watchdog::watchdog(const std::deque<lane>& lanes, std::chrono::seconds patience)
    : lanes_(lanes),
      patience_(patience),
      thread_([this] { watch(); }) {}

watchdog::~watchdog() {
    over_.store(true);
    thread_.join();
}

void watchdog::watch() {
    using clock = std::chrono::steady_clock;
    struct seen {
        std::uint64_t rounds = ~std::uint64_t{0};
        clock::time_point since;
    };
    std::vector<seen> all(lanes_.size());
    while (!over_.load()) {
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        const clock::time_point now = clock::now();
        bool stands = false;
        for (std::size_t i = 0; i < lanes_.size(); ++i) {
            const lane& l = lanes_[i];
            const std::uint64_t rounds = l.rounds.load(std::memory_order_relaxed);
            if (rounds != all[i].rounds) all[i] = {rounds, now};
            if (l.ended.load(std::memory_order_acquire) || now - all[i].since < patience_) continue;
            stands = true;
            std::fprintf(stderr, "lane %zu has been in round %" PRIu64 ", of %s with seed %" PRIu64 ", for %lld s:\n",
                         i, rounds, l.job.load(std::memory_order_relaxed), l.seed.load(std::memory_order_relaxed),
                         static_cast<long long>(patience_.count()));
            print_waiting(*l.root);
        }
        if (stands) std::abort();
    }
}

}  // namespace coflux_test::soak
