#include <coflux/rocksdb/database.hpp>

#include <optional>
#include <stdexcept>
#include <utility>

#include "rocksdb/files.hpp"

namespace coflux::rocksdb {

database::database(std::string folder, std::string job, database_options options)
    : files_(std::make_shared<detail::database_files>(std::move(folder), std::move(job), options)) {}

table database::table(std::string name) const {
    if (name.empty() || name.find('\0') != std::string::npos)
        throw std::invalid_argument("coflux: the name of a table is empty, or has a zero byte");
    return {files_, std::move(name)};
}

void database::keep_two(bool two) {
    files_->keep_two(two);
}
call<void> database::store(environment&, const stream::checkpoint& c) {
    co_await files_->pool().run([&] { files_->store(c); });
}
call<std::optional<stream::checkpoint>> database::load(environment&, const stream::positions* wanted) {
    std::optional<stream::checkpoint> found;
    co_await files_->pool().run([&] { found = files_->load(wanted); });
    co_return found;
}
call<void> database::close(environment&) {
    co_await files_->pool().run([&] { files_->close(); });
}

}  // namespace coflux::rocksdb
