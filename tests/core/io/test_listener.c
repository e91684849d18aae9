/* Listening sockets: the addresses that an operator may write, and others who listen there. */
#include "dial.h"

#include "base/limits.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/un.h>

static char folder[] = "/tmp/listener-XXXXXX";

static const char *path_in_folder(const char *name)
{
    static char path[64];
    snprintf(path, sizeof path, "unix:%s/%s", folder, name);
    return path;
}

static struct slice text_read(const char *text)
{
    static struct endpoint endpoint;
    return endpoint_read(&endpoint, text) ? text_of(endpoint.text) : SLICE("refused");
}

static void endpoints_are_read_and_written_back(void)
{
    CHECK_TEXT(text_read("127.0.0.1:8080"), "127.0.0.1:8080");
    CHECK_TEXT(text_read(":80"), "0.0.0.0:80");
    CHECK_TEXT(text_read("[::1]:65535"), "[::1]:65535");
    CHECK_TEXT(text_read("unix:/run/x.sock"), "unix:/run/x.sock");
}

static void malformed_endpoints_are_refused(void)
{
    static const char *const wrong[] = {
        "",
        "8080",
        "127.0.0.1",
        "127.0.0.1:",
        "127.0.0.1:65536",
        "127.0.0.1:x",
        "127.0.0.1:-1",
        "::1:80",
        "[::1]",
        "127.0.0.1:80 ",
        "unix:",
        "[]:80",
        "127.0.0.1:000080",
        "999.1.1.1:80",
        "[::1]x:80",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct slice text = text_read(wrong[i]);
        if (!slice_equal(text, SLICE("refused")))
            printf("# \"%s\" was read as %s\n", wrong[i], text.data);
        CHECK_TEXT(text, "refused");
    }
    char path[256] = "unix:/";
    memset(path + 6, 'x', 200);
    CHECK_TEXT(text_read(path), "refused"); /* sun_path has 108 bytes */
}

static void the_kernel_s_port_is_written_back(void)
{
    struct endpoint endpoint = endpoint_of("127.0.0.1:0");
    CHECK_EQUAL(endpoint_claim(&endpoint), 0);
    int listener = listener_open(&endpoint, false);
    CHECK(listener >= 0);
    CHECK(strcmp(endpoint.text, "127.0.0.1:0") != 0);
    int client = dial(&endpoint);
    struct peer peer = {0};
    char byte;
    int accepted;
    AWAIT((accepted = listener_accept(listener, &peer)) >= 0);
    CHECK(strcmp(peer.address, "127.0.0.1") == 0);
    CHECK(recv(accepted, &byte, 1, 0) < 0 && errno == EAGAIN); /* non-blocking */
    close(accepted);
    close(client);
    close(listener);
}

static void a_port_where_a_stranger_listens_is_refused_also_when_we_would_share(void)
{
    struct endpoint endpoint = endpoint_of("127.0.0.1:0");
    int first = listener_open(&endpoint, true);
    CHECK(first >= 0);
    struct endpoint same = endpoint_of(endpoint.text);
    CHECK(endpoint_claim(&same) < 0 && errno == EADDRINUSE);
    int second = listener_open(&same, true); /* our own second worker */
    CHECK(second >= 0);
    close(first);
    close(second);
    CHECK_EQUAL(endpoint_claim(&same), 0);
}

static void a_unix_socket_has_no_peer_address(void)
{
    struct endpoint endpoint = endpoint_of(path_in_folder("a"));
    CHECK_EQUAL(endpoint_claim(&endpoint), 0);
    int listener = listener_open(&endpoint, true);
    CHECK(listener >= 0);
    int client = dial(&endpoint);
    struct peer peer = {.address = "x"};
    int accepted = listener_accept(listener, &peer);
    CHECK(accepted >= 0);
    CHECK(strcmp(peer.address, "") == 0);
    CHECK(endpoint_claim(&endpoint) < 0 && errno == EADDRINUSE);
    close(accepted);
    close(client);
    close(listener);
}

static void a_socket_left_behind_is_taken_over(void)
{
    struct endpoint endpoint = endpoint_of(path_in_folder("b"));
    int listener = listener_open(&endpoint, false);
    CHECK(listener >= 0);
    close(listener); /* as a killed process leaves it */
    CHECK_EQUAL(endpoint_claim(&endpoint), 0);
    listener = listener_open(&endpoint, false);
    CHECK(listener >= 0);
    close(listener);
}

static void a_file_that_is_no_socket_is_left_alone(void)
{
    struct endpoint endpoint = endpoint_of(path_in_folder("c"));
    const char *path = path_in_folder("c") + 5;
    FILE *file = fopen(path, "w");
    fputs("precious", file);
    fclose(file);
    CHECK(endpoint_claim(&endpoint) < 0 && errno == EEXIST);
    struct stat status;
    CHECK_EQUAL(stat(path, &status), 0);
    CHECK_EQUAL(status.st_size, 8);
}

static void an_address_that_is_not_ours_is_an_error(void)
{
    struct endpoint endpoint = endpoint_of("192.0.2.1:80");
    CHECK(endpoint_claim(&endpoint) < 0 && errno == EADDRNOTAVAIL);
    CHECK(listener_open(&endpoint, false) < 0 && errno == EADDRNOTAVAIL);
    endpoint = endpoint_of(path_in_folder("none/d"));
    CHECK_EQUAL(endpoint_claim(&endpoint), 0);
    CHECK(listener_open(&endpoint, false) < 0 && errno == ENOENT);
}

static void an_inherited_listener_tells_where_it_listens(void)
{
    struct endpoint endpoint = endpoint_of("127.0.0.1:0"), inherited;
    int listener = listener_open(&endpoint, true);
    CHECK_EQUAL(fcntl(listener, F_SETFL, 0), 0); /* blocking, as a service manager makes it */
    CHECK_EQUAL(fcntl(listener, F_SETFD, 0), 0);
    CHECK_EQUAL(listener_inherit(&inherited, listener), 0);
    CHECK(strcmp(inherited.text, endpoint.text) == 0);
    CHECK(fcntl(listener, F_GETFL) & O_NONBLOCK);
    CHECK_EQUAL(fcntl(listener, F_GETFD), FD_CLOEXEC);
    CHECK(listener_is_shared(listener));
    close(listener);
    listener = listener_open(&endpoint, false);
    CHECK(!listener_is_shared(listener));
    close(listener);

    endpoint = endpoint_of(path_in_folder("e"));
    listener = listener_open(&endpoint, false);
    CHECK_EQUAL(listener_inherit(&inherited, listener), 0);
    CHECK(strcmp(inherited.text, endpoint.text) == 0);
    CHECK(endpoint_is_unix(&inherited));
    close(listener);
}

static void an_abstract_socket_is_written_with_an_at_sign(void)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX, .sun_path = "\0abc"};
    struct endpoint inherited;
    int listener = socket(AF_UNIX, SOCK_STREAM, 0);
    CHECK_EQUAL(bind(listener, (struct sockaddr *)&name, sizeof(sa_family_t) + 4), 0);
    CHECK_EQUAL(listen(listener, 1), 0);
    CHECK_EQUAL(listener_inherit(&inherited, listener), 0);
    CHECK_TEXT(text_of(inherited.text), "unix:@abc");
    close(listener);
}

static void what_does_not_listen_is_not_inherited(void)
{
    struct endpoint inherited;
    int bound = socket(AF_INET, SOCK_STREAM, 0), datagrams = socket(AF_INET, SOCK_DGRAM, 0);
    CHECK(listener_inherit(&inherited, bound) < 0 && errno == EINVAL);
    CHECK(listener_inherit(&inherited, datagrams) < 0);
    CHECK(listener_inherit(&inherited, 0) < 0);
    CHECK(listener_inherit(&inherited, 1000000) < 0 && errno == EBADF);
    close(bound);
    close(datagrams);
}

/* Returns how many bytes the kernel accepts for a client of `listener` that never reads. */
static size_t taken_for_nobody(int listener, const struct endpoint *endpoint)
{
    static const char bytes[16 * 1024];
    int room = 4096, client = socket(AF_INET, SOCK_STREAM, 0);
    setsockopt(client, SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
    CHECK_EQUAL(connect(client, (const struct sockaddr *)&endpoint->address, endpoint->size), 0);
    struct peer peer = {0};
    int fd = -1;
    AWAIT((fd = listener_accept(listener, &peer)) >= 0);
    size_t taken = 0;
    for (ssize_t count; (count = send(fd, bytes, sizeof bytes, MSG_NOSIGNAL)) > 0;)
        taken += (size_t)count;
    close(fd);
    close(client);
    return taken;
}

static void what_a_client_does_not_take_fills_no_memory_of_the_kernel(void)
{
    struct endpoint endpoint = endpoint_of("127.0.0.1:0"), inherited;
    int listener = listener_open(&endpoint, false);
    CHECK(taken_for_nobody(listener, &endpoint) < 4 * LIMIT_UNSENT);
    close(listener);
    endpoint = endpoint_of("127.0.0.1:0");
    listener = socket(AF_INET, SOCK_STREAM, 0);
    CHECK_EQUAL(bind(listener, (struct sockaddr *)&endpoint.address, endpoint.size), 0);
    CHECK_EQUAL(listen(listener, 1), 0);
    CHECK_EQUAL(listener_inherit(&inherited, listener), 0);
    CHECK(taken_for_nobody(listener, &inherited) < 4 * LIMIT_UNSENT);
    close(listener);
}

int main(void)
{
    if (!mkdtemp(folder))
        return 2;
    RUN(endpoints_are_read_and_written_back);
    RUN(malformed_endpoints_are_refused);
    RUN(the_kernel_s_port_is_written_back);
    RUN(a_port_where_a_stranger_listens_is_refused_also_when_we_would_share);
    RUN(a_unix_socket_has_no_peer_address);
    RUN(a_socket_left_behind_is_taken_over);
    RUN(a_file_that_is_no_socket_is_left_alone);
    RUN(an_address_that_is_not_ours_is_an_error);
    RUN(an_inherited_listener_tells_where_it_listens);
    RUN(an_abstract_socket_is_written_with_an_at_sign);
    RUN(what_does_not_listen_is_not_inherited);
    RUN(what_a_client_does_not_take_fills_no_memory_of_the_kernel);
    static const char *const left[] = {"a", "b", "c", "e"};
    for (size_t i = 0; i < sizeof left / sizeof *left; i++)
        unlink(path_in_folder(left[i]) + 5);
    rmdir(folder);
    return check_end();
}
