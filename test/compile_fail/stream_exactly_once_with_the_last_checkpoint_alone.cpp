// expect: exactly_once needs a store that keeps the checkpoint before the last one, too
#include <optional>
#include <vector>

#include <coflux/coflux.hpp>
#include <coflux/stream/stream.hpp>

struct last_alone {
    static constexpr bool keeps_last_alone = true;

    coflux::call<void> store(coflux::environment&, const coflux::stream::checkpoint&) { co_return; }
    coflux::call<std::optional<coflux::stream::checkpoint>> load(coflux::environment&,
                                                                 const coflux::stream::positions*) {
        co_return std::nullopt;
    }
};

coflux::task<void, coflux::noop_executor> root(coflux::environment&) {
    auto& here = co_await coflux::context();
    coflux::stream::memory_source numbers(std::vector<int>{1, 2});
    coflux::stream::memory_sink<int> kept;
#ifdef COFLUX_GOOD
    co_await coflux::stream::run(here, coflux::stream::from(numbers) | coflux::stream::to(kept),
                                 coflux::stream::job{.delivery = coflux::stream::at_least_once, .state = last_alone()});
#else
    co_await coflux::stream::run(here, coflux::stream::from(numbers) | coflux::stream::to(kept),
                                 coflux::stream::job{.delivery = coflux::stream::exactly_once, .state = last_alone()});
#endif
}
