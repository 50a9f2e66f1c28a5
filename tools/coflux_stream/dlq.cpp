#include "dlq.hpp"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>

#include <coflux/coflux.hpp>
#include <coflux/io/directory.hpp>
#include <coflux/io/file.hpp>
#include <coflux/stream/detail/checksum.hpp>
#include <coflux/stream/line_source.hpp>

#include "letter.hpp"

namespace coflux_stream {

using coflux::call;
using coflux::environment;
using coflux::stream::dead_letter;

/// A line of the file: a letter, or why it is none.
struct entry {
    std::uint64_t number = 0;
    std::optional<dead_letter> letter;
    std::string fault;
};

void put(std::string_view text) {
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size())
        throw failure("standard output: " + std::system_category().message(errno));
}
void put_all() {
    if (std::fflush(stdout) != 0) throw failure("standard output: " + std::system_category().message(errno));
}
void tell(const std::string& path, std::uint64_t number, const std::string& what) {
    std::fprintf(stderr, "coflux-stream: %s, line %llu: %s\n", path.c_str(), static_cast<unsigned long long>(number),
                 what.c_str());
}
std::string letters(std::uint64_t n) {
    return std::to_string(n) + (n == 1 ? " letter" : " letters");
}

entry entry_of(const coflux::stream::text_line& line) {
    entry read{line.number, std::nullopt, {}};
    try {
        read.letter = read_letter(line.text);
    } catch (const std::runtime_error& e) {
        read.fault = std::string("it is no dead letter, or was cut off: ") + e.what();
    }
    return read;
}

bool has(const std::vector<std::uint64_t>& numbers, std::uint64_t number) {
    return std::ranges::find(numbers, number) != numbers.end();
}
/// A line that is no letter may be meant by each selection but one of numbers.
bool is_meant(const selection& wanted, const entry& e) {
    if (has(wanted.without, e.number)) return false;
    if (!wanted.numbers.empty() && !has(wanted.numbers, e.number)) return false;
    if (!e.letter) return true;
    const auto fits = [](const std::string& one, const std::string& is) { return one.empty() || one == is; };
    return fits(wanted.job, e.letter->job) && fits(wanted.partition, e.letter->partition) &&
           fits(wanted.stage, e.letter->stage) && e.letter->error.find(wanted.error) != std::string::npos;
}

/// Calls `use` with each line, up to `last`. Returns: how many there were.
call<std::uint64_t> each_entry(environment&, const std::string& path, std::function<void(entry)> use,
                               std::uint64_t last = UINT64_MAX) {
    auto& here = co_await coflux::context();
    // No limit: the file has what a job has read, which had one.
    coflux::stream::line_source lines(path, {.most_bytes = SIZE_MAX});
    coflux::stream::batch<coflux::stream::text_line> batch;
    std::uint64_t read = 0;
    while (read != last && co_await lines.read(here, batch, 64)) {
        for (const auto& line : batch) {
            if (read == last) break;
            ++read;
            use(entry_of(line.value));
        }
        batch.clear();
    }
    co_return read;
}

call<void> list(environment&, const std::string& path, const selection& wanted) {
    auto& here = co_await coflux::context();
    std::uint64_t bad = 0;
    put("number\tpartition\tnext\tstage\tattempts\tbytes\terror\n");
    co_await each_entry(here, path, [&](const entry& e) {
        if (!is_meant(wanted, e)) return;
        if (!e.letter) {
            tell(path, e.number, e.fault);
            ++bad;
            return;
        }
        const dead_letter& l = *e.letter;
        put(std::to_string(e.number) + "\t" + shown(l.partition) + "\t" + std::to_string(l.next) + "\t" +
            shown(l.stage) + "\t" + std::to_string(l.attempts) + "\t" + std::to_string(l.original.value.size()) + "\t" +
            shown(l.error) + "\n");
    });
    put_all();
    if (bad != 0)
        throw failure(path + " has " + std::to_string(bad) + (bad == 1 ? " line" : " lines") + " that cannot be read");
}

void put_field(const char* name, const std::string& value) {
    put(std::string(name) + std::string(11 - std::string_view(name).size(), ' ') + value + "\n");
}
call<void> show(environment&, const std::string& path, std::uint64_t number, bool raw) {
    auto& here = co_await coflux::context();
    entry found;
    const std::uint64_t lines = co_await each_entry(here, path, [&](entry e) { found = std::move(e); }, number);
    if (lines < number) throw failure(path + " has " + letters(lines) + ", and no " + std::to_string(number));
    if (!found.letter) throw failure(path + ", line " + std::to_string(number) + ": " + found.fault);
    const dead_letter& l = *found.letter;
    if (raw) {
        put(l.original.value);
        put_all();
        co_return;
    }
    put_field("job", shown(l.job));
    put_field("stage", shown(l.stage));
    put_field("error", shown(l.error));
    put_field("attempts", std::to_string(l.attempts));
    put_field("partition", shown(l.partition));
    put_field("next", std::to_string(l.next));
    put_field("time", shown(l.time));
    for (const auto& [name, value] : l.original.headers) put_field("header", shown(name) + ": " + shown(value));
    put_field("key", shown(l.original.key));
    put_field("bytes", std::to_string(l.original.value.size()));
    put_field("value", shown(l.original.value));
    put_all();
}

/// Why the value of a letter cannot be a line; empty if it can.
std::string why_no_line(const dead_letter& l, const replay_options& options) {
    const std::string& value = l.original.value;
    if (value.empty() && !options.with_empty)
        return "it has no bytes: its source gives none, a stage has made the record, or it was an empty line; "
               "--with-empty writes an empty line, --without leaves it out";
    if (options.quoted) {
        if (std::ranges::count(value, '"') % 2 != 0)
            return "its quote never closes, and would take in the lines behind it; --without leaves it out";
    } else if (value.find('\n') != std::string::npos) {
        return "it has a line end, and would be two lines; --quoted writes it for a source of quoted records";
    }
    return {};
}

/// Where the lines go: to standard output, or to a file that is there once all are in it.
class output {
public:
    explicit output(std::string to) : to_(std::move(to)) {}

    call<void> open(environment&) {
        if (to_.empty()) co_return;
        if (std::filesystem::exists(to_))
            throw failure(to_ + " is there already: it may have what an earlier replay has written");
        file_ = co_await coflux::file::open(to_ + ".new", {.write = true, .create = true, .truncate = true});
    }
    void add(const std::string& value) {
        // A "\r" at the end of a line would be a part of the line end.
        held_.append(value).append(value.ends_with('\r') ? "\r\n" : "\n");
    }
    call<void> write(environment&) {
        if (to_.empty()) {
            put(held_);
        } else {
            co_await file_.write_at(at_, held_);
        }
        at_ += held_.size();
        held_.clear();
    }
    [[nodiscard]] bool is_large() const noexcept { return held_.size() > (std::size_t{1} << 20); }
    call<void> finish(environment&) {
        if (to_.empty()) {
            put_all();
            co_return;
        }
        co_await file_.sync();
        co_await file_.close();
        const std::filesystem::path path(to_);
        const std::string folder = path.has_parent_path() ? path.parent_path().string() : ".";
        coflux::directory names = co_await coflux::directory::open(folder);
        co_await names.rename(path.filename().string() + ".new", path.filename().string());
        co_await names.sync();
    }

private:
    std::string to_;
    coflux::file file_;
    std::uint64_t at_ = 0;
    std::string held_;
};

/// Knows which letters were there before in one pass over the file.
class repeats {
public:
    bool is_repeated(const dead_letter& l) {
        const auto sum = [](const std::string& bytes) {
            return coflux::stream::detail::checksum(std::as_bytes(std::span(bytes)));
        };
        return !seen_.insert({l.partition, l.next, sum(l.original.key), sum(l.original.value)}).second;
    }

private:
    std::set<std::tuple<std::string, std::int64_t, std::uint64_t, std::uint64_t>> seen_;
};

call<void> replay(environment&, const std::string& path, const selection& wanted, const replay_options& options) {
    auto& here = co_await coflux::context();
    std::uint64_t bad = 0;
    const std::uint64_t lines = co_await each_entry(here, path, [&](const entry& e) {
        if (!is_meant(wanted, e)) return;
        const std::string fault = e.letter ? why_no_line(*e.letter, options) : e.fault;
        if (fault.empty()) return;
        tell(path, e.number, fault);
        ++bad;
    });
    if (bad != 0) throw failure("nothing is replayed: " + letters(bad) + " of " + path + " cannot be");

    output to(options.to);
    co_await to.open(here);
    repeats known;
    std::uint64_t written = 0;
    std::uint64_t left_out = 0;
    std::uint64_t with_more = 0;
    coflux::stream::line_source source(path, {.most_bytes = SIZE_MAX});
    coflux::stream::batch<coflux::stream::text_line> batch;
    // Letters that a job has appended since the first pass are not checked, and wait for the next replay.
    for (std::uint64_t read = 0; read != lines; batch.clear()) {
        if (!co_await source.read(here, batch, static_cast<std::size_t>(std::min<std::uint64_t>(64, lines - read))))
            throw failure(path + " has become shorter while it was read");
        read += batch.size();
        for (const auto& line : batch) {
            const entry e = entry_of(line.value);
            if (!is_meant(wanted, e) || !e.letter) continue;
            if (options.once && known.is_repeated(*e.letter)) {
                ++left_out;
                continue;
            }
            to.add(e.letter->original.value);
            ++written;
            if (!e.letter->original.key.empty() || !e.letter->original.headers.empty()) ++with_more;
            if (to.is_large()) co_await to.write(here);
        }
    }
    co_await to.write(here);
    co_await to.finish(here);
    std::string report = letters(written) + " of " + path + " replayed";
    if (left_out != 0) report += "; " + std::to_string(left_out) + " that were there before left out";
    if (with_more != 0) report += "; of " + std::to_string(with_more) + " the key or headers, which lines do not have";
    std::fprintf(stderr, "coflux-stream: %s\n", report.c_str());
}

}  // namespace coflux_stream
