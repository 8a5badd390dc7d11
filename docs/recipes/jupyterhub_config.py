"""A small JupyterHub for the course: one machine, its own users, nbgrader's exchange in /srv/nbgrader/exchange.

pip install jupyterhub -e '.[instructor]' && npm install --global configurable-http-proxy
jupyterhub --config docs/recipes/jupyterhub_config.py
"""

c = get_config()  # noqa: F821  JupyterHub provides it

c.JupyterHub.bind_url = "http://127.0.0.1:8000"  # behind a web server with a certificate
c.JupyterHub.spawner_class = "jupyterhub.spawner.LocalProcessSpawner"
c.Spawner.default_url = "/lab"
c.Spawner.mem_limit = "4G"

# Users of the machine may come in; whoever grades is in the group "instructors" of the machine.
c.LocalAuthenticator.create_system_users = False
c.Authenticator.allow_all = True
c.PAMAuthenticator.admin_groups = {"instructors"}
