#include "workloads.hpp"

#include <event2/event.h>

int main(int argc, char** argv) {
    harness::app app{"libevent", event_get_version(), "malloc"};
    const char* const by_events = "events, and the system's calls";
    app.add("echo", lab::echo, "bufferevents for streams, events for the others; one loop");
    app.add_expert("echo", lab::echo_expert, by_events);
    app.add("echo_many", lab::echo_many, "bufferevents, whose input becomes their output");
    app.add_expert("echo_many", lab::echo_many_expert, by_events);
    app.add("accept_churn", lab::accept_churn, "bufferevents");
    app.add_expert("accept_churn", lab::accept_churn_expert, by_events);
    app.add("io_socket", lab::io_socket, "bufferevents; a loop and a thread for each side");
    app.unsupported("file_read", "libevent waits for what may be ready later, which a file always is");
    app.rest_unsupported("libevent is callbacks for I/O and timers, and no runtime for tasks");
    return app.main(argc, argv);
}
