// expect: the state of a fold() is stored in checkpoints: give it a member template <typename A> void fields(A& all)
#include <vector>

#include <coflux/coflux.hpp>
#include <coflux/stream/stream.hpp>

struct total {
    int sum = 0;
#ifdef COFLUX_GOOD
    template <typename A>
    void fields(A& all) {
        all(sum);
    }
#endif
};

coflux::task<void, coflux::noop_executor> root(coflux::environment&) {
    auto& here = co_await coflux::context();
    coflux::stream::memory_source numbers(std::vector<int>{1, 2});
    coflux::stream::memory_sink<int> sums;
    const auto add = [](total& t, int value, const auto& emit) { emit(t.sum += value); };
    co_await coflux::stream::run(here, coflux::stream::from(numbers) | coflux::stream::to_one() |
                                           coflux::stream::fold<total, int>(add) | coflux::stream::to(sums));
}
