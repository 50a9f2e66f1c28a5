#include <coflux/io/output_of.hpp>

#include <system_error>
#include <utility>

#include <coflux/combine/when_all.hpp>
#include <coflux/core/context.hpp>
#include <coflux/io/read_to_end.hpp>

namespace coflux {
namespace {

/// A program need not read all that it is given.
call<void> feed(environment&, child_writer& to, std::string_view input) {
    if (!to.is_open()) co_return;
    try {
        co_await to.write_all(input);
    } catch (const std::system_error& e) {
        if (e.code() != std::errc::broken_pipe) throw;
    }
    to.close();
}

call<void> collect(environment&, child_reader& from, std::string& into, std::size_t limit, const std::string& whose) {
    auto&& here = co_await context();
    (void)co_await detail::read_all_of(here, from, into, limit, whose);
}

}  // namespace

call<process_output> output_of(environment&, command_line command, output_options options) {
    auto&& here = co_await context();
    const std::string program = command.words().empty() ? std::string() : command.words()[0];
    process p = co_await process::spawn(
        std::move(command), {.input = options.input.empty() ? standard_stream::null() : standard_stream::pipe(),
                             .output = standard_stream::pipe(),
                             .error = standard_stream::pipe(),
                             .environment = std::move(options.environment),
                             .directory = std::move(options.directory),
                             .leads_group = options.leads_group,
                             .pool = options.pool});
    const std::string its_output = "the standard output of " + program;
    const std::string its_error = "the standard error of " + program;
    std::string output;
    std::string error;
    // Each of them may wait for another: the program for room in a pipe, and the end of one for the program.
    co_await when_all(stop_on_error, feed(here, p.standard_input(), options.input),
                      collect(here, p.standard_output(), output, options.output_limit, its_output),
                      collect(here, p.standard_error(), error, options.error_limit, its_error));
    const exit_status status = co_await p.wait();
    co_return process_output{status, std::move(output), std::move(error)};
}

}  // namespace coflux
