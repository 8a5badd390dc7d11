"""The link with which a student asks for a second look: a message with exercise and check filled in.

`regrade` in course.toml is an e-mail address, or the address of a form or issue page with `{subject}` and `{body}` in
it. Without one the student's mail program asks whom to send it to.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from urllib.parse import quote

MAIL = re.compile(r"[^@\s<>?&]+@[^@\s<>?&]+")
PAGE = re.compile(r"https?://[^\s<>\"']+")
FORM = "{subject}"
LONGEST = 1500  # characters of a message: mail programs and servers cut long addresses


def checked_address(value: object) -> str:
    """ValueError with a sentence for what is no place to write to."""
    if value == "" or (isinstance(value, str) and MAIL.fullmatch(value)):
        return value
    if isinstance(value, str) and PAGE.fullmatch(value) and FORM in value:
        return value
    raise ValueError(
        f"regrade is {value!r}: write an e-mail address, or the address of a page with {{subject}} and {{body}} in it,"
        ' such as "https://github.com/NAME/REPOSITORY/issues/new?title={subject}&body={body}"'
    )


def link(address: str, subject: str, lines: Sequence[str]) -> str:
    body = "\n".join(lines)[:LONGEST]
    written = quote(subject, safe=""), quote(body, safe="")
    if MAIL.fullmatch(address) or not address:
        return f"mailto:{quote(address, safe='@')}?subject={written[0]}&body={written[1].replace('%0A', '%0D%0A')}"
    return address.replace(FORM, written[0]).replace("{body}", written[1])


def request(student: str, assignment: str, exercise: str, checks: Sequence[str], points: str) -> tuple[str, list[str]]:
    """Subject and lines of the message. The last line is the student's to write."""
    subject = f"Regrade request: {assignment}, {exercise}"
    lines = [f"Student: {student}", f"Assignment: {assignment}", f"Exercise: {exercise}", f"Points: {points}"]
    lines += [f"Check: {name}" for name in checks]
    return subject, [*lines, "", "What I think was judged wrongly, and why:", ""]
