#include <coflux/stream/join.hpp>

#include <cstddef>
#include <string>

namespace coflux::stream::detail {

void refuse_more(const char* limit, std::size_t most, const char* of) {
    throw state_full("coflux: a join keeps " + std::to_string(most) + " " + of + ", its join_limits::" + limit +
                     ": raise it, let it evict, or let the watermark come sooner");
}

}  // namespace coflux::stream::detail
