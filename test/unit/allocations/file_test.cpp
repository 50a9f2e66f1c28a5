// Reads and writes of files allocate nothing, at once or by a thread of the pool.
#include <cstddef>
#include <string>

#include <fcntl.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>
#include <coflux/io/file.hpp>
#include <coflux/testing/alloc_guard.hpp>

#include "support/temporary_folder.hpp"
#include "unit/io/connected.hpp"

namespace {

using coflux::environment;
using coflux::file;
using coflux_test::bytes_of;
using coflux_test::temporary_folder;
using worker = coflux::worker_executor;

void drop_from_the_cache(const file& f) {
    ::fsync(f.native_handle());
    ::posix_fadvise(f.native_handle(), 0, 0, POSIX_FADV_DONTNEED);
}
coflux::task<std::size_t, worker> counts_allocations(environment&, std::string path, bool cached) {
    file f = co_await file::open(path, {.write = true});
    std::string got(3, ' ');
    std::size_t before = 0;
    for (int i = 0; i < 200; ++i) {
        if (i == 100) before = coflux::testing::new_calls();
        if (!cached) drop_from_the_cache(f);
        (void)co_await f.read_at(0, bytes_of(got));
        if (!cached) co_await f.write_at(0, got);
    }
    co_return coflux::testing::new_calls() - before;
}
TEST(allocations_of_files, are_none_of_reads_and_writes) {
    if (!coflux::testing::counts_new()) GTEST_SKIP() << "operator new is not counted here";
    const temporary_folder folder;
    worker w;
    auto env = coflux::make_environment(w);
    EXPECT_EQ(counts_allocations(env, folder.file("a", "abc"), true).get(), 0U);
    EXPECT_EQ(counts_allocations(env, folder.file("a", "abc"), false).get(), 0U);
}

}  // namespace
