#include "cpu_quota.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <limits>

namespace coflux::detail::os {
namespace {

struct file_stream {
    explicit file_stream(const char* path) noexcept : file(std::fopen(path, "re")) {}
    ~file_stream() {
        if (file != nullptr) std::fclose(file);
    }
    file_stream(const file_stream&) = delete;
    file_stream& operator=(const file_stream&) = delete;

    std::FILE* file;
};

constexpr std::size_t longest_path = 4096;
constexpr double no_quota = std::numeric_limits<double>::infinity();

/// The number in file `name` of a folder; 0 where there is none.
long long number_in(const char* folder, const char* name) noexcept {
    char path[longest_path];
    if (std::snprintf(path, sizeof path, "%s/%s", folder, name) >= static_cast<int>(sizeof path)) return 0;
    const file_stream opened(path);
    long long number = 0;
    return opened.file != nullptr && std::fscanf(opened.file, "%lld", &number) == 1 ? number : 0;
}

double share_of(long long quota, long long period) noexcept {
    if (quota <= 0 || period <= 0) return no_quota;
    return static_cast<double>(quota) / static_cast<double>(period);
}

double share_in(const char* folder, bool version_2) noexcept {
    if (!version_2) return share_of(number_in(folder, "cpu.cfs_quota_us"), number_in(folder, "cpu.cfs_period_us"));
    char path[longest_path];
    if (std::snprintf(path, sizeof path, "%s/cpu.max", folder) >= static_cast<int>(sizeof path)) return no_quota;
    const file_stream opened(path);
    long long quota = 0;
    long long period = 0;
    if (opened.file == nullptr || std::fscanf(opened.file, "%lld %lld", &quota, &period) != 2)
        return no_quota;  // "max 100000"
    return share_of(quota, period);
}

/// The narrowest of a group and those above it. In a container the folder of the group may be the mount's own.
double narrowest(const char* mount, const char* group, bool version_2) noexcept {
    char folder[longest_path];
    const int length = std::snprintf(folder, sizeof folder, "%s%s", mount, group);
    if (length < 0 || length >= static_cast<int>(sizeof folder)) return no_quota;
    double least = no_quota;
    for (const std::size_t top = std::strlen(mount);;) {
        least = std::min(least, share_in(folder, version_2));
        char* const slash = std::strrchr(folder + top, '/');
        if (slash == nullptr) return least;
        *slash = 0;
    }
}

/// True if `name` is one of the names in `list`, which commas part.
bool has_name(const char* list, const char* name) noexcept {
    const std::size_t length = std::strlen(name);
    for (const char* at = list; at != nullptr; at = std::strchr(at, ',')) {
        if (*at == ',') ++at;
        if (std::strncmp(at, name, length) == 0 && (at[length] == ',' || at[length] == 0)) return true;
    }
    return false;
}

}  // namespace

double cpu_share(const char* groups, const char* mount) noexcept {
    const file_stream opened(groups);
    if (opened.file == nullptr) return no_quota;
    double least = no_quota;
    char line[longest_path];
    while (std::fgets(line, sizeof line, opened.file) != nullptr) {  // "number:controllers:/group"
        line[std::strcspn(line, "\n")] = 0;
        char* const controllers = std::strchr(line, ':');
        char* const group = controllers != nullptr ? std::strchr(controllers + 1, ':') : nullptr;
        if (group == nullptr) continue;
        *group = 0;
        if (controllers[1] == 0) {
            least = std::min(least, narrowest(mount, group + 1, true));
        } else if (has_name(controllers + 1, "cpu")) {
            char below[longest_path];
            if (std::snprintf(below, sizeof below, "%s/cpu", mount) < static_cast<int>(sizeof below))
                least = std::min(least, narrowest(below, group + 1, false));
        }
    }
    return least;
}

double cpu_share() noexcept {
    return cpu_share("/proc/self/cgroup", "/sys/fs/cgroup");
}

std::size_t whole_processors(double share, std::size_t processors) noexcept {
    if (!(share < static_cast<double>(processors))) return processors;
    return std::max<std::size_t>(1, static_cast<std::size_t>(share));
}

}  // namespace coflux::detail::os
