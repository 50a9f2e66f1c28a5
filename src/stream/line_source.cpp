#include <coflux/stream/line_source.hpp>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <coflux/core/context.hpp>
#include <coflux/io/directory.hpp>
#include <coflux/io/file.hpp>
#include <coflux/time/sleep.hpp>

namespace coflux::stream {
namespace {

constexpr std::size_t block = std::size_t{256} << 10;
constexpr std::size_t most_open = 64;  // files at a time

}  // namespace

class line_source::state {
public:
    state(std::vector<std::string> paths, const line_source_options& options) : options_(options) {
        if (paths.empty()) throw std::invalid_argument("coflux: a line_source without a file");
        if (options_.most_bytes == 0) throw std::invalid_argument("coflux: line_source_options::most_bytes is 0");
        if (options_.look_every < std::chrono::milliseconds(1))
            throw std::invalid_argument("coflux: line_source_options::look_every is less than a millisecond");
        if (options_.continued && options_.follow)
            throw std::invalid_argument(
                "coflux: line_source_options has continued and follow: a file that is followed has no end behind which "
                "the next one goes on");
        for (std::string& path : paths) parts_.push_back({std::move(path)});
    }

    [[nodiscard]] const std::string& path_of(std::uint32_t p) const { return parts_.at(p).path; }

    std::vector<partition_extent> measure() {
        is_watched_ = true;
        std::vector<partition_extent> all;
        for (std::uint32_t p = 0; p != parts_.size(); ++p) {
            const part& of = parts_[p];
            if (!of.size) continue;
            all.push_back(
                {p, static_cast<std::int64_t>(of.begin()), static_cast<std::int64_t>(std::max(*of.size, of.begin()))});
        }
        return all;
    }
    [[nodiscard]] bool is_bounded() const noexcept { return !options_.follow; }
    [[nodiscard]] std::span<const std::uint32_t> ended() const noexcept { return ended_; }
    [[nodiscard]] std::vector<std::uint32_t> partitions() const {
        std::vector<std::uint32_t> all;
        for (std::uint32_t p = 0; p != parts_.size() && (p == 0 || !options_.continued); ++p) {
            if (!parts_[p].ended) all.push_back(p);
        }
        return all;
    }

    call<bool> read(environment&, batch<text_line>& into, std::size_t most) {
        auto& here = co_await context();
        if (is_watched_ && !has_sizes_) co_await take_sizes(here);
        for (;;) {
            for (std::size_t at_end = 0; at_end != parts_.size();) {
                part& p = parts_[turn_];
                const bool gave = !p.ended && co_await read_part(here, p, into, most);
                if (!gave || !options_.continued) turn_ = turn_ + 1 == parts_.size() ? 0 : turn_ + 1;
                if (parts_.size() > most_open && !options_.continued) put_away(p);
                if (gave) co_return true;
                ++at_end;
            }
            if (!options_.follow) co_return false;
            co_await sleep_for(options_.look_every);
        }
    }

    call<void> seek(environment&, const positions& to) {
        auto& here = co_await context();
        for (part& p : parts_) {  // an earlier run may have read it
            part again{std::move(p.path)};
            again.target = p.target;
            p = std::move(again);
        }
        turn_ = 0;
        ended_.clear();
        for (const position& each : to) {
            const auto at = std::ranges::find(parts_, each.partition, &part::path);
            if (at == parts_.end() && options_.ignore_gone_files) continue;
            if (at == parts_.end())
                throw std::invalid_argument("coflux: a line_source is to begin in " + each.partition +
                                            ", which it does not have");
            at->target = static_cast<std::uint64_t>(each.next);
        }
        // The part before is read as lines that are no records: so lines have their numbers.
        for (part& p : parts_) {
            while (p.begin() < p.target) {
                if (!p.in.is_open()) co_await open(here, p);
                const std::uint64_t before = p.target - p.begin();
                const auto skipped = static_cast<std::size_t>(std::min<std::uint64_t>(before, p.left().size()));
                p.lines += static_cast<std::uint64_t>(std::ranges::count(p.left().substr(0, skipped), '\n'));
                p.taken += skipped;
                if (skipped == 0 && co_await fill(here, p) == 0)
                    throw bad_text(p.path, 0,
                                   "it has become shorter: it ends at byte " + std::to_string(p.begin()) +
                                       ", and has been read up to " + std::to_string(p.target));
            }
        }
    }

private:
    /// How far a field is in its quotes. Source: RFC 4180.
    enum class quoting : unsigned char {
        none,    ///< it has not begun
        plain,   ///< it has begun without a quote: those that it has are bytes as others
        open,    ///< a line end is a part of it
        closed,  ///< a quote may have closed it, or is the first one of `""`
        broken   ///< its quotes are wrong: the record ends with the line
    };
    struct part {
        std::string path;
        file in{};
        std::uint64_t offset = 0;             // behind what is held
        std::string held{};                   // what was read
        std::size_t taken = 0;                // of it
        std::size_t searched = 0;             // behind `taken`: it has no end of a record
        quoting field = quoting::none;        // there
        std::size_t opened = 0;               // behind `taken`: the quote of that field
        std::uint64_t lines = 0;              // before it
        std::uint64_t target = 0;             // where the first record begins
        bool has_all = false;                 // all its bytes were read
        bool ended = false;                   // and given
        std::optional<std::uint64_t> size{};  // when it was last looked at

        [[nodiscard]] std::string_view left() const noexcept { return std::string_view(held).substr(taken); }
        [[nodiscard]] std::uint64_t begin() const noexcept { return offset - left().size(); }
    };

    call<void> open(environment&, part& p) { p.in = co_await file::open(p.path, {.pool = options_.pool}); }

    /// Its next turn reads again what it holds.
    static void put_away(part& p) noexcept {
        if (p.ended) return;
        p.in = file();
        p.offset = p.begin();
        p.held = std::string();
        p.taken = p.searched = p.opened = 0;
        p.field = quoting::none;
        p.has_all = false;
    }

    // Takes the sizes of all files, where a job_control asks how much is left. A file that cannot be opened fails when
    // it is to be read.
    call<void> take_sizes(environment&) {
        for (part& p : parts_) {
            try {
                file in = co_await file::open(p.path, {.pool = options_.pool});
                p.size = co_await in.size();
            } catch (const std::system_error&) {
                continue;
            }
        }
        has_sizes_ = true;
    }

    /// How many bytes more are held; 0 at the end.
    call<std::size_t> fill(environment&, part& p) {
        p.held.erase(0, p.taken);
        p.taken = 0;
        room_.resize(block);
        const std::size_t got = co_await p.in.read_at(p.offset, std::as_writable_bytes(std::span(room_)));
        p.held.append(room_, 0, got);
        p.offset += got;
        co_return got;
    }

    /// False: it has none now.
    call<bool> read_part(environment&, part& p, batch<text_line>& into, std::size_t most) {
        auto& here = co_await context();
        if (!p.in.is_open()) co_await open(here, p);
        while (!take(p, into, most)) {
            if (p.has_all) {
                p.ended = true;
                ended_.push_back(static_cast<std::uint32_t>(&p - parts_.data()));
                p.in = file();
                co_return false;
            }
            if (co_await fill(here, p) != 0) continue;
            const std::uint64_t size = co_await p.in.size();
            p.size = size;
            if (size < p.offset)
                throw bad_text(p.path, 0,
                               "it has become shorter: it has " + std::to_string(size) + " bytes, and " +
                                   std::to_string(p.offset) + " were read");
            if (options_.follow) co_return false;
            p.has_all = true;
        }
        co_return true;
    }

    /// Whether it has given a record.
    bool take(part& p, batch<text_line>& into, std::size_t most) {
        std::size_t given = 0;
        while (given != most) {
            const std::string_view left = p.left();
            // Not beyond the limit, so that the end of a record does not depend on what has been read behind it.
            std::size_t end = find_end(p, left.substr(0, std::max(options_.most_bytes, options_.most_bytes + 1)));
            const bool is_too_long = left.size() > options_.most_bytes;
            if (end == std::string_view::npos &&
                (p.field == quoting::open ? p.has_all || is_too_long : p.field == quoting::closed && is_too_long))
                end = left.find('\n', p.opened);
            if (std::min(end, left.size()) > options_.most_bytes) {
                if (given != 0) return true;  // the lines before it come; it is the error of the next read
                throw bad_text(p.path, p.lines + 1,
                               "it has more than " + std::to_string(options_.most_bytes) +
                                   " bytes (line_source_options::most_bytes)");
            }
            if (end != std::string_view::npos) {
                given += give(p, end != 0 && left[end - 1] == '\r' ? end - 1 : end, end + 1, into) ? 1 : 0;
            } else if (p.has_all && !left.empty()) {
                given += give(p, left.size(), left.size(), into) ? 1 : 0;
            } else {
                break;
            }
        }
        return given != 0;
    }
    std::size_t find_end(part& p, std::string_view left) const noexcept {
        if (!options_.quoted) {
            const std::size_t end = left.find('\n', p.searched);
            p.searched = left.size();
            return end;
        }
        for (std::size_t& i = p.searched; i != left.size(); ++i) {
            const char c = left[i];
            if (c == '\n' && p.field != quoting::open) return i;
            if (p.field == quoting::open) {
                if (c == '"') p.field = quoting::closed;
            } else if (c == options_.separator && p.field != quoting::broken) {
                p.field = quoting::none;
            } else if (c == '"' && p.field == quoting::none) {
                p.field = quoting::open;
                p.opened = i;
            } else if (c == '"' && p.field == quoting::closed && left[i - 1] == '"') {
                p.field = quoting::open;
            } else if (p.field == quoting::none) {
                p.field = quoting::plain;
            } else if (p.field == quoting::closed && c != '\r') {
                p.field = quoting::broken;
                const std::size_t end = left.substr(0, i).find('\n', p.opened);
                if (end != std::string_view::npos) return end;
            }
        }
        return std::string_view::npos;
    }
    /// False: it is one that is skipped.
    bool give(part& p, std::size_t size, std::size_t with_end, batch<text_line>& into) {
        const std::string_view text = p.left().substr(0, size);
        const std::uint64_t number = p.lines + 1;
        if (number > options_.skip) {
            record<text_line> r{{std::string(text), number, &p.path},
                                no_time,
                                static_cast<std::int64_t>(p.begin() + with_end),
                                static_cast<std::uint32_t>(&p - parts_.data()),
                                0,
                                {}};
            if (into.keeps_originals()) {
                auto read = std::make_shared<const original>(original{{}, r.value.text, {}});
                into.push_back(std::move(r), std::move(read));
            } else {
                into.push_back(std::move(r));
            }
        }
        p.lines +=
            options_.quoted ? static_cast<std::uint64_t>(std::ranges::count(p.left().substr(0, with_end), '\n')) : 1;
        p.taken += with_end;
        p.searched = 0;
        p.field = quoting::none;
        return number > options_.skip;
    }

    line_source_options options_;
    std::vector<part> parts_;
    std::size_t turn_ = 0;
    std::vector<std::uint32_t> ended_;
    bool is_watched_ = false;  // measure() is called
    bool has_sizes_ = false;
    std::string room_;  // a stop while it is filled leaves what is held as it was
};

line_source::line_source(std::string path, line_source_options options)
    : line_source(std::vector<std::string>{std::move(path)}, options) {}
line_source::line_source(std::vector<std::string> paths, line_source_options options)
    : state_(std::make_unique<state>(std::move(paths), options)) {}
line_source::line_source(line_source&&) noexcept = default;
line_source& line_source::operator=(line_source&&) noexcept = default;
line_source::~line_source() = default;

call<bool> line_source::read(environment& here, batch<text_line>& into, std::size_t most) {
    return state_->read(here, into, most);
}
std::string line_source::partition_name(std::uint32_t p) const {
    return state_->path_of(p);
}
std::vector<partition_extent> line_source::measure() {
    return state_->measure();
}
std::span<const std::uint32_t> line_source::ended() const noexcept {
    return state_->ended();
}
std::vector<std::uint32_t> line_source::partitions() const {
    return state_->partitions();
}
bool line_source::is_bounded() const noexcept {
    return state_->is_bounded();
}
call<void> line_source::seek(environment& here, const positions& to) {
    return state_->seek(here, to);
}

call<std::vector<std::string>> files_in(environment&, const std::string& folder, std::string_view ending) {
    directory d = co_await directory::open(folder);
    std::vector<std::string> paths;
    for (auto batch = co_await d.next(); !batch.empty(); batch = co_await d.next()) {
        for (const directory_entry& e : batch) {
            if (e.type == entry_type::regular && e.name.ends_with(ending)) {
                paths.push_back(folder + "/" + std::string(e.name));
            }
        }
    }
    std::ranges::sort(paths);
    co_return paths;
}

}  // namespace coflux::stream
