#include "inspect/profile/processor_samples.hpp"

#include <algorithm>

#include "inspect/stall/running_chain.hpp"

namespace coflux::detail {

processor_samples::processor_samples(std::uint64_t period) : period_(period), sampling_(period, &take, this) {
    find_threads();
}

void processor_samples::take(void* self, std::uint32_t index, std::uint32_t periods) noexcept {
    auto& of = static_cast<processor_samples*>(self)->for_handlers_[index];
    sampled_thread& thread = *of.load(memory_order_acquire);  // pairs with find_threads()
    thread.ring.add(periods, [&thread, periods](processor_sample& s) {
        s.periods = periods;
        s.depth = static_cast<std::uint32_t>(running_places(thread.state, s.places.data(), s.places.size()));
    });
}

void processor_samples::find_threads() {
    for (std::size_t place = 0; place < most_registered_threads; ++place) {
        const std::uint64_t number = registered_numbers[place].load(memory_order_acquire);
        const thread_state* const state = registered_threads[place].load(memory_order_acquire);
        if (registered_numbers[place].load(memory_order_relaxed) != number || number == seen_[place]) continue;
        seen_[place] = number;
        if (number == 0) continue;
        const std::size_t index = threads_.size();
        if (index == most_threads) {
            ++left_out_;
            continue;
        }
        threads_.push_back(std::make_unique<sampled_thread>(state));
        for_handlers_[index].store(threads_.back().get(), memory_order_release);
        if (!sampling_.add(number, static_cast<std::uint32_t>(index))) ++left_out_;
    }
}

void processor_samples::take_all(frame_names& names, stack_times& into) {
    stack_times::chain chain;
    for (const auto& t : threads_) {
        t->ring.take_all([&](const processor_sample& s) {
            chain.clear();
            if (s.depth == 0) chain.push_back(names.of_text("no coroutine that has asked for its context"));
            const std::size_t shown = std::min<std::size_t>(s.depth, processor_sample::deepest);
            for (std::size_t i = 0; i < shown; ++i) chain.push_back(names.of_place(s.places[i]));
            if (shown != s.depth) chain.push_back(names.of_text("others above"));
            into.add(chain, s.periods * period_, s.periods);
        });
    }
}

std::uint64_t processor_samples::lost() const noexcept {
    std::uint64_t all = 0;
    for (const auto& t : threads_) all += t->ring.lost();
    return all;
}

}  // namespace coflux::detail
