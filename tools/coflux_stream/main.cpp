// coflux-stream: what a stream job has left behind, on the command line. Exits with 0, with 1 where a command could not
// do all of it, and with 2 for arguments that are wrong.
#include <cstdint>
#include <cstdio>
#include <exception>
#include <functional>
#include <string>
#include <string_view>

#include <CLI/CLI.hpp>
#include <coflux/coflux.hpp>
#include <coflux/version.hpp>

#include "dlq.hpp"

namespace coflux_stream {

using command = std::function<coflux::call<void>(coflux::environment&)>;

coflux::task<int, coflux::thread_pool_executor> run_command(coflux::environment&, command run) {
    auto& here = co_await coflux::context();
    try {
        co_await run(here);
        co_return 0;
    } catch (const std::exception& e) {
        std::string_view text = e.what();
        if (text.starts_with("coflux: ")) text.remove_prefix(8);
        (void)std::fflush(stdout);
        std::fprintf(stderr, "coflux-stream: %.*s\n", static_cast<int>(text.size()), text.data());
        co_return 1;
    }
}

void add_selection(CLI::App& to, selection& wanted) {
    to.add_option("--job", wanted.job, "only letters of this job");
    to.add_option("--partition", wanted.partition, "only letters of this partition of the source, as a file's path");
    to.add_option("--stage", wanted.stage, "only letters of this stage, as \"region 1\" or \"sink\"");
    to.add_option("--error", wanted.error, "only letters whose error has this text");
    to.add_option("--number", wanted.numbers, "only this letter; may be given again")->allow_extra_args(false);
    to.add_option("--without", wanted.without, "not this letter; may be given again")->allow_extra_args(false);
}

}  // namespace coflux_stream

int main(int argc, char** argv) {
    using namespace coflux_stream;
    CLI::App app("What a stream job has left behind.", "coflux-stream");
    app.set_version_flag("--version", COFLUX_VERSION);
    app.require_subcommand(1);
    CLI::App* dlq = app.add_subcommand("dlq", "dead letters: records that a job could not process");
    dlq->require_subcommand(1);

    std::string path;
    selection wanted;
    std::uint64_t number = 0;
    bool raw = false;
    replay_options options;
    const auto add = [&](const char* name, const char* what) {
        CLI::App* made = dlq->add_subcommand(name, what);
        made->add_option("file", path, "what a dead_letter_file has written")->required();
        return made;
    };
    CLI::App* lists = add("list", "a line for each letter, with tabs between its fields");
    add_selection(*lists, wanted);
    CLI::App* shows = add("show", "all of one letter; bytes that are no text are escaped as in C");
    shows->add_option("number", number, "which letter: its line, from 1 on")->required()->check(CLI::PositiveNumber);
    shows->add_flag("--raw", raw, "the bytes of its value, and nothing else");
    CLI::App* replays =
        add("replay", "the values of letters as lines, to be read by the job again; FILE stays as it is");
    add_selection(*replays, wanted);
    replays->add_option("--to", options.to, "a file that is made once all lines are in it; otherwise standard output");
    replays->add_flag("--once", options.once,
                      "leaves out a letter that was there before: place, key and value the same");
    replays->add_flag("--quoted", options.quoted, "values may have line ends between quotes, as in CSV");
    replays->add_flag("--with-empty", options.with_empty, "a value without bytes is an empty line");

    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& e) {
        return app.exit(e) == 0 ? 0 : 2;
    }
    const command run = [&](coflux::environment& here) {
        if (lists->parsed()) return list(here, path, wanted);
        if (shows->parsed()) return show(here, path, number, raw);
        return replay(here, path, wanted, options);
    };
    // One thread: nothing here is done at the same time.
    return coflux::run({.pool = {.threads = 1}}, run_command, run);
}
