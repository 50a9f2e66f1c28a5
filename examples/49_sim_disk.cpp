// A log that says "kept" too early: found on a simulated disk whose power goes, and made small.
#include <cstddef>
#include <cstdio>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>

#include <coflux/coflux.hpp>
#include <coflux/testing/explore.hpp>
#include <coflux/testing/sim_disk.hpp>

using coflux::testing::sim_disk;
using coflux::testing::sim_executor;

namespace {

// Appends orders of four bytes, and says after each how many are kept. Those that were written are, are they not?
template <bool Careful>
coflux::fork<void, sim_executor> takes_orders(coflux::environment&, int* kept) {
    coflux::file log = co_await coflux::file::open("orders", {.write = true, .create = true});
    for (const char* order : {"tea ", "milk", "cake"}) {
        co_await log.append(order);
        if (Careful) co_await log.sync_data();
        ++*kept;
    }
}

coflux::call<std::size_t> size_of_log() {
    auto log = co_await coflux::as_result(coflux::file::open("orders"));
    if (!log.has_value()) co_return 0;
    co_return co_await log->size();
}

// The power goes after a while. Entries that were said to be kept must be there afterwards.
template <bool Careful>
coflux::task<void, sim_executor> day(coflux::environment&, coflux::borrowed<sim_disk> disk) {
    auto&& here = co_await coflux::context();
    int kept = 0;
    auto shop = coflux::make_environment(here);
    auto orders = takes_orders<Careful>(shop, &kept);
    co_await coflux::this_coroutine::yield();  // in some schedules for long
    disk->crash();
    const int said = kept;
    shop.request_stop();
    (void)co_await coflux::as_outcome(std::move(orders));
    co_await shop.join();

    disk->restart();
    const std::size_t size = co_await size_of_log();
    if (size < 4 * static_cast<std::size_t>(said))
        throw std::runtime_error(std::to_string(said) + " orders kept, " + std::to_string(size) + " bytes left");
}

template <bool Careful>
void body(coflux::testing::simulation&) {
    sim_executor on;
    sim_disk disk(on);
    auto env = coflux::make_environment(on);
    day<Careful>(env, coflux::borrowed(disk)).get();
}

}  // namespace

int main() {
    using coflux::testing::explore;
    std::printf("on a good day: %s\n", explore({.runs = 1}, body<false>).ok() ? "right" : "wrong");

    const auto found = explore({.runs = 1000}, body<false>);
    if (found.ok()) return 1;
    std::printf("on some other day: %s\n", found.failure->what.c_str());
    std::printf("smallest schedule: %s\n", found.failure->replay().c_str());

    const auto mended = explore({.runs = 1000}, body<true>);
    std::printf("mended: %s\n", mended.ok() ? "right" : mended.report().c_str());
    return mended.ok() ? 0 : 1;
}
