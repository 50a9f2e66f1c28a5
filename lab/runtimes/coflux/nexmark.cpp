// Nexmark over events that are in memory.
// Idioms: docs/tour/01-first-program.md
#include "nexmark_flows.hpp"
#include "nexmark_work.hpp"
#include "workloads.hpp"

#include <cstddef>
#include <span>

namespace lab {
namespace {

using work_ref = coflux::borrowed<const harness::nexmark_work>;

// One partition, in order. Its values are where the events are, which outlive the job.
class event_source {
public:
    using value_type = const event*;

    explicit event_source(std::span<const event> events) : events_{events} {}

    [[nodiscard]] coflux::call<bool> read(coflux::environment&, stream::batch<value_type>& into, std::size_t most) {
        const std::size_t end = std::min(events_.size(), next_ + most);
        const bool has_more = next_ != end;
        for (; next_ != end; ++next_) {
            const event& e = events_[next_];
            const stream::event_time time{milliseconds{std::visit([](const auto& kind) { return kind.time; }, e)}};
            into.push_back({&e, time, static_cast<std::int64_t>(next_ + 1)});
        }
        co_return has_more;
    }
    [[nodiscard]] std::string partition_name(std::uint32_t) const { return "events"; }

private:
    std::span<const event> events_;
    std::size_t next_ = 0;
};

coflux::task<std::uint64_t, pool> ask_memory(coflux::environment&, work_ref work, watch_ref watch) {
    auto& here = co_await coflux::context();
    event_source events{work->events};
    watch->start();
    const std::uint64_t answer =
        co_await ask<const event*>(here, work->query, [&events] { return stream::from(events); });
    watch->stop();
    co_return answer;
}

}  // namespace

harness::measured nexmark_query(const harness::request& r) {
    const harness::nexmark_work work{r};
    pool threads{r.threads()};
    auto env = coflux::make_environment(threads);
    return harness::measure(r, [&](harness::stopwatch& watch) {
        return ask_memory(env, coflux::borrowed(work), coflux::borrowed(watch)).get();
    });
}

}  // namespace lab
