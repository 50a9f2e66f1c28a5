#include "dispatcher.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace harness {
namespace {

using program = dispatcher_work::program;

constexpr std::array<std::pair<std::string_view, program>, 8> programs{{{"spawn", program::spawn},
                                                                        {"throughput", program::throughput},
                                                                        {"channel", program::channel},
                                                                        {"yields", program::yields},
                                                                        {"partition", program::partition},
                                                                        {"spins", program::spins},
                                                                        {"sleeps", program::sleeps},
                                                                        {"clone", program::clone}}};

program program_of(const request& r) {
    const std::string name =
        r.choice("program", {"spawn", "throughput", "channel", "yields", "partition", "spins", "sleeps", "clone"});
    return std::ranges::find(programs, name, [](const auto& each) { return each.first; })->second;
}

double each(std::chrono::nanoseconds all, std::uint64_t count) noexcept {
    return static_cast<double>(all.count()) / static_cast<double>(count);
}

}  // namespace

dispatcher_work::dispatcher_work(const request& r)
    : what{program_of(r)},
      count{r.integer("count")},
      batch{r.integer("batch")},
      yields{r.integer("yields")},
      records{count, batch, 1, r.integer("steps")} {
    if (count == 0 || (batch == 0 && what != program::spawn && what != program::clone)) {
        throw usage_error{"count and batch of dispatcher are at least 1"};
    }
}

void parts::tell_phases(stopwatch& watch, std::uint64_t tasks) const {
    watch.figure("spawn_ns", each(first_, tasks));
    watch.figure("join_ns", each(second_, tasks));
}

void parts::tell_ends(stopwatch& watch, const dispatcher_work& work) const {
    watch.figure("send_ns", each(first_, work.count));
    watch.figure("receive_ns", each(second_, work.count));
    watch.figure("batch_ns", each(first_ + second_, work.records.batches()));
}

std::uint64_t copy_records(std::uint64_t copies) {
    const stored_record record{.fields = {{"order_id", std::int64_t{1}},
                                          {"customer_id", std::int64_t{1}},
                                          {"date", std::string{"2026-01-01"}},
                                          {"amount", std::int64_t{150}}},
                               .headers = {}};
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < copies; ++i) {
        const stored_record copy = *opaque(&record);
        sum += static_cast<std::uint64_t>(std::get<std::int64_t>(copy.fields.at("amount")));
    }
    return sum;
}

}  // namespace harness
