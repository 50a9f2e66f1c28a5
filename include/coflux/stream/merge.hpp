// merge: two sources become one, of values of either.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <coflux/channel/channel.hpp>
#include <coflux/core/call.hpp>
#include <coflux/core/context.hpp>
#include <coflux/core/fork.hpp>
#include <coflux/scope/with_scope.hpp>
#include <coflux/stream/checkpoint.hpp>
#include <coflux/stream/record.hpp>
#include <coflux/stream/source.hpp>

namespace coflux::stream {

namespace detail {

/// The positions of one side, whose names begin with "0/" or "1/", under their own names.
[[nodiscard]] positions positions_of_side(const positions& all, char side);
void check_sides(const positions& all);

template <typename A, typename B>
class merged_source {
    using first = std::remove_reference_t<A>;
    using second = std::remove_reference_t<B>;
    static_assert(!rebalanced_source<first> && !rebalanced_source<second>,
                  "coflux: merge() takes no source whose partitions come and go: it reads ahead, and could not release "
                  "a partition between two reads. Subscribe one source to both topics");

public:
    using value_type = std::variant<typename first::value_type, typename second::value_type>;
    static constexpr bool has_sides = true;  // with no partition in common

    merged_source(A&& a, B&& b) : state_(std::make_unique<state>(std::forward<A>(a), std::forward<B>(b))) {}

    /// Reads both sources, each a batch ahead.
    [[nodiscard]] call<void> work(environment&, bool keeps_originals) {
        auto& here = co_await context();
        state_->keeps_originals = keeps_originals;
        co_await with_scope(here, [&](task_scope& both) -> call<void> {
            if constexpr (working_source<first>) both.spawn(works<0>, borrowed(*state_));
            if constexpr (working_source<second>) both.spawn(works<1>, borrowed(*state_));
            both.spawn(read_all<0>, borrowed(*state_));
            both.spawn(read_all<1>, borrowed(*state_));
            co_return;
        });
    }
    [[nodiscard]] call<bool> read(environment&, batch<value_type>& into, std::size_t most) {
        const std::size_t before = into.size();
        into.reserve(before + most);  // before a record is moved, which would be lost
        while (into.size() != before + most) {
            if (!state_->left) {
                if (state_->ended == std::array{true, true}) break;
                state_->left = into.size() == before ? co_await state_->ready.receive() : state_->ready.try_receive();
                state_->taken = 0;
                if (!state_->left) co_return true;
            }
            if (std::visit([&](auto& from) { return take(into, from, before + most); }, *state_->left)) {
                state_->left.reset();
            }
        }
        if (into.size() != before) co_return true;
        state_->ended = {};  // of this run
        co_return false;
    }
    [[nodiscard]] std::string partition_name(std::uint32_t p) const {
        return p % 2 == 0 ? "0/" + std::string(state_->a.partition_name(p / 2))
                          : "1/" + std::string(state_->b.partition_name(p / 2));
    }
    [[nodiscard]] std::vector<std::uint32_t> partitions() const {
        std::vector<std::uint32_t> all;
        if constexpr (partitioned_source<first>) {
            for (const std::uint32_t p : state_->a.partitions()) all.push_back(2 * p);
        }
        if constexpr (partitioned_source<second>) {
            for (const std::uint32_t p : state_->b.partitions()) all.push_back(2 * p + 1);
        }
        return all;
    }
    [[nodiscard]] call<void> seek(environment&, const positions& to)
        requires seekable_source<first> && seekable_source<second>
    {
        auto& here = co_await context();
        check_sides(to);
        while (state_->ready.try_receive()) continue;
        state_->left.reset();
        state_->ended = {};
        state_->ended_parts.clear();
        co_await state_->a.seek(here, positions_of_side(to, '0'));
        co_await state_->b.seek(here, positions_of_side(to, '1'));
    }
    /// A side that stays where it is gives what was read ahead of it first.
    [[nodiscard]] call<void> rewind(environment&, const positions& to) {
        auto& here = co_await context();
        check_sides(to);
        state_->ended = {};
        state_->ended_parts.clear();
        if (state_->left && !keep_for_next_run(*state_->left)) state_->left.reset();
        std::vector<either> kept;
        while (auto next = state_->ready.try_receive()) {
            if (keep_for_next_run(*next)) kept.push_back(*std::move(next));
        }
        for (either& each : kept) (void)state_->ready.try_send(std::move(each));
        co_await rewind_side(here, state_->a, positions_of_side(to, '0'));
        co_await rewind_side(here, state_->b, positions_of_side(to, '1'));
    }
    [[nodiscard]] std::span<const std::uint32_t> ended() const noexcept { return state_->ended_parts; }
    [[nodiscard]] call<void> commit(environment&, const positions& done)
        requires committing_source<first> || committing_source<second>
    {
        auto& here = co_await context();
        if constexpr (committing_source<first>) co_await state_->a.commit(here, positions_of_side(done, '0'));
        if constexpr (committing_source<second>) co_await state_->b.commit(here, positions_of_side(done, '1'));
    }

private:
    template <std::size_t Side>
    struct part {
        batch<typename std::conditional_t<Side == 0, first, second>::value_type> records{};
        std::vector<std::uint32_t> ended{};  // partitions, behind the records
        bool is_last = false;                // of the run
    };
    using either = std::variant<part<0>, part<1>>;

    struct state {
        state(A&& x, B&& y) : a(std::forward<A>(x)), b(std::forward<B>(y)) {}

        A a;
        B b;
        // A slot for each side, which it holds while it reads: what was read is not lost by a stop.
        channel<either[2]> ready;
        std::array<bool, 2> ended{};  // the last one of a side was read
        bool keeps_originals = false;
        std::optional<either> left{};  // of a batch that was larger than what was asked for
        std::size_t taken = 0;
        std::vector<std::uint32_t> ended_parts{};  // whose last record was given
    };

    /// As run() does with a source that is not merged.
    template <typename S>
    [[nodiscard]] static call<void> rewind_side(environment&, S& side, positions to) {
        auto& here = co_await context();
        if constexpr (rewinding_source<S>) {
            co_await side.rewind(here, to);
        } else if constexpr (rewinds<S>) {
            co_await side.seek(here, to);
        }
    }
    template <typename S>
    static constexpr bool rewinds = rewinding_source<S> || (seekable_source<S> && !committing_source<S>);
    template <std::size_t Side>
    [[nodiscard]] static std::span<const std::uint32_t> ended_of(state& of) {
        if constexpr (Side == 0 && ending_source<first>) return of.a.ended();
        if constexpr (Side == 1 && ending_source<second>) return of.b.ended();
        return {};
    }
    /// Each run tells anew where it ends.
    [[nodiscard]] static bool keep_for_next_run(either& of) noexcept {
        std::visit([](auto& from) { from.is_last = false; }, of);
        return of.index() == 0 ? !rewinds<first> : !rewinds<second>;
    }

    template <std::size_t Side>
    static fork<void> works(environment&, borrowed<state> self) {
        auto& here = co_await context();
        if constexpr (Side == 0) {
            co_await self->a.work(here, self->keeps_originals);
        } else {
            co_await self->b.work(here, self->keeps_originals);
        }
    }
    template <std::size_t Side>
    static fork<void> read_all(environment&, borrowed<state> self) {
        auto& here = co_await context();
        constexpr std::size_t most = 1000;
        std::size_t told = 0;  // of the partitions that have ended
        for (;;) {
            auto slot = co_await self->ready.reserve();
            if (!slot) co_return;
            part<Side> next;
            if (self->keeps_originals) next.records.keep_originals();
            bool more = false;
            if constexpr (Side == 0) {
                more = co_await self->a.read(here, next.records, most);
            } else {
                more = co_await self->b.read(here, next.records, most);
            }
            for (const auto all = ended_of<Side>(*self); told < all.size(); ++told)
                next.ended.push_back(2 * all[told] + static_cast<std::uint32_t>(Side));
            next.is_last = !more;
            slot->send(either(std::move(next)));
            if (!more) co_return;
        }
    }

    // Moves records on, up to `most` in all. Returns: whether none are left.
    template <std::size_t Side>
    bool take(batch<value_type>& into, part<Side>& from, std::size_t most) {
        std::size_t& i = state_->taken;
        state_->ended_parts.reserve(state_->ended_parts.size() + from.ended.size());
        for (; i != from.records.size() && into.size() != most; ++i) {
            auto& r = from.records[i];
            const std::uint32_t partition = 2 * r.partition + static_cast<std::uint32_t>(Side);
            if (r.original == nullptr) [[likely]] {
                into.push_back({value_type(std::in_place_index<Side>, std::move(r.value)), r.time, r.next, partition});
            } else {
                into.push_back({value_type(std::in_place_index<Side>, std::move(r.value)), r.time, r.next, partition},
                               from.records.original_of(i));
            }
        }
        if (i != from.records.size()) return false;
        state_->ended_parts.insert(state_->ended_parts.end(), from.ended.begin(), from.ended.end());
        if (from.is_last) state_->ended[Side] = true;
        return true;
    }

    std::unique_ptr<state> state_;
};

}  // namespace detail

/// `from(merge(orders, payments))`: one source of std::variant<A, B>, which reads both at once: one that is slow or
/// idle does not hold the other.
///
/// Shapes: two sources. One that has a name is used by reference, and outlives the run; a temporary is moved in. Their
/// partitions are named "0/…" and "1/…", and do not come and go. It can seek where both can, and commits where one
/// does; without positions each begins a run as it would by itself. Watermarks are by partition, so the job's is the
/// least of both.
/// Errors: those of both; std::invalid_argument for a position that is of neither.
/// Costs: a move for each record.
template <typename A, typename B>
    requires source<std::remove_reference_t<A>> && source<std::remove_reference_t<B>>
[[nodiscard]] auto merge(A&& a, B&& b) {
    return detail::merged_source<A, B>(std::forward<A>(a), std::forward<B>(b));
}

}  // namespace coflux::stream
