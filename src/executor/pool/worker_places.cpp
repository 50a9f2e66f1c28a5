#include "worker_places.hpp"

#include <algorithm>
#include <utility>

#include "os/thread/thread.hpp"

namespace coflux::detail {

worker_places::worker_places(topology machine, std::size_t workers) : machine_(std::move(machine)) {
    const std::vector<unsigned> order = machine_->binding_order();
    processors_.reserve(workers);
    for (std::size_t i = 0; i < workers; ++i) processors_.push_back(order[i % order.size()]);
}

worker_places worker_places::here(std::size_t workers) {
    const topology& known = topology::of_this_process();
    const std::vector<unsigned> allowed = os::allowed_processors();
    const auto& all = known.processors();
    const bool same = allowed.empty() || std::equal(all.begin(), all.end(), allowed.begin(), allowed.end(),
                                                    [](const auto& p, unsigned number) { return p.number == number; });
    return worker_places(same ? known : topology::read(), workers);
}

victim_order worker_places::victims_of(std::size_t worker) const {
    if (processors_.empty()) return {};
    std::vector<unsigned> ranks;
    ranks.reserve(processors_.size());
    for (const unsigned p : processors_)
        ranks.push_back(static_cast<unsigned>(machine_->distance(processors_[worker], p)));
    return {worker, ranks};
}

}  // namespace coflux::detail
