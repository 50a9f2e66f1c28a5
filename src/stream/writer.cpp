#include <coflux/stream/detail/writer.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <utility>
#include <vector>

#include <coflux/core/context.hpp>

namespace coflux::stream::detail {

writer::writer(const job_ends& ends, std::uint32_t slots, failure_policy& policy, barriers& on_their_way,
               std::function<void(const std::vector<slot_loads>&)> balance)
    : ends_(ends),
      slots_(slots),
      policy_(policy),
      counts_(policy.seen.writer()),
      times_(counts_),
      failures_(policy, "sink", UINT32_MAX / 2, counts_),
      barriers_(on_their_way),
      balance_(std::move(balance)) {}

call<void> writer::run(environment&) {
    auto& here = co_await context();
    for (;;) {
        parcel* got = in_.try_next();
        while (got == nullptr) {
            got = *co_await in_.receive();
            if (in_.holds_back(*got)) got = nullptr;
        }
        if (const std::size_t size = got->size(); size != 0) {
            if (ends_.is_exact && !is_open_) co_await open(here);
            std::exception_ptr refused;
            times_.begin();
            try {
                co_await ends_.sink.write(here, *got, 0, size);
            } catch (...) {
                refused = std::current_exception();
            }
            std::size_t given_up = 0;
            if (refused != nullptr) given_up = co_await write_again(here, *got, 0, size, refused);
            times_.end(size);
            counts_.records.add(size - given_up);
        }
        counts_.batches.add(1);
        if (in_.pass_barrier()) co_await commit(here, got->barrier);
        if (in_.has_ended()) co_return;
        in_.give_back(*got);
    }
}

call<void> writer::abandon(environment&) {
    if (!ends_.is_exact) co_return;
    auto& here = co_await context();
    try {
        if (is_open_) co_await ends_.sink.abort(here);
    } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch)
    }
}

call<void> writer::open(environment&) {
    auto& here = co_await context();
    co_await ends_.sink.begin(here);
    is_open_ = true;
}

// Gives the sink the same records again. After the last attempt it halves them, until the refused ones are found.
// Returns: how many those are.
call<std::size_t> writer::write_again(environment&, parcel& from, std::size_t first, std::size_t count,
                                      std::exception_ptr refused) {
    auto& here = co_await context();
    for (;;) {
        const bool again = co_await failures_.try_again(here, from.head_of(first).partition);
        if (!again) break;
        try {
            co_await ends_.sink.write(here, from, first, count);
            failures_.reset();
            co_return 0;
        } catch (...) {
            refused = std::current_exception();
        }
    }
    if (count == 1 || policy_.fails_job()) {
        co_await failures_.give_up(here, from.head_of(first), refused);
        co_return 1;
    }
    struct part {
        std::size_t first;
        std::size_t count;
    };
    std::size_t given_up = 0;
    for (const part half : std::array{part{first, count / 2}, part{first + count / 2, count - count / 2}}) {
        std::exception_ptr error;
        try {
            co_await ends_.sink.write(here, from, half.first, half.count);
        } catch (...) {
            error = std::current_exception();
        }
        if (error != nullptr) given_up += co_await write_again(here, from, half.first, half.count, error);
    }
    co_return given_up;
}

call<void> writer::commit(environment&, std::uint64_t barrier) {
    auto& here = co_await context();
    auto [reached, loads] = barriers_.take(barrier);
    reached.slots = slots_;
    if (policy_.letters != nullptr) co_await policy_.letters->flush(here);
    // [stream.commit.flush]
    co_await ends_.sink.flush(here);
    // A store may put the state into the sink's transaction.
    if (ends_.is_exact && !is_open_) co_await open(here);
    // [stream.commit.store]
    if (ends_.store != nullptr) co_await ends_.store->store(here, reached);
    if (ends_.is_exact) {
        is_open_ = false;  // a commit that fails may have been one: it is not aborted
        co_await ends_.sink.commit(here, reached.at);
    }
    // [stream.commit.source]
    if (ends_.source.can.commits) co_await ends_.source.commit(here, reached.at);
    barriers_.committed(barrier);
    balance_(loads);
    counts_.commits.add(1);
}

}  // namespace coflux::stream::detail
