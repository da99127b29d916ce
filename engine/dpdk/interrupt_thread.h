/*
 * interrupt_thread: runs a function in EAL's interrupt thread. memif's driver handles its peers'
 * messages and deaths there without a lock, so another thread that stops or closes such a device
 * frees memory that is already being freed (memif_disconnect in memif_socket.c).
 */
#ifndef NINES_INTERRUPT_THREAD_H
#define NINES_INTERRUPT_THREAD_H

/* Calls work(arg) there and waits until it returns. 0, or -errno if it was not called. */
int interrupt_thread_run(void (*work)(void *arg), void *arg);

#endif
