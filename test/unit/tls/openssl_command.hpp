// A client and a server that are not ours: `openssl s_client`, `openssl s_server`.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <vector>

#include <csignal>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace coflux_test {

inline bool has_openssl_command() {
    return std::system("openssl version > /dev/null 2>&1") == 0;
}

/// A process; what it writes to stdout is in the file `out`, and its input is the file `in`.
class openssl_command {
public:
    openssl_command(std::vector<std::string> arguments, const std::string& in, const std::string& out) {
        arguments.insert(arguments.begin(), "openssl");
        std::vector<char*> raw;
        for (std::string& a : arguments) raw.push_back(a.data());
        raw.push_back(nullptr);
        posix_spawn_file_actions_t files;
        posix_spawn_file_actions_init(&files);
        posix_spawn_file_actions_addopen(&files, 0, in.c_str(), O_RDWR, 0);
        posix_spawn_file_actions_addopen(&files, 1, out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
        posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0);
        const int e = posix_spawnp(&process_, "openssl", &files, nullptr, raw.data(), environ);
        posix_spawn_file_actions_destroy(&files);
        if (e != 0) throw std::runtime_error("openssl does not start");
    }
    openssl_command(const openssl_command&) = delete;
    openssl_command& operator=(const openssl_command&) = delete;
    ~openssl_command() {
        kill(process_, SIGKILL);
        waitpid(process_, nullptr, 0);
    }

private:
    pid_t process_ = -1;
};

}  // namespace coflux_test
