// Texts that become values: the bytes are a file on a simulated disk, which line_source cuts into lines; each of them
// is parsed as CSV, as UTF-8, and where nlohmann/json is there as JSON. Models say where lines end, and what comes
// again of what is written.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <coflux/base/assert.hpp>
#include <coflux/coflux.hpp>
#include <coflux/stream/csv.hpp>
#include <coflux/stream/line_source.hpp>
#include <coflux/stream/parse.hpp>
#include <coflux/testing/replay_chooser.hpp>
#include <coflux/testing/sim_disk.hpp>
#include <coflux/testing/sim_executor.hpp>
#include <coflux/testing/simulation.hpp>
#if __has_include(<nlohmann/json.hpp>)
#    include <coflux/stream/json.hpp>
#endif

#include "fuzz/program.hpp"

namespace coflux_fuzz_texts {

namespace stream = coflux::stream;
using coflux::testing::sim_executor;

struct cut {
    std::vector<std::string> lines;
    std::vector<std::int64_t> nexts;
    bool is_too_long = false;
};

std::size_t end_of_line(std::string_view text, std::size_t from) {
    return std::min(text.find('\n', from), text.size());
}

/// Where the field ends whose first byte, at `begin`, is a quote: at a separator, or at the end of its record.
/// `most`: where the record ends at the latest. Where it goes on behind that, the quote is one that does not close.
std::size_t end_of_quoted(std::string_view text, std::size_t begin, std::size_t most, char separator) {
    const bool goes_on = text.size() > most;
    const std::size_t known = std::min(text.size(), most + 1);
    std::size_t i = begin + 1;
    for (;; i += 2) {
        i = std::min(text.find('"', i), text.size());
        if (i >= known) return end_of_line(text, begin);
        if (i + 1 == known || text[i + 1] != '"') break;
    }
    for (++i; i != known && text[i] == '\r';) ++i;
    if (i == known) return goes_on ? end_of_line(text, begin) : i;
    if (text[i] == separator || text[i] == '\n') return i;
    // More is behind the quote: the record ends with the line of its first one.
    const std::size_t end = end_of_line(text, begin);
    return end < i ? end : end_of_line(text, i);
}

std::size_t end_of_record(std::string_view text, std::size_t begin, const stream::line_source_options& options) {
    if (!options.quoted) return end_of_line(text, begin);
    const std::string ends{options.separator, '\n'};
    for (std::size_t i = begin;; ++i) {
        const bool is_quoted = i < text.size() && text[i] == '"';
        i = is_quoted ? end_of_quoted(text, i, begin + options.most_bytes, options.separator)
                      : std::min(text.find_first_of(ends, i), text.size());
        if (i == text.size() || text[i] == '\n') return i;
    }
}

/// As the page of line_source says.
cut model_of(std::string_view text, const stream::line_source_options& options) {
    cut all;
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t i = end_of_record(text, begin, options);
        const bool at_end = i == text.size();
        if (i - begin > options.most_bytes) {
            all.is_too_long = true;
            break;
        }
        std::string_view line = text.substr(begin, i - begin);
        if (!at_end && line.ends_with('\r')) line.remove_suffix(1);
        // Lines are skipped, and a record is where its first one is.
        if (static_cast<std::size_t>(std::ranges::count(text.substr(0, begin), '\n')) >= options.skip) {
            all.lines.emplace_back(line);
            all.nexts.push_back(static_cast<std::int64_t>(at_end ? i : i + 1));
        }
        begin = i + 1;
    }
    return all;
}

coflux::task<cut, sim_executor> reads(coflux::environment&, stream::line_source_options options, std::size_t most) {
    auto& here = co_await coflux::context();
    stream::line_source from("/in", options);
    stream::batch<stream::text_line> batch;
    cut all;
    try {
        while (co_await from.read(here, batch, most)) {
            COFLUX_VERIFY(!batch.empty() && batch.size() <= most, "%zu lines", batch.size());
            for (const auto& r : batch) {
                all.lines.push_back(r.value.text);
                all.nexts.push_back(r.next);
            }
            batch.clear();
        }
    } catch (const stream::bad_text& e) {
        COFLUX_VERIFY(std::string_view(e.what()).starts_with("coflux: /in, line "), "%s", e.what());
        all.is_too_long = true;
    }
    co_return all;
}

void parse_as_each(const std::string& line) {
    const std::size_t end = stream::end_of_utf8(line);
    COFLUX_VERIFY(end <= line.size() && stream::end_of_utf8(std::string_view(line).substr(0, end)) == end, "UTF-8");
    try {
        const std::vector<std::string> fields = stream::csv_fields()(line);
        COFLUX_VERIFY(stream::csv_fields()(stream::csv_line(fields)) == fields, "CSV is not what it was");
    } catch (const stream::bad_text&) {
        COFLUX_VERIFY(line.find('"') != std::string::npos, "CSV without quotes is refused");
    }
    COFLUX_VERIFY(stream::csv_fields()(stream::csv_line({&line, 1})) == std::vector{line},
                  "a field is not what it was");
#if __has_include(<nlohmann/json.hpp>)
    try {
        const auto value = stream::json_to<nlohmann::json>()(line);
        COFLUX_VERIFY(stream::json_to<nlohmann::json>()(stream::to_json()(value)) == value, "JSON is not what it was");
    } catch (const nlohmann::json::exception&) {
    } catch (const stream::bad_text&) {}
#endif
}

}  // namespace coflux_fuzz_texts

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    using namespace coflux_fuzz_texts;
    coflux_fuzz::program p(bytes, size);
    stream::line_source_options options;
    options.quoted = p.coin();
    options.skip = p.below(3);
    options.most_bytes = 1 + p.byte();
    const std::size_t most = 1 + p.below(8);
    const std::string text(reinterpret_cast<const char*>(bytes) + (size < 4 ? size : 4), size < 4 ? 0 : size - 4);

    coflux::testing::fifo_chooser fifo;
    coflux::testing::simulation sim{fifo};
    sim_executor on;
    coflux::testing::sim_disk disk(on);
    disk.put("/in", text);
    auto env = coflux::make_environment(on);
    const cut got = reads(env, options, most).get();
    const cut expected = model_of(text, options);
    COFLUX_VERIFY(got.is_too_long == expected.is_too_long, "too long");
    COFLUX_VERIFY(got.lines == expected.lines && got.nexts == expected.nexts, "the lines");
    for (const std::string& line : expected.lines) parse_as_each(line);
    return 0;
}
