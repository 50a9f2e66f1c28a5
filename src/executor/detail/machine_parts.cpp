#include "machine_parts.hpp"

#include <algorithm>
#include <array>
#include <map>

#include "os/thread/sysfs.hpp"

namespace coflux::detail {
namespace {

/// Numbers of the system that make a core, where it does not list the processors of one.
using core_key = std::array<unsigned long long, 3>;

std::vector<unsigned> running_processors(const std::string& folder) {
    std::vector<unsigned> all;
    if (const auto online = os::list_in(folder + "/online"); online && !online->empty()) {
        all = *online;
    } else {
        all = os::numbered_in(folder, "cpu");
    }
    std::erase_if(all, [&](unsigned n) {
        return os::number_in(folder + "/cpu" + std::to_string(n) + "/online").value_or(1) == 0;
    });
    return all;
}

/// The lowest number of a processor on the same core.
unsigned core_of(unsigned number, const std::string& folder, std::map<core_key, unsigned>& known) {
    for (const char* const list : {"core_cpus_list", "thread_siblings_list"}) {
        const auto siblings = os::list_in(folder + list);
        if (siblings && std::binary_search(siblings->begin(), siblings->end(), number)) return siblings->front();
    }
    const auto id = os::number_in(folder + "core_id");
    if (!id) return number;
    const core_key key{os::number_in(folder + "physical_package_id").value_or(0),
                       os::number_in(folder + "die_id").value_or(0), *id};
    return known.try_emplace(key, number).first->second;
}

void add_caches(const std::string& folder, unsigned number, std::vector<topology::cache>& caches) {
    for (const unsigned index : os::numbered_in(folder, "index")) {
        const std::string of_cache = folder + "/index" + std::to_string(index) + "/";
        const auto level = os::number_in(of_cache + "level");
        if (!level || os::line_in(of_cache + "type").value_or("") == "Instruction") continue;
        auto shared = os::list_in(of_cache + "shared_cpu_list").value_or(std::vector<unsigned>());
        if (!std::binary_search(shared.begin(), shared.end(), number)) shared = {number};
        caches.push_back({static_cast<unsigned>(*level), os::number_in(of_cache + "size").value_or(0),
                          os::number_in(of_cache + "coherency_line_size").value_or(0), std::move(shared)});
    }
}

}  // namespace

machine_parts parts_in_sysfs(const std::string& root) {
    const std::string folder = root + "/devices/system/cpu";
    machine_parts parts;
    std::map<core_key, unsigned> cores;
    for (const unsigned number : running_processors(folder)) {
        const std::string of_processor = folder + "/cpu" + std::to_string(number);
        const std::string place = of_processor + "/topology/";
        parts.processors.push_back(
            {.number = number,
             .core = core_of(number, place, cores),
             .package = static_cast<unsigned>(os::number_in(place + "physical_package_id").value_or(0))});
        add_caches(of_processor + "/cache", number, parts.caches);
    }
    const std::string nodes = root + "/devices/system/node";
    for (const unsigned node : os::numbered_in(nodes, "node")) {
        const auto near =
            os::list_in(nodes + "/node" + std::to_string(node) + "/cpulist").value_or(std::vector<unsigned>());
        for (topology::processor& p : parts.processors) {
            if (std::binary_search(near.begin(), near.end(), p.number)) p.node = node;
        }
    }
    return parts;
}

}  // namespace coflux::detail
