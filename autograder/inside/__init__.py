"""What runs inside the sandbox: the only folder of the tools that is mounted there. It imports nothing else of ours.

nursery.py          the warm process that everything below is forked from
init.py             process 1 of a submission: orders of the examiner, memory, the end of all processes
student_process.py  the student's process until its first request
server.py           answers the examiner's requests there: cells, names, calls, clones
shell.py            a notebook shell that records outputs (the examiner uses it for tests, too)
wire.py             how plain data crosses (used on both sides)
audit.py            reports what student code tried, and which names it replaced
rights.py           limits, user, capabilities, what files may be used
landlock.py         rules on files
seccomp.py          the list of system calls, and filters
scratch.py          namespaces, scratch folders, what is seen of /proc
memory_watch.py     which process has to end when memory is short
stops.py            who stopped or killed a process: the submission, or somebody outside?
ends.py             which processes were ended from outside
processes.py        the processes of a submission
system_calls.py     calls that Python has no function for
probe.py            `course doctor`: tries what must not work
"""
