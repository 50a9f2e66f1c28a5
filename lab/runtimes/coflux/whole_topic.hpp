// The records of a topic that the runner has filled, as a source that ends.
// Idioms: docs/tour/01-first-program.md
#pragma once

#include "harness.hpp"
#include "kafka_work.hpp"

#include <coflux/coflux.hpp>
#include <coflux/kafka/partition_source.hpp>
#include <coflux/stream/stream.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace lab {

namespace kafka = coflux::kafka;
namespace stream = coflux::stream;

// How many records are left of the topic. The watch starts with the first.
class countdown {
public:
    countdown(std::uint64_t records, harness::stopwatch& watch) : left_{records}, all_{records}, watch_{watch} {}

    [[nodiscard]] bool is_over() const noexcept { return left_ == 0; }
    void note(std::size_t got) {
        if (left_ == all_ && got != 0) {
            watch_.start();
        }
        left_ -= got;
    }

private:
    std::uint64_t left_;
    std::uint64_t all_;
    harness::stopwatch& watch_;
};

// Reads on from `in`, and ends behind the last record, so that windows close.
template <typename Source>
coflux::call<bool> read_on(coflux::environment&, Source& in, countdown& left, stream::batch<kafka::message>& into,
                           std::size_t most) {
    auto& here = co_await coflux::context();
    if (left.is_over()) {
        co_return false;
    }
    const std::size_t before = into.size();
    const bool has_more = co_await in.read(here, into, most);
    left.note(into.size() - before);
    co_return has_more;
}

// All records of a topic. The job keeps its state in memory: it commits nothing, and would begin again.
class whole_topic {
public:
    using value_type = kafka::message;

    whole_topic(kafka::partition_source& in, std::uint64_t records, harness::stopwatch& watch)
        : in_{in},
          left_{records, watch} {}

    [[nodiscard]] coflux::call<bool> read(coflux::environment&, stream::batch<kafka::message>& into, std::size_t most) {
        auto& here = co_await coflux::context();
        co_return co_await read_on(here, in_, left_, into, most);
    }
    [[nodiscard]] std::string partition_name(std::uint32_t p) const { return in_.partition_name(p); }
    [[nodiscard]] std::vector<std::uint32_t> partitions() const { return in_.partitions(); }

private:
    kafka::partition_source& in_;
    countdown left_;
};

}  // namespace lab
