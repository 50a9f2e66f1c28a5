// The events of Nexmark, read by hand: all of them are made of their lines, and then the loop of nexmark goes over
// them.
#include "nexmark/line.hpp"
#include "nexmark/loop.hpp"
#include "nexmark_work.hpp"
#include "workloads.hpp"
#ifdef LAB_HAS_KAFKA
#    include "kafka_reader.hpp"
#endif

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace lab {
namespace {

using events = std::vector<nexmark::event>;

class open_file {
public:
    explicit open_file(const std::string& path) : descriptor_{open(path.c_str(), O_RDONLY | O_CLOEXEC)} {
        if (descriptor_ < 0) {
            throw std::system_error{errno, std::generic_category(), path};
        }
    }
    ~open_file() { close(descriptor_); }
    open_file(const open_file&) = delete;
    open_file& operator=(const open_file&) = delete;

    [[nodiscard]] std::size_t read_into(char* to, std::size_t most) const {
        const ssize_t got = read(descriptor_, to, most);
        if (got < 0) {
            throw std::system_error{errno, std::generic_category(), "read"};
        }
        return static_cast<std::size_t>(got);
    }

private:
    int descriptor_;
};

events events_of_file(const std::string& path, std::uint64_t count) {
    const open_file file{path};
    events all;
    all.reserve(count);
    std::vector<char> block(std::size_t{1} << 18);
    std::size_t begun = 0;  // bytes of a line whose end has not come
    while (const std::size_t got = file.read_into(block.data() + begun, block.size() - begun)) {
        std::string_view rest{block.data(), begun + got};
        for (std::size_t end = rest.find('\n'); end != std::string_view::npos; end = rest.find('\n')) {
            all.push_back(nexmark::event_of(rest.substr(0, end)));
            rest.remove_prefix(end + 1);
        }
        begun = rest.size();
        std::memmove(block.data(), rest.data(), begun);
    }
    return all;
}

#ifdef LAB_HAS_KAFKA
harness::measured of_topic(const harness::request& r) {
    const nexmark::query query = harness::query_of(r);
    const filled_topic of{1, r.integer("events")};
    return harness::measure(r, [&](harness::stopwatch& watch) {
        kafka_reader in{of, name_of_pass()};
        events all;
        all.reserve(of.records);
        in.read(watch, [&](const rd_kafka_message_t& m) { all.push_back(nexmark::event_of(value_of(m))); }, [] {});
        const std::uint64_t answer = nexmark::run_loop(query, all).value();
        watch.stop();
        return answer;
    });
}
#else
harness::measured of_topic(const harness::request&) {
    throw harness::unsupported_params{"built without librdkafka: install librdkafka-dev"};
}
#endif

}  // namespace

harness::measured nexmark_source(const harness::request& r) {
    if (r.choice("source", {"file", "kafka"}) == "kafka") {
        return of_topic(r);
    }
    const nexmark::query query = harness::query_of(r);
    const std::string path = harness::nexmark_file();
    return harness::measure(
        r, [&] { return nexmark::run_loop(query, events_of_file(path, r.integer("events"))).value(); });
}

}  // namespace lab
