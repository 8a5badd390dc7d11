"""The student's side of the course: `course lab`, `course check` and the folder `work/`.

It is all of the `course` command that a released package has. The standard library is enough to import it; what is
heavy (JupyterLab, nbclient) is imported, or started, when a command needs it.
"""
