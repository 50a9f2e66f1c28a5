// The page docs/design/topology.md says where each fact comes from, and what replaces one that is missing.
#include <coflux/executor/topology.hpp>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <set>
#include <tuple>
#include <utility>

#include <coflux/base/assert.hpp>
#include <coflux/base/thread.hpp>

#include "executor/detail/machine_parts.hpp"
#include "os/thread/cpu_quota.hpp"
#include "os/thread/thread.hpp"

namespace coflux {
namespace {

using processor = topology::processor;
using cache = topology::cache;

constexpr auto by_number = [](const processor& a, const processor& b) { return a.number < b.number; };
constexpr auto before_number = [](const processor& p, unsigned number) { return p.number < number; };
constexpr unsigned any_level = std::numeric_limits<unsigned>::max();

/// The processors that run and are allowed; if that is none, those that are allowed.
std::vector<processor> usable(std::vector<processor> running, std::vector<unsigned> allowed) {
    std::sort(running.begin(), running.end(), by_number);
    if (allowed.empty()) return running;
    std::sort(allowed.begin(), allowed.end());
    std::vector<processor> both;
    std::copy_if(running.begin(), running.end(), std::back_inserter(both),
                 [&](const processor& p) { return std::binary_search(allowed.begin(), allowed.end(), p.number); });
    if (!both.empty()) return both;
    for (const unsigned number : allowed) both.push_back({.number = number, .core = number});
    return both;
}

void number_cores(std::vector<processor>& all) {
    std::vector<unsigned> seen;
    for (processor& p : all) {
        const auto at = std::find(seen.begin(), seen.end(), p.core);
        const auto core = static_cast<unsigned>(at - seen.begin());
        if (at == seen.end()) seen.push_back(p.core);
        p.core = core;
    }
}

template <typename F>
std::size_t count_different(const std::vector<processor>& all, F of) {
    std::set<unsigned> different;
    for (const processor& p : all) different.insert(of(p));
    return different.size();
}

/// The first usable processor behind the highest cache of a processor that is not above `level`.
unsigned first_behind(const topology& t, const processor& p, unsigned level) {
    const auto at =
        std::find_if(p.caches.rbegin(), p.caches.rend(), [&](std::size_t c) { return t.caches()[c].level <= level; });
    return at == p.caches.rend() ? 0 : t.caches()[*at].processors.front();
}

}  // namespace

topology::topology(detail::machine_parts parts)
    : processors_(usable(std::move(parts.processors), std::move(parts.allowed))),
      caches_(std::move(parts.caches)),
      quota_(parts.quota) {
    if (processors_.empty()) processors_.emplace_back();
    number_cores(processors_);
    for (cache& c : caches_) {
        std::erase_if(c.processors, [this](unsigned number) {
            return !std::binary_search(processors_.begin(), processors_.end(), processor{.number = number}, by_number);
        });
    }
    std::erase_if(caches_, [](const cache& c) { return c.processors.empty(); });
    const auto place = [](const cache& c) { return std::tie(c.level, c.processors); };
    std::sort(caches_.begin(), caches_.end(), [](const cache& a, const cache& b) {
        return std::tie(a.level, a.processors, a.size_bytes) < std::tie(b.level, b.processors, b.size_bytes);
    });
    caches_.erase(std::unique(caches_.begin(), caches_.end(),
                              [&](const cache& a, const cache& b) { return place(a) == place(b); }),
                  caches_.end());
    for (std::size_t i = 0; i < caches_.size(); ++i) {
        for (const unsigned number : caches_[i].processors)
            std::lower_bound(processors_.begin(), processors_.end(), number, before_number)->caches.push_back(i);
    }
}

const topology& topology::of_this_process() {
    static const topology once = read();
    return once;
}

topology topology::read() {
    detail::machine_parts parts = detail::parts_by_hwloc();
    if (parts.processors.empty()) parts = detail::parts_in_sysfs("/sys");
    parts.allowed = detail::os::allowed_processors();
    if (parts.allowed.empty() && parts.processors.empty()) {
        for (unsigned n = 0; n < detail::thread::hardware_concurrency(); ++n) parts.allowed.push_back(n);
    }
    const double share = detail::os::cpu_share();
    if (std::isfinite(share)) parts.quota = share;
    return topology(std::move(parts));
}

topology topology::read_from(const std::string& root, std::vector<unsigned> allowed, std::optional<double> quota) {
    detail::machine_parts parts = detail::parts_in_sysfs(root);
    parts.allowed = std::move(allowed);
    parts.quota = quota;
    return topology(std::move(parts));
}

std::size_t topology::physical_cores() const noexcept {
    return count_different(processors_, [](const processor& p) { return p.core; });
}
std::size_t topology::numa_nodes() const noexcept {
    return count_different(processors_, [](const processor& p) { return p.node; });
}
std::size_t topology::worker_count() const noexcept {
    return quota_ ? detail::os::whole_processors(*quota_, processors_.size()) : processors_.size();
}

const topology::processor& topology::at(unsigned number) const noexcept {
    const auto found = std::lower_bound(processors_.begin(), processors_.end(), number, before_number);
    COFLUX_VERIFY(found != processors_.end() && found->number == number,
                  "processor %u is not one that the process may use", number);
    return *found;
}

processor_distance topology::distance(unsigned a, unsigned b) const noexcept {
    const processor& one = at(a);
    const processor& other = at(b);
    if (one.core == other.core) return processor_distance::same_core;
    for (const std::size_t c : one.caches) {
        if (std::find(other.caches.begin(), other.caches.end(), c) == other.caches.end()) continue;
        return caches_[c].level <= 2 ? processor_distance::shared_l2 : processor_distance::shared_l3;
    }
    return one.node == other.node ? processor_distance::same_node : processor_distance::other_node;
}

std::vector<unsigned> topology::binding_order() const {
    using place = std::tuple<std::size_t, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned>;
    std::vector<place> places;
    std::vector<std::size_t> met(processors_.size());  // processors of a core so far
    for (const processor& p : processors_) {
        places.emplace_back(met[p.core]++, p.node, p.package, first_behind(*this, p, any_level),
                            first_behind(*this, p, 2), p.core, p.number);
    }
    std::sort(places.begin(), places.end());
    std::vector<unsigned> order;
    for (const place& p : places) order.push_back(std::get<6>(p));
    return order;
}

}  // namespace coflux
