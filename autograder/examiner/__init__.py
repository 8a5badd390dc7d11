"""The examiner: student code runs in one process, the tests in another, and only plain data passes between them.

pool.py              the front's side: workers that prepare an assignment, examine submissions and try variants
worker.py            the warm process behind it: starts the nursery, forks the workers; messages.py
warm.py              the same for a process that stays between calls
sandbox.py           what the operating system protects, and how it is asked to; cgroups.py, protections.py
job.py               one submission, from the file to the record
result_keys.py       what decides a result, and the use of results that nothing has changed
repair/              damaged notebooks become gradable ones, every repair on the record
examination.py       runs the student's cells, makes clones and has them tested
process.py           the student's process and its clones: how they are asked, what is believed of the answers
outputs.py           what cells showed, as it is kept: checked, cleaned, limited
variants.py          the same for `course verify`: other answers to an exercise, each in a clone
tester.py            runs test cells against clones of the student's process
bridge.py            a test's connection to its clone; handles.py: objects that live there
remote_gradients.py  gradients through a call to the clone
remote_errors.py     exceptions of student code
submitted_source.py  the text of what the student defined
kernel_cost.py       what a call cost, counted by the kernel
deadline.py          time limits that a busy machine does not change; limits.py
sanitize.py          HTML that may be shown

The student's side is in autograder/inside/.
"""
