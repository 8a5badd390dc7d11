"""The examiner: student code runs in one process, the tests in another, and only plain data passes between them.

pool.py      starts the nursery and the workers, and hands out submissions
sandbox.py   what the operating system protects, and how it is asked to
student.py   the student's side: nursery, namespaces, notebook shell, clones (this file and wire.py are all the sandbox sees of us)
wire.py      how plain data crosses: nothing that arrives is ever executed or believed
bridge.py    the examiner's end of the wire: stand-ins for what the student wrote
tester.py    runs test cells against clones of the student's process
examine.py   one submission, from the file to the record
repair.py    damaged notebooks become gradable ones, every repair on the record
submission.py from the file to the graded notebook
page.py      HTML that may be shown
"""
