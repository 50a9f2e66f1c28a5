#include <coflux/stream/line_sink.hpp>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include <coflux/core/context.hpp>
#include <coflux/io/directory.hpp>
#include <coflux/io/file.hpp>
#include <coflux/stream/detail/checksum.hpp>
#include <coflux/stream/state.hpp>

namespace coflux::stream {
namespace detail {

/// The length of the file, and the positions of what is in it; none before the first commit.
struct commit_point {
    std::uint64_t length = 0;
    std::optional<positions> at;
};

}  // namespace detail

namespace {

using detail::commit_point;

constexpr std::string_view magic = "cofluxln";
constexpr std::uint32_t version = 1;
constexpr std::size_t sum_size = sizeof(std::uint64_t);

std::vector<std::byte> written(const commit_point& c) {
    std::vector<std::byte> bytes;
    bytes.reserve(64);  // else g++ 14 warns of an overflow that is none
    state_writer out(bytes);
    out.bytes(std::as_bytes(std::span(magic)));
    out(version, c.length, c.at.has_value());
    if (c.at) {
        out.size(c.at->size());
        for (const position& p : *c.at) out(p.partition, p.next);
    }
    out(detail::checksum(bytes));
    return bytes;
}
commit_point read_point(std::span<const std::byte> bytes) {
    state_reader in(bytes);
    const auto begin = in.bytes(magic.size());
    if (!std::ranges::equal(begin, std::as_bytes(std::span(magic)))) throw corrupt_state("it does not begin as one");
    if (const auto v = in.number<std::uint32_t>(); v != version)
        throw corrupt_state("its format is version " + std::to_string(v) + "; this program reads version 1");
    const std::size_t end = bytes.size() - std::min(bytes.size(), sum_size);
    if (state_reader(bytes.subspan(end)).number<std::uint64_t>() != detail::checksum(bytes.first(end)))
        throw corrupt_state("the checksum is not that of its bytes");
    commit_point c;
    in(c.length);
    if (in.number<bool>()) {
        c.at.emplace();
        for (std::size_t n = in.size(16); n != 0; --n) {
            position& p = c.at->emplace_back();
            in(p.partition, p.next);
        }
    }
    return c;
}

}  // namespace

class line_sink::state {
public:
    state(std::string path, const line_sink_options& options)
        : path_(std::move(path)),
          options_(options),
          folder_(std::filesystem::path(path_).parent_path().string()),
          name_(std::filesystem::path(path_).filename().string()) {
        if (folder_.empty()) folder_ = ".";
        if (name_.empty()) throw std::invalid_argument("coflux: a line_sink without the name of a file");
    }

    call<void> write(environment&, std::span<record<std::string>> records) {
        auto& here = co_await context();
        std::string lines;
        for (const record<std::string>& r : records) {
            if (r.value.find('\n') != std::string::npos)
                throw std::invalid_argument(
                    "coflux: " + path_ + ": a line_sink is given a string with a line end: " + r.value.substr(0, 80));
            lines.append(r.value).append(1, '\n');
        }
        if (!out_.is_open()) co_await open_at_last_line(here);
        // Where it fails, the next attempt writes to the same place.
        co_await out_.write_at(length_, lines);
        length_ += lines.size();
    }
    call<void> flush(environment&) {
        if (out_.is_open()) co_await out_.sync();
    }

    call<void> cut_back(environment&) {
        co_await out_.truncate(committed_.length);
        length_ = committed_.length;
    }
    call<void> commit(environment&, const positions& done) {
        auto& here = co_await context();
        co_await out_.sync();
        co_await replace(here, {length_, done});
    }
    /// Until there is a commit point, what is in the file was there before.
    call<std::optional<positions>> committed(environment&) {
        auto& here = co_await context();
        co_await open(here);
        const std::uint64_t size = co_await out_.size();
        const bool has_one = co_await load(here);
        if (!has_one) co_await replace(here, {size, std::nullopt});
        if (size < committed_.length)
            throw corrupt_state("coflux: " + path_ + " has " + std::to_string(size) + " bytes, and " +
                                std::to_string(committed_.length) + " are committed");
        co_await cut_back(here);
        co_return committed_.at;
    }

private:
    call<void> open(environment&) {
        out_ = co_await file::open(path_, {.write = true, .create = true, .pool = options_.pool});
    }
    call<void> open_at_last_line(environment&) {
        auto& here = co_await context();
        co_await open(here);
        length_ = co_await out_.size();
        const std::uint64_t size = length_;
        std::string block(std::size_t{64} << 10, '\0');
        while (length_ != 0) {
            const std::uint64_t from = length_ - std::min<std::uint64_t>(length_, block.size());
            const auto part = std::span(block).first(static_cast<std::size_t>(length_ - from));
            (void)co_await out_.read_at(from, std::as_writable_bytes(part));
            const std::size_t last = std::string_view(part.data(), part.size()).rfind('\n');
            length_ = last == std::string_view::npos ? from : from + last + 1;
            if (last != std::string_view::npos) break;
        }
        if (length_ != size) co_await out_.truncate(length_);
    }

    /// False: there is none.
    call<bool> load(environment&) {
        auto opened = co_await as_result(file::open(path_ + ".committed", {.pool = options_.pool}));
        if (!opened.has_value()) {
            if (opened.error() == std::errc::no_such_file_or_directory) co_return false;
            (void)opened.value();
        }
        std::vector<std::byte> bytes(static_cast<std::size_t>(co_await opened->size()));
        bytes.resize(co_await opened->read_at(0, bytes));
        try {
            committed_ = read_point(bytes);
        } catch (const corrupt_state& e) {
            throw corrupt_state("coflux: the commit point " + path_ + ".committed: " + e.what());
        }
        co_return true;
    }
    call<void> replace(environment&, commit_point c) {
        const std::vector<std::byte> bytes = written(c);
        const std::string name = name_ + ".committed";
        file made = co_await file::open(path_ + ".committed.new",
                                        {.write = true, .create = true, .truncate = true, .pool = options_.pool});
        co_await made.write_at(0, bytes);
        co_await made.sync();
        co_await made.close();
        directory names = co_await directory::open(folder_, {options_.pool});
        co_await names.rename(name + ".new", name);
        co_await names.sync();
        committed_ = std::move(c);
    }

    std::string path_;
    line_sink_options options_;
    std::string folder_;
    std::string name_;
    file out_;
    std::uint64_t length_ = 0;
    commit_point committed_;
};

line_sink::line_sink(std::string path, line_sink_options options)
    : state_(std::make_unique<state>(std::move(path), options)) {}
line_sink::line_sink(line_sink&&) noexcept = default;
line_sink& line_sink::operator=(line_sink&&) noexcept = default;
line_sink::~line_sink() = default;

call<void> line_sink::write(environment& here, std::span<record<std::string>> records) {
    return state_->write(here, records);
}
call<void> line_sink::flush(environment& here) {
    return state_->flush(here);
}
call<void> line_sink::begin(environment& here) {
    return state_->cut_back(here);
}
call<void> line_sink::commit(environment& here, const positions& done) {
    return state_->commit(here, done);
}
call<void> line_sink::abort(environment& here) {
    return state_->cut_back(here);
}
call<std::optional<positions>> line_sink::committed(environment& here) {
    return state_->committed(here);
}

}  // namespace coflux::stream
