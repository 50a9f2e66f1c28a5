#include <coflux/stream/detail/failures.hpp>
#include <coflux/stream/job.hpp>
#include <coflux/stream/run.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <stdexcept>
#include <string>
#include <utility>

#include <coflux/executor/topology.hpp>

namespace coflux::stream {

namespace detail {

std::string text_of(const std::exception_ptr& error) {
    try {
        std::rethrow_exception(error);
    } catch (const std::exception& e) {
        return e.what();
    } catch (...) {
        return "an exception that is no std::exception";
    }
}

void set_position(positions& in, std::string partition, std::int64_t next) {
    const auto at = std::ranges::lower_bound(in, partition, {}, &position::partition);
    if (at != in.end() && at->partition == partition) {
        at->next = next;
    } else {
        in.insert(at, {std::move(partition), next});
    }
}

void forget_position(positions& in, const std::string& partition) {
    std::erase_if(in, [&](const position& each) { return each.partition == partition; });
}

namespace {
[[noreturn]] void refuse(const char* option, const char* why) {
    throw std::invalid_argument(std::string("coflux: stream::job::") + option + " " + why);
}
}  // namespace

std::size_t processors() noexcept {
    return topology::of_this_process().worker_count();
}

std::size_t batches_of_link(std::size_t max_batch) noexcept {
    constexpr std::size_t records = 2000;
    return std::clamp<std::size_t>(records / max_batch, 2, 8);
}

void check_options(std::size_t workers, std::uint32_t slots, std::size_t max_batch, std::size_t queue_batches,
                   std::chrono::nanoseconds commit_every, std::chrono::nanoseconds lateness) {
    if (slots == 0) refuse("slots", "is 0: a region needs a slot for its state");
    if (workers > slots) refuse("workers", "is more than job::slots: a worker without a slot would have nothing to do");
    if (max_batch == 0) refuse("max_batch", "is 0");
    if (queue_batches == 1) refuse("queue_batches", "is 1: one batch is filled while another one is processed");
    if (commit_every.count() <= 0) refuse("commit_every", "is not positive");
    if (lateness.count() < 0) refuse("lateness", "is negative");
}

}  // namespace detail

}  // namespace coflux::stream
