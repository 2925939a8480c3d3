/*
 * quickjs-ng 0.17 takes what poll(2) answers, the number of descriptors that are ready, for the number of entries to
 * look at. One that is ready behind one that is not is then never served, and the event loop spins. Linked with
 * --wrap=poll, this answers with the number of entries, so that all are looked at; an engine without the mistake does
 * not mind.
 */
#include <poll.h>

int __real_poll(struct pollfd *entries, nfds_t count, int timeout);

int __wrap_poll(struct pollfd *entries, nfds_t count, int timeout)
{
    int ready = __real_poll(entries, count, timeout);
    return ready > 0 ? (int)count : ready;
}
