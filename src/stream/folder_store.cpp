// The page docs/design/checkpoints.md has the protocol.
#include <coflux/stream/folder_store.hpp>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <exception>
#include <limits>
#include <map>
#include <ranges>
#include <set>
#include <span>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include <coflux/combine/for_each_concurrent.hpp>
#include <coflux/combine/when_all.hpp>
#include <coflux/core/context.hpp>
#include <coflux/executor/blocking_pool.hpp>
#include <coflux/io/directory.hpp>
#include <coflux/io/file.hpp>
#include <coflux/stream/detail/checkpoint_file.hpp>
#include <coflux/stream/detail/checksum.hpp>

namespace coflux::stream {
namespace detail {

/// The bytes that are written at a time: small states together.
constexpr std::size_t piece = std::size_t{1} << 20;
/// States that are read at once: one is checked while others come from the drive.
constexpr std::size_t reads_at_once = 8;

/// The parts of a file, in order, a large piece at a time.
class piece_writer {
public:
    explicit piece_writer(file& to) noexcept : to_(to) {}

    call<void> put(environment&, std::span<const std::byte> bytes) {
        auto& here = co_await context();
        if (held_.size() + bytes.size() > piece) co_await flush(here);
        if (bytes.size() >= piece) {
            co_await to_.write_at(at_, bytes);
            at_ += bytes.size();
        } else {
            held_.insert(held_.end(), bytes.begin(), bytes.end());
        }
    }
    call<void> flush(environment&) {
        co_await to_.write_at(at_, held_);
        at_ += held_.size();
        held_.clear();
    }

private:
    file& to_;
    std::uint64_t at_ = 0;
    std::vector<std::byte> held_;
};

namespace {

constexpr std::string_view suffix = ".checkpoint";
constexpr std::string_view unfinished = ".checkpoint.new";

/// The number of a file; none where it is not named as a checkpoint.
std::optional<std::uint64_t> number_of(std::string_view name, std::string_view ending) {
    if (!name.ends_with(ending)) return std::nullopt;
    name.remove_suffix(ending.size());
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (error != std::errc() || end != name.data() + name.size()) return std::nullopt;
    return number;
}
std::string name_of(std::uint64_t number, std::string_view ending) {
    const std::string digits = std::to_string(number);
    return std::string(10 - std::min<std::size_t>(10, digits.size()), '0') + digits + std::string(ending);
}

}  // namespace

class checkpoint_folder {
public:
    checkpoint_folder(std::string folder, std::string job, const folder_store_options& options)
        : folder_(std::move(folder)),
          job_(std::move(job)),
          options_(options) {
        if (options_.keep < 2)
            throw std::invalid_argument("coflux: folder_store_options::keep is less than 2: while one is written, the "
                                        "one before may be needed");
        if (options_.full_every == 0)
            throw std::invalid_argument("coflux: folder_store_options::full_every is 0; 1: all are full");
    }

    call<void> store(environment&, const checkpoint& c) {
        auto& here = co_await context();
        directory names = co_await directory::open(folder_, {options_.pool});
        if (!has_looked_) co_await look(here, names);
        checkpoint_head head{job_, last_number_ + 1, c.slots, c.at, {}};
        std::vector<std::byte> begin;
        co_await pool().run([&] {
            describe(c, head);
            begin = written_head(head);
        });
        const std::string made = name_of(head.number, unfinished);
        leftovers_.insert(made);
        file out = co_await file::open(path_of(made),
                                       {.write = true, .create = true, .truncate = true, .pool = options_.pool});
        piece_writer parts(out);
        co_await parts.put(here, begin);
        for (std::size_t i = 0; i != c.states.size(); ++i) {
            if (head.states[i].file == head.number) co_await parts.put(here, c.states[i].bytes);
        }
        co_await parts.flush(here);
        co_await out.sync();
        co_await out.close();
        const std::string name = name_of(head.number, suffix);
        co_await names.rename(made, name);
        co_await names.sync();
        leftovers_.erase(made);
        note(head);
        ++stored_;
        last_ = std::move(head.states);
        co_await remove_old(here, names);
    }

    call<std::optional<checkpoint>> load(environment&, const positions* wanted) {
        auto& here = co_await context();
        directory names = co_await directory::open(folder_, {options_.pool});
        co_await look(here, names);
        std::exception_ptr first_error;
        const std::vector<std::uint64_t> numbers(files_.rbegin(), files_.rend());
        for (const std::uint64_t n : numbers) {
            std::optional<checkpoint> found;
            try {
                found = co_await load_file(here, n, wanted);
            } catch (const corrupt_state&) {
                if (first_error == nullptr) first_error = std::current_exception();
            }
            if (found) co_return found;
            if (first_error != nullptr && wanted == nullptr && !options_.use_older) break;
        }
        if (first_error != nullptr) std::rethrow_exception(first_error);
        co_return std::nullopt;
    }

private:
    /// A checkpoint that this run has stored or loaded, and the files that it needs.
    struct known {
        std::uint64_t number;
        std::set<std::uint64_t> needs;
    };

    [[nodiscard]] blocking_pool& pool() const {
        return options_.pool == nullptr ? blocking_pool::shared() : *options_.pool;
    }
    [[nodiscard]] std::string path_of(const std::string& name) const { return folder_ + "/" + name; }

    call<void> look(environment&, directory& names) {
        files_.clear();
        leftovers_.clear();
        for (auto batch = co_await names.next(); !batch.empty(); batch = co_await names.next()) {
            for (const directory_entry& e : batch) {
                if (const auto n = number_of(e.name, suffix)) files_.insert(*n);
                if (number_of(e.name, unfinished)) leftovers_.emplace(e.name);
            }
        }
        last_number_ = files_.empty() ? 0 : *files_.rbegin();
        has_looked_ = true;
    }

    /// Says where the bytes of each state are: here, or where they were, if they are the same.
    void describe(const checkpoint& c, checkpoint_head& head) const {
        std::map<std::pair<std::uint32_t, std::uint32_t>, const stored_state*> before;
        if (stored_ % options_.full_every != 0) {
            for (const stored_state& s : last_) before[{s.region, s.slot}] = &s;
        }
        for (const slot_state& s : c.states) {
            stored_state now{s.region, s.slot, head.number, s.bytes.size(), checksum(s.bytes)};
            const auto was = before.find({s.region, s.slot});
            if (was != before.end() && was->second->size == now.size && was->second->sum == now.sum) {
                now.file = was->second->file;
            }
            head.states.push_back(now);
        }
    }

    void note(const checkpoint_head& head) {
        known is{head.number, {head.number}};
        for (const stored_state& s : head.states) is.needs.insert(s.file);
        known_.push_back(std::move(is));
        last_number_ = std::max(last_number_, head.number);
        files_.insert(head.number);
    }

    /// Files of earlier runs stay until this one knows enough by itself, but for those behind where it began: what is
    /// in them was not committed.
    call<void> remove_old(environment&, directory& names) {
        const bool knows_enough = known_.size() >= options_.keep;
        if (knows_enough) known_.erase(known_.begin(), known_.end() - static_cast<std::ptrdiff_t>(options_.keep));
        std::set<std::uint64_t> needed;
        for (const known& k : known_) needed.insert(k.needs.begin(), k.needs.end());
        for (auto at = knows_enough ? files_.begin() : files_.upper_bound(begun_); at != files_.end();) {
            if (needed.contains(*at)) {
                ++at;
                continue;
            }
            co_await names.remove(name_of(*at, suffix));
            at = files_.erase(at);
        }
        while (knows_enough && !leftovers_.empty()) {
            co_await names.remove(*leftovers_.begin());
            leftovers_.erase(leftovers_.begin());
        }
    }

    /// None where it is not the one that is wanted.
    call<std::optional<checkpoint>> load_file(environment&, std::uint64_t number, const positions* wanted) {
        auto& here = co_await context();
        source_file own = co_await open_file(here, number);
        if (wanted != nullptr && own.head.at != *wanted) co_return std::nullopt;
        std::map<std::uint64_t, source_file> others;
        for (const stored_state& s : own.head.states) {
            if (s.file == number || others.contains(s.file)) continue;
            others.emplace(s.file, co_await open_base(here, s.file, own));
        }
        checkpoint c{own.head.slots, own.head.at, std::vector<slot_state>(own.head.states.size())};
        co_await for_each_concurrent(std::views::iota(std::size_t{0}, c.states.size()), reads_at_once,
                                     [&](environment&, std::size_t i) -> call<void> {
                                         auto& inside = co_await context();
                                         const stored_state& s = own.head.states[i];
                                         source_file& from = s.file == number ? own : others.at(s.file);
                                         c.states[i] = co_await read_state(inside, from, s);
                                     });
        known_.clear();
        note(own.head);
        begun_ = number;
        stored_ = 0;  // the next one is full: it needs none of those behind this one
        co_return c;
    }

    struct place_in_file {
        std::uint64_t offset;
        std::uint64_t size;
    };
    struct source_file {
        file in;
        checkpoint_head head;
        /// Where the bytes of its own states are.
        std::map<std::pair<std::uint32_t, std::uint32_t>, place_in_file> own;
    };

    call<source_file> open_file(environment&, std::uint64_t number) {
        const std::string path = path_of(name_of(number, suffix));
        source_file f;
        f.in = co_await file::open(path, {.pool = options_.pool});
        const std::uint64_t all = co_await f.in.size();
        std::vector<std::byte> begin(checkpoint_prefix);
        begin.resize(co_await f.in.read_at(0, begin));
        begin.resize(size_of_head(begin, all, path));
        if (co_await f.in.read_at(0, begin) != begin.size()) throw_corrupt(path, 0, "it has become shorter");
        f.head = read_head(begin, path);
        check_size(f.head, begin.size(), all, path);
        if (f.head.job != job_) {
            throw_corrupt(path, checkpoint_prefix,
                          "it is one of the job \"" + f.head.job + "\"; this job is \"" + job_ + "\"");
        }
        if (f.head.number != number) {
            throw_corrupt(path, checkpoint_prefix,
                          "it is checkpoint " + std::to_string(f.head.number) + " under another name");
        }
        std::uint64_t offset = begin.size();
        for (const stored_state& s : f.head.states) {
            if (s.file != number) continue;
            f.own[{s.region, s.slot}] = {offset, s.size};
            offset += s.size;
        }
        co_return f;
    }
    call<source_file> open_base(environment&, std::uint64_t number, const source_file& of) {
        auto& here = co_await context();
        if (!files_.contains(number)) {
            throw_corrupt(of.in.path(), checkpoint_prefix,
                          "it needs " + name_of(number, suffix) + ", which is not in the folder");
        }
        co_return co_await open_file(here, number);
    }

    call<slot_state> read_state(environment&, source_file& from, const stored_state& wanted) {
        const auto at = from.own.find({wanted.region, wanted.slot});
        const bool is_there = at != from.own.end() && at->second.size == wanted.size;
        const std::uint64_t offset = is_there ? at->second.offset : 0;
        slot_state s{wanted.region, wanted.slot, {}};
        std::size_t got = 0;
        if (is_there) {
            s.bytes.resize(static_cast<std::size_t>(wanted.size));
            got = co_await from.in.read_at(offset, s.bytes);
        }
        std::uint64_t sum = 0;
        co_await pool().run([&] { sum = checksum(s.bytes); });
        if (!is_there || got != s.bytes.size() || sum != wanted.sum) {
            throw_corrupt(from.in.path(), offset,
                          "the state of slot " + std::to_string(wanted.slot) + " of region " +
                              std::to_string(wanted.region) + " is not the one that was stored");
        }
        co_return s;
    }

    std::string folder_;
    std::string job_;
    folder_store_options options_;
    bool has_looked_ = false;
    std::set<std::uint64_t> files_;
    std::set<std::string> leftovers_;  // of stores that have not ended
    std::uint64_t last_number_ = 0;
    std::uint64_t stored_ = 0;                                         // in this run
    std::uint64_t begun_ = std::numeric_limits<std::uint64_t>::max();  // what it has loaded; max: nothing
    std::vector<known> known_;
    std::vector<stored_state> last_;  // as this run has stored them
};

}  // namespace detail

folder_store::folder_store(std::string folder, std::string job, folder_store_options options)
    : folder_(std::make_shared<detail::checkpoint_folder>(std::move(folder), std::move(job), options)) {}

call<void> folder_store::store(environment&, const checkpoint& c) {
    auto& here = co_await context();
    co_await folder_->store(here, c);
}
call<std::optional<checkpoint>> folder_store::load(environment&, const positions* wanted) {
    auto& here = co_await context();
    co_return co_await folder_->load(here, wanted);
}

}  // namespace coflux::stream
