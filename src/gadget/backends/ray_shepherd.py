"""What is between an actor and its worker: whatever becomes of the actor, nothing of the worker is left.

Ray kills actors without a word, and so does the kernel when memory runs out; then the kernel signals only the
next process, and Ray kills that one too. So there are two between: a gate that may be killed, and under it a
shepherd that hears of it, adopts whatever the worker starts and leaves behind, and ends all of it. They are a
program of their own, since between fork and exec nothing of Python is safe where threads run; and they are
text, since nodes need nothing of this package.
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
    if below:
        os.kill(below, number)

def bind(parent, number):
    # Adopt what is left behind, and be signalled when the parent is gone.
    prctl(36, 1)
    prctl(1, number)
    if os.getppid() != parent:
        os._exit(1)
    return os.fork()

def become_worker():
    os.setsid()
    prctl(1, signal.SIGKILL)
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, signals)
    try:
        os.chdir(sys.argv[2])
        os.execvp(sys.argv[3], sys.argv[3:])
    except OSError as error:
        os.write(2, f"{sys.argv[3]}: {error.strerror}\\n".encode())
    os._exit(127)

prctl = ctypes.CDLL(None).prctl
signals = {signal.SIGHUP, signal.SIGTERM, signal.SIGINT, signal.SIGUSR1, signal.SIGUSR2}
signal.pthread_sigmask(signal.SIG_BLOCK, signals)
gate = os.getpid()
below = bind(int(sys.argv[1]), signal.SIGKILL)
handlers = dict.fromkeys(signals, hand_on)
if not below:
    below = bind(gate, signal.SIGHUP)
    if not below:
        become_worker()
    handlers[signal.SIGHUP] = end
for number, handler in handlers.items():
    signal.signal(number, handler)
signal.pthread_sigmask(signal.SIG_UNBLOCK, signals)
status = None
while status is None:
    number = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT).si_pid
    if number == below:
        # Its number is nobody else's before it is buried.
        signal.pthread_sigmask(signal.SIG_BLOCK, signals)
        below = 0
    _, told = os.waitpid(number, 0)
    if not below:
        status = told
end()
code = os.waitstatus_to_exitcode(status)
os._exit(128 - code if code < 0 else code)
"""
