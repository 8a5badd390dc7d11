"""What a released package says: its README, and what an assistant may do for a student."""

from __future__ import annotations

from pathlib import Path

from autograder.authoring.pages import number_of, worth
from autograder.model.course import Assignment, Course

DOCUMENTS = {"docs/students.md": "how to work, and what messages mean", "docs/colab.md": "on Colab"}
PLACE = Path(__file__).parent / "student_files"


def agents(course: Course) -> str:
    name = "AGENTS-self-study.md" if course.self_study else "AGENTS.md"
    return (PLACE / name).read_text(encoding="utf-8")


def documents(course: Course) -> dict[str, str]:
    """The pages for students, as far as the course has them."""
    paths = [course.root / name for name in DOCUMENTS]
    return {
        name: path.read_text(encoding="utf-8") for name, path in zip(DOCUMENTS, paths, strict=True) if path.exists()
    }


def readme(course: Course, assignments: list[Assignment]) -> str:
    rows = "\n".join(row(course, assignment) for assignment in assignments)
    more = [f"[{about}]({name})" for name, about in DOCUMENTS.items() if name in documents(course)]
    pages = f"More: {', '.join(more)}.\n\n" if more else ""
    text = (PLACE / "README.md").read_text(encoding="utf-8")
    alone = (PLACE / "self-study.md").read_text(encoding="utf-8") + "\n" if course.self_study else ""
    text = text.replace("{self_study}", alone)
    return text.replace("{title}", course.title).replace("{rows}", rows).replace("{pages}", pages)


def row(course: Course, assignment: Assignment) -> str:
    badge = "[![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)]({})"
    paths = assignment.student_notebooks
    links = ", ".join(f"[{path.stem}](notebooks/{assignment.id}/{path.name})" for path in paths)
    badges = " ".join(badge.format(course.colab_link(assignment, path)) for path in paths)
    hours = f"{assignment.minutes / 60:.2g} h"
    return f"| {number_of(assignment)} | {assignment.title}: {links} | {worth(assignment)} | {hours} | {badges} |"
