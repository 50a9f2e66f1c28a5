// region_calls: the calls that a region begins with, for the records of one batch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include <coflux/combine/for_each_concurrent.hpp>
#include <coflux/core/call.hpp>
#include <coflux/core/context.hpp>
#include <coflux/stream/detail/failures.hpp>
#include <coflux/stream/detail/parcel.hpp>
#include <coflux/stream/record.hpp>

namespace coflux::stream::detail {

/// Results have the places of their records; a record that was given up has none.
template <typename In, typename Out>
class region_calls {
public:
    [[nodiscard]] std::vector<std::optional<Out>>& results() noexcept { return results_; }

    template <typename Call>
    [[nodiscard]] call<void> run(environment&, const Call& first, batch<In>& records, failures& failed) {
        auto& here = co_await context();
        results_.clear();
        results_.resize(records.size());
        if (errors_.size() < records.size()) errors_.resize(records.size());
        if (first.in_flight <= 1) {
            co_await one_by_one(here, first, records);
        } else {
            sort_by_slot(records);
            co_await for_each_concurrent(heads_, first.in_flight,
                                         [&](environment& inside, std::size_t head) -> call<void> {
                                             auto& self = co_await context();
                                             (void)inside;
                                             for (std::size_t i = head; i != last; i = next_[i]) {
                                                 co_await call_one(self, first, records, i);
                                             }
                                         });
        }
        for (std::size_t i = 0; i != records.size(); ++i) {
            while (errors_[i] != nullptr) {
                const bool again = co_await failed.try_again(here, records[i].partition);
                if (!again) {
                    co_await failed.give_up(here, head_of(records[i]), std::exchange(errors_[i], nullptr));
                    break;
                }
                errors_[i] = nullptr;
                co_await call_one(here, first, records, i);
            }
            failed.reset();
        }
    }

private:
    static constexpr std::size_t last = SIZE_MAX;

    template <typename Call>
    [[nodiscard]] call<void> one_by_one(environment&, const Call& first, batch<In>& records) {
        auto& here = co_await context();
        for (std::size_t i = 0; i != records.size(); ++i) {
            try {
                results_[i].emplace(co_await std::invoke(first.f, here, std::as_const(records[i].value)));
            } catch (...) {
                errors_[i] = std::current_exception();
            }
        }
    }
    template <typename Call>
    [[nodiscard]] call<void> call_one(environment&, const Call& first, batch<In>& records, std::size_t i) {
        auto& here = co_await context();
        try {
            results_[i].emplace(co_await std::invoke(first.f, here, std::as_const(records[i].value)));
        } catch (...) {
            errors_[i] = std::current_exception();
        }
    }

    // heads_ has the first record of each slot, next_ the one of the same slot that follows.
    void sort_by_slot(batch<In>& records) {
        heads_.clear();
        next_.assign(records.size(), last);
        newest_.clear();
        for (std::size_t i = 0; i != records.size(); ++i) {
            const auto [found, is_new] = newest_.try_emplace(records[i].slot, i);
            if (is_new) {
                heads_.push_back(i);
            } else {
                next_[std::exchange(found->second, i)] = i;
            }
        }
    }

    std::vector<std::optional<Out>> results_;
    std::vector<std::exception_ptr> errors_;  // none between two batches
    std::vector<std::size_t> heads_;
    std::vector<std::size_t> next_;
    std::unordered_map<std::uint32_t, std::size_t> newest_;
};

}  // namespace coflux::stream::detail
