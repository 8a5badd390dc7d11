"""What instructors run: build, check, verify, release, grade, feedback, export. The command is `course`."""
