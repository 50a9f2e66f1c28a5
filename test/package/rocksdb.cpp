// A consumer of the optional library.
#include <cstdio>
#include <system_error>

#include <coflux/coflux.hpp>
#include <coflux/rocksdb/database.hpp>

coflux::task<void, coflux::thread_pool_executor> load(auto&& env) {
    auto& here = co_await coflux::context();
    coflux::rocksdb::database state("/no/such/folder", "job");
    (void)co_await state.load(here, nullptr);
}

int main() {
    coflux::thread_pool_executor pool{1};
    auto env = coflux::make_environment(pool);
    try {
        load(env).get();
    } catch (const std::system_error& e) {
        std::puts(e.what());
        return 0;
    }
    return 1;
}
