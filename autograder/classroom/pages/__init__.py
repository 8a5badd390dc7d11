"""Pages that people read: the feedback of one student, and the report on a class. Each is one file that needs nothing
else.
"""
