// Loads plug-ins, and calls each from two threads at once, some times.
#include <dlfcn.h>

#include <cstdio>
#include <thread>
#include <vector>

int main(int, char** arguments) {
    std::vector<std::thread> threads;
    std::vector<long> results(16);
    auto result = results.begin();
    while (*++arguments != nullptr) {
        void* const library = dlopen(*arguments, RTLD_LAZY | RTLD_LOCAL);
        if (library == nullptr) {
            std::fprintf(stderr, "%s\n", dlerror());
            return 2;
        }
        const auto compute = reinterpret_cast<long (*)()>(dlsym(library, "compute"));
        for (int i = 0; i < 2; ++i)
            threads.emplace_back([compute, at = result++] {
                for (int j = 0; j < 10; ++j) *at += compute();
            });
    }
    for (auto& t : threads) t.join();
    for (auto at = results.begin(); at != result; ++at) {
        std::printf("%ld\n", *at);
        if (*at != 6100) return 1;
    }
}
