#include <coflux/stream/merge.hpp>

#include <stdexcept>
#include <string>

namespace coflux::stream::detail {

positions positions_of_side(const positions& all, char side) {
    positions its;
    for (const position& each : all) {
        if (each.partition.starts_with(std::string{side, '/'})) its.push_back({each.partition.substr(2), each.next});
    }
    return its;
}

void check_sides(const positions& all) {
    for (const position& each : all) {
        if (!each.partition.starts_with("0/") && !each.partition.starts_with("1/")) {
            throw std::invalid_argument("coflux: the partition \"" + each.partition +
                                        "\" is of neither source of a merge(): theirs begin with 0/ and 1/");
        }
    }
}

}  // namespace coflux::stream::detail
