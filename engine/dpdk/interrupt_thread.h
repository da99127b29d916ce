/*
 * interrupt_thread: does a thing in EAL's interrupt thread. memif's driver handles its
 * peers' messages and deaths there and takes no lock, so whoever stops or closes such a
 * device elsewhere frees memory that is being freed (memif_disconnect in memif_socket.c).
 */
#ifndef NINES_INTERRUPT_THREAD_H
#define NINES_INTERRUPT_THREAD_H

/* Calls work(arg) there and waits for its end. 0, or -errno and nothing was called. */
int interrupt_thread_run(void (*work)(void *arg), void *arg);

#endif
