// side_input: a bounded source, read to its end, that stages look into.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

#include <coflux/core/call.hpp>
#include <coflux/core/context.hpp>
#include <coflux/stream/detail/keyed_table.hpp>
#include <coflux/stream/key.hpp>
#include <coflux/stream/record.hpp>
#include <coflux/stream/source.hpp>

namespace coflux::stream {

/// Rows by key, which never change: a stage holds it by value, and all workers read the same ones.
///
/// Threads: any.
template <typename Key, typename Row>
class side_input {
public:
    /// The row of `key`, or nullptr.
    [[nodiscard]] const Row* find(const Key& key) const noexcept { return rows_->find(key); }
    [[nodiscard]] std::size_t size() const noexcept { return rows_->size(); }

    /// How read_side_input() makes one.
    using table = detail::keyed_table<Key, Row>;
    explicit side_input(std::shared_ptr<const table> rows) noexcept : rows_(std::move(rows)) {}

private:
    std::shared_ptr<const table> rows_;
};

/// `const auto names = co_await read_side_input(here, products, &product::id);` before the run, then
/// `map([names](const order& o) { return named(o, names.find(o.product)); })`.
///
/// Shapes: a source that ends; a function, or a pointer to a member, that gives the key of a row. The last row of a key
/// counts.
/// Errors: those of the source.
/// Stops: the reads are stop points.
/// Costs: the memory of all rows, once in the process. It is read again with each run, and is in no checkpoint.
template <source Source, typename F>
[[nodiscard]] auto read_side_input(environment&, Source& from, F key_of)
    -> call<side_input<std::remove_cvref_t<std::invoke_result_t<F&, const typename Source::value_type&>>,
                       typename Source::value_type>> {
    static_assert(
        !working_source<Source>,
        "coflux: read_side_input() reads a source that gives its records by itself; the work() of this one, as "
        "of merge(), would not run: read its parts one by one");
    using row = typename Source::value_type;
    using result = side_input<std::remove_cvref_t<std::invoke_result_t<F&, const row&>>, row>;
    auto& here = co_await context();
    auto rows = std::make_shared<typename result::table>();
    batch<row> some;
    for (bool more = true; more; some.clear()) {
        more = co_await from.read(here, some, 1000);
        for (auto& each : some) rows->set(std::invoke(key_of, std::as_const(each.value)), std::move(each.value));
    }
    co_return result(std::move(rows));
}

}  // namespace coflux::stream
