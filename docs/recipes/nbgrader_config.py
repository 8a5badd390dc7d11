"""For everybody on the hub, as /etc/jupyter/nbgrader_config.py: where assignments go out and come in."""

c = get_config()  # noqa: F821  nbgrader provides it

c.CourseDirectory.course_id = "sequence-models"  # as in course.toml
c.Exchange.root = "/srv/nbgrader/exchange"  # mkdir --parents, then chmod 777: nbgrader keeps students apart in it
c.Exchange.timezone = "Europe/Zurich"
