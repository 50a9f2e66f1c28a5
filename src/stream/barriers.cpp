#include <coflux/stream/detail/barriers.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

namespace coflux::stream::detail {

std::uint64_t barriers::open(positions at) {
    const std::lock_guard lock(mutex_);
    entry& e = of_[++last_];
    e.passed.reached.at = std::move(at);
    e.passed.loads.resize(planned_.size());
    e.owners = planned_;
    for (auto& each : planned_) each.reset();
    return last_;
}

std::shared_ptr<const slot_owners> barriers::owners(std::uint64_t number, std::uint32_t region) {
    const std::lock_guard lock(mutex_);
    const auto found = of_.find(number);
    return found == of_.end() || region >= found->second.owners.size() ? nullptr : found->second.owners[region];
}

void barriers::add(std::uint64_t number, slot_state state) {
    const std::lock_guard lock(mutex_);
    of_[number].passed.reached.states.push_back(std::move(state));
}

void barriers::add(std::uint64_t number, std::uint32_t region, const slot_loads& loads) {
    const std::lock_guard lock(mutex_);
    slot_loads& all = of_[number].passed.loads[region];
    all.resize(loads.size());
    for (std::size_t s = 0; s != loads.size(); ++s) all[s] += loads[s];
}

barriers::passed barriers::take(std::uint64_t number) {
    const std::lock_guard lock(mutex_);
    auto taken = of_.extract(number);
    return std::move(taken.mapped().passed);
}

void barriers::committed(std::uint64_t number) noexcept {
    committed_.store(number, std::memory_order_release);  // pairs with the acquire in is_committed()
    news_.set();
}

call<void> barriers::wait_for_commit(environment&, std::uint64_t number) {
    while (!is_committed(number)) co_await news_.wait();
}

void barriers::plan(std::uint32_t region, slot_owners owners) {
    const std::lock_guard lock(mutex_);
    planned_[region] = std::make_shared<const slot_owners>(std::move(owners));
}

}  // namespace coflux::stream::detail
