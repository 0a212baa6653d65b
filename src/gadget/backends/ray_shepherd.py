"""The process between an actor and its worker: whatever becomes of the actor, nothing of the worker is left.

Ray kills actors without a word, and so does the kernel when memory runs out. The kernel then signals only the
next process, so this stays between the two: it adopts whatever the worker starts and leaves behind, and ends
all of it with the worker or with the actor. It is a program of its own, since between fork and exec nothing
of Python is safe where threads run; and it is text, since nodes need nothing of this package.
"""

import signal

END = signal.SIGHUP
"""Ends the worker and all that it has started; so does the end of the actor."""

# Arguments: the process number of the actor, the folder of the worker, and its command. Other signals to it
# go to the worker. Exit code: that of the worker, 128 + n for signal n.
SHEPHERD = """
import ctypes, os, signal, sys, time

def children():
    for entry in os.listdir("/proc"):
        if entry.isdecimal():
            try:
                with open(f"/proc/{entry}/stat", "rb") as file:
                    fields = file.read().rpartition(b")")[2].split()
            except OSError:
                continue
            if int(fields[1]) == os.getpid() and fields[0] not in b"ZX":
                yield int(entry)

def end(*_):
    # Those whose parent dies become children here. What waits in the kernel for ever is left.
    late = time.monotonic() + 10
    while (found := list(children())) and time.monotonic() < late:
        for number in found:
            try:
                os.kill(number, signal.SIGKILL)
            except ProcessLookupError:
                pass
        time.sleep(0.002)

def hand_on(number, _):
    if worker:
        os.kill(worker, number)

worker = 0
prctl = ctypes.CDLL(None).prctl
prctl(36, 1)
signals = {signal.SIGHUP, signal.SIGTERM, signal.SIGINT, signal.SIGUSR1, signal.SIGUSR2}
signal.pthread_sigmask(signal.SIG_BLOCK, signals)
prctl(1, signal.SIGHUP)
if os.getppid() != int(sys.argv[1]):
    sys.exit(1)
worker = os.fork()
if not worker:
    prctl(1, signal.SIGKILL)
    os.setsid()
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, signals)
    try:
        os.chdir(sys.argv[2])
        os.execvp(sys.argv[3], sys.argv[3:])
    except OSError as error:
        os.write(2, f"{sys.argv[3]}: {error.strerror}\\n".encode())
    os._exit(127)
signal.signal(signal.SIGHUP, end)
for number in signals - {signal.SIGHUP}:
    signal.signal(number, hand_on)
signal.pthread_sigmask(signal.SIG_UNBLOCK, signals)
status = None
while status is None:
    number = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT).si_pid
    if number == worker:
        # Its number is nobody else's before it is buried.
        signal.pthread_sigmask(signal.SIG_BLOCK, signals - {signal.SIGHUP})
        worker = 0
    ended, told = os.waitpid(number, 0)
    if not worker:
        status = told
end()
code = os.waitstatus_to_exitcode(status)
os._exit(128 - code if code < 0 else code)
"""
