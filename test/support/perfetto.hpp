// A reader of Perfetto's traces, by the numbers that its .proto files publish. It is written apart from the writer, and
// refuses what it does not know.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace coflux::test {

struct perfetto_track {
    std::string name;  ///< of a thread or process, or its own
    std::uint64_t parent = 0;
    std::uint64_t process = 0;
    std::uint64_t thread = 0;
};

struct perfetto_event {
    enum class kind { slice_begin = 1, slice_end = 2, instant = 3 };

    kind type{};
    std::uint64_t track = 0;
    std::uint64_t time = 0;
    std::string name;
    std::vector<std::string> categories;
    std::map<std::string, std::string> annotations;
    std::vector<std::uint64_t> flows;
    std::vector<std::uint64_t> ended_flows;
};

struct perfetto_trace {
    std::map<std::uint64_t, perfetto_track> tracks;
    std::vector<perfetto_event> events;
    bool dropped = false;
};

/// A trace that breaks a rule of the encoding fails the test, and gives what came before.
[[nodiscard]] perfetto_trace read_perfetto(std::string_view bytes);

}  // namespace coflux::test
