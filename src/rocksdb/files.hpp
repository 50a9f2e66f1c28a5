// database_files: an open database, what is to be written next, and the slots of its tables.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <rocksdb/db.h>
#include <rocksdb/write_batch.h>

#include <coflux/executor/blocking_pool.hpp>
#include <coflux/rocksdb/database.hpp>
#include <coflux/stream/checkpoint.hpp>
#include <coflux/stream/detail/checkpoint_file.hpp>

namespace coflux::rocksdb::detail {

/// All members that name no thread block: they are called on one of the pool.
class database_files {
public:
    database_files(std::string folder, std::string job, const database_options& options)
        : folder_(std::move(folder)),
          job_(std::move(job)),
          options_(options) {}

    [[nodiscard]] blocking_pool& pool() const {
        return options_.pool == nullptr ? blocking_pool::shared() : *options_.pool;
    }

    void keep_two(bool two) { keeps_two_ = two; }
    void store(const stream::checkpoint& c);
    [[nodiscard]] std::optional<stream::checkpoint> load(const stream::positions* wanted);
    void close() { db_.reset(); }

    /// Threads: any, as of the next five.
    void read(const std::string& table, const std::vector<std::string>& keys,
              const std::function<void(std::size_t, std::span<const std::byte>)>& found);
    void scan(const std::string& table, std::span<const std::byte> prefix,
              const std::function<void(std::span<const std::byte>, std::span<const std::byte>)>& found);
    void add_slot(const std::string& table, std::uint32_t slot);
    void remove_slot(const std::string& table, std::uint32_t slot);
    void change(pairs all, std::shared_ptr<std::atomic<std::uint64_t>> written);
    [[nodiscard]] std::size_t cached_keys_of_slot() const noexcept {
        return options_.cached_keys / std::max<std::size_t>(slots_.load(std::memory_order_relaxed), 1);
    }

private:
    using counter = std::shared_ptr<std::atomic<std::uint64_t>>;
    /// The changes of a slot.
    struct changed {
        pairs all;
        counter written;
    };
    /// A checkpoint whose changes are in the database as one value, and not in the tables.
    struct apart {
        ::rocksdb::WriteBatch changes;
        std::vector<counter> written;
    };
    using slot_name = std::pair<std::uint32_t, std::uint32_t>;  // region, slot

    void open();
    [[nodiscard]] bool is_new() const;
    [[nodiscard]] std::optional<std::string> get(const std::string& key) const;
    [[nodiscard]] stream::detail::checkpoint_head head_of(const std::string& bytes) const;
    [[nodiscard]] ::rocksdb::WriteBatch changes_of(const stream::checkpoint& c, std::vector<counter>& written);
    void join_tables();
    [[noreturn]] void fail(const ::rocksdb::Status& why) const;
    void check(const ::rocksdb::Status& s) const {
        if (!s.ok()) fail(s);
    }

    std::string folder_;
    std::string job_;
    database_options options_;
    std::unique_ptr<::rocksdb::DB> db_;
    std::uint64_t number_ = 0;                                // of the last checkpoint
    std::map<slot_name, stream::detail::stored_state> last_;  // its states of stages in memory
    bool keeps_two_ = true;
    // The last checkpoint, where it is apart: of the last store; or of the load, and then it must join the tables,
    // under join_, before these are read. must_join_: written with release, by load() and behind the join; read with
    // acquire.
    std::optional<apart> last_apart_;
    std::atomic<bool> must_join_{false};
    std::mutex join_;
    std::mutex mutex_;
    std::vector<changed> changes_;
    std::set<std::pair<std::string, std::uint32_t>> used_;
    std::atomic<std::size_t> slots_{0};
};

}  // namespace coflux::rocksdb::detail
