// kafka::position: a place in a partition of a topic.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

namespace coflux::kafka {

/// Offsets that are rules.
enum class place : std::int64_t {
    beginning = -2,     ///< the first message that is there
    end = -1,           ///< behind the last
    committed = -1000,  ///< where the group has committed; without that as consumer_options::start says
    none = -1001,       ///< no offset
};

/// The offset of a message, or of the next one, in a partition of a topic; or a rule.
struct position {
    std::string topic;
    std::int32_t partition = 0;
    std::int64_t offset = static_cast<std::int64_t>(place::none);

    position() = default;
    // NOLINTNEXTLINE(google-explicit-constructor): {"orders", 2}
    position(std::string t, std::int32_t p, std::int64_t o = static_cast<std::int64_t>(place::none))
        : topic(std::move(t)),
          partition(p),
          offset(o) {}
    position(std::string t, std::int32_t p, place o) : position(std::move(t), p, static_cast<std::int64_t>(o)) {}

    /// It is no rule.
    [[nodiscard]] bool has_offset() const noexcept { return offset >= 0; }
    friend bool operator==(const position&, const position&) = default;
};

}  // namespace coflux::kafka

namespace coflux::detail {

/// Whether both are of one partition.
[[nodiscard]] inline bool names_same(const kafka::position& a, const kafka::position& b) noexcept {
    return a.partition == b.partition && a.topic == b.topic;
}

}  // namespace coflux::detail
