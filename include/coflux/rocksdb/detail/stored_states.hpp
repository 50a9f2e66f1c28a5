// stored_states: the states of one slot of a fold, of which a database has all and the memory some.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <coflux/stream/detail/keyed_table.hpp>
#include <coflux/stream/detail/outside_state.hpp>
#include <coflux/stream/state.hpp>

namespace coflux {
class blocking_pool;

namespace rocksdb::detail {

class database_files;

/// Keys and values, one behind the other.
struct pairs {
    static constexpr std::size_t gone = SIZE_MAX;
    static constexpr std::size_t gone_range = SIZE_MAX - 1;  // all keys that begin with the key are removed
    struct size_of {
        std::size_t key;
        std::size_t value;  // or `gone`: the key is removed; or `gone_range`
    };
    std::vector<std::byte> bytes;
    std::vector<size_of> sizes;
};

/// A slot of a table, as the database sees it.
class slot_files {
public:
    slot_files(std::shared_ptr<database_files> of, std::string table);
    slot_files(const slot_files&) = delete;
    slot_files& operator=(const slot_files&) = delete;
    ~slot_files();

    [[nodiscard]] const std::string& table() const noexcept { return table_; }
    /// Its number, which comes with its first record.
    /// Errors: std::invalid_argument where another fold has the table, or the database is not the job's.
    void name(std::uint32_t slot);
    [[nodiscard]] bool is_named() const noexcept { return !prefix_.empty(); }
    /// Each key of the slot begins with it.
    [[nodiscard]] std::span<const std::byte> prefix() const noexcept { return prefix_; }

    /// How many states may stay in memory.
    [[nodiscard]] std::size_t cached_keys() const noexcept;
    [[nodiscard]] blocking_pool& pool() const noexcept;
    /// Calls `found(i, value)` for each key `i` that the database has. It blocks.
    void read(const std::vector<std::string>& keys,
              const std::function<void(std::size_t, std::span<const std::byte>)>& found);
    /// Calls `found(rest, value)` for each key that the database has and that begins with `prefix`. It blocks.
    void scan(std::span<const std::byte> prefix,
              const std::function<void(std::span<const std::byte>, std::span<const std::byte>)>& found);
    /// Writes them with the next checkpoint.
    void change(pairs all);
    /// How many of those are where read() finds them.
    [[nodiscard]] std::uint64_t written() const noexcept { return written_->load(std::memory_order_acquire); }

private:
    std::shared_ptr<database_files> of_;
    std::string table_;
    std::uint32_t slot_ = 0;
    std::vector<std::byte> prefix_;
    std::shared_ptr<std::atomic<std::uint64_t>> written_ = std::make_shared<std::atomic<std::uint64_t>>(0);
};

/// A state stays in memory from the batch that needs it on. It leaves to make room once it is written, and no batch has
/// needed it for a while: second chance.
template <typename Key, typename State>
class slot_states : public stream::detail::outside_state {
public:
    slot_states(std::shared_ptr<database_files> of, std::string table) : files_(std::move(of), std::move(table)) {}

    void want(stream::detail::wanted_states& all, const Key& key) {
        cell& c = cells_[key];
        if (c.batch == 0) {
            if (!files_.is_named()) files_.name(all.slot);
            if (missing_.empty()) all.from.push_back(this);
            missing_.push_back(key);
        } else if (c.batch != all.batch) {
            c.again = true;
        }
        c.batch = all.batch;
        batch_ = all.batch;
    }
    template <typename Change>
    void add_to(const Key& key, Change change) {
        cell* const c = cells_.find(key);
        if (c == nullptr) throw std::logic_error("coflux: by_key() gives a record another key than before");
        change(c->state);
        c->has_changed = true;
        c->is_gone = false;
    }
    /// Pre: add_to() has just found it.
    void erase(const Key& key) {
        cell* const c = cells_.find(key);
        c->state = State();
        c->is_gone = true;
    }

    void read() override {
        if (missing_.empty()) return;
        make_room();
        std::vector<std::string> keys;
        keys.reserve(missing_.size());
        for (const Key& each : missing_) keys.push_back(bytes_of(each));
        files_.read(keys, [this](std::size_t i, std::span<const std::byte> value) {
            cell* const c = cells_.find(missing_[i]);
            take(value, c->state);
            c->is_stored = true;
        });
        missing_.clear();
    }
    [[nodiscard]] blocking_pool& pool() const noexcept override { return files_.pool(); }

    void save(stream::state_writer& out) {
        pairs changed = std::exchange(removals_, {});
        stream::state_writer into(changed.bytes, out.version());
        for (auto& [key, c] : cells_) {
            if (!std::exchange(c.has_changed, false)) continue;
            // It came and went between two checkpoints.
            if (c.is_gone && !c.is_stored) continue;
            c.saved = saves_ + 1;
            c.is_stored = !c.is_gone;
            const std::size_t begin = into.written();
            into.bytes(files_.prefix());
            into(key);
            const std::size_t middle = into.written();
            if (!c.is_gone) {
                into(out.version());
                into(c.state);
            }
            changed.sizes.push_back({middle - begin, c.is_gone ? pairs::gone : into.written() - middle});
        }
        if (!changed.sizes.empty()) {
            ++saves_;
            files_.change(std::move(changed));
        }
        out(files_.table());
    }
    void load(stream::state_reader& in) {
        std::string table;
        in(table);
        if (table == files_.table()) return;
        throw stream::corrupt_state("coflux: the stored states are in the table \"" + table +
                                    "\", and the fold has \"" + files_.table() + "\"");
    }

protected:
    struct cell {
        State state{};
        std::uint64_t batch = 0;  // the last one that has needed it
        std::uint64_t saved = 0;  // the number of its last save
        bool again = false;       // a later batch has needed it, too
        bool has_changed = false;
        bool is_gone = false;    // the fold has let it go
        bool is_stored = false;  // the last save has it, or the database
    };

    static void take(std::span<const std::byte> value, State& into) {
        stream::state_reader in(value);
        in.set_version(in.number<std::uint32_t>());
        in(into);
        if (in.left() != 0) throw stream::corrupt_state("coflux: a value is longer than the state of the stage");
    }
    // The next save removes all keys that begin with `prefix`.
    void add_removal(std::span<const std::byte> prefix) {
        removals_.bytes.insert(removals_.bytes.end(), prefix.begin(), prefix.end());
        removals_.sizes.push_back({prefix.size(), pairs::gone_range});
    }

    slot_files files_;
    stream::detail::keyed_table<Key, cell> cells_;

private:
    [[nodiscard]] std::string bytes_of(const Key& key) {
        scratch_.assign(files_.prefix().begin(), files_.prefix().end());
        stream::state_writer out(scratch_);
        out(key);
        return {reinterpret_cast<const char*>(scratch_.data()), scratch_.size()};
    }
    // A few more steps than states are to leave, so that its time goes with what is read.
    void make_room() {
        const std::size_t most = std::max<std::size_t>(files_.cached_keys(), 1);
        std::size_t steps = 4 * missing_.size() + 16;
        for (; cells_.size() > most && steps != 0; --steps) {
            if (hand_ >= cells_.size()) hand_ = 0;
            auto& [key, c] = *(cells_.begin() + static_cast<std::ptrdiff_t>(hand_));
            const bool is_needed = c.batch == batch_ || c.has_changed || c.saved > files_.written();
            if (is_needed || std::exchange(c.again, false)) {
                ++hand_;
            } else {
                cells_.erase(key);  // the last one takes its place
            }
        }
    }

    std::vector<Key> missing_;
    pairs removals_;
    std::vector<std::byte> scratch_;
    std::size_t hand_ = 0;
    std::uint64_t batch_ = 0;
    std::uint64_t saves_ = 0;
};

/// The table of a fold_operator, which is moved.
template <typename Key, typename State>
class stored_states {
public:
    static constexpr bool reads_ahead = true;

    stored_states(std::shared_ptr<database_files> of, std::string table)
        : of_(std::make_unique<slot_states<Key, State>>(std::move(of), std::move(table))) {}

    void want(stream::detail::wanted_states& all, const Key& key) { of_->want(all, key); }
    template <typename Change>
    void add_to(const Key& key, Change change) {
        of_->add_to(key, std::move(change));
    }
    void erase(const Key& key) { of_->erase(key); }
    void save(stream::state_writer& out) const { of_->save(out); }
    void load(stream::state_reader& in) { of_->load(in); }

private:
    std::unique_ptr<slot_states<Key, State>> of_;
};

}  // namespace rocksdb::detail
}  // namespace coflux
