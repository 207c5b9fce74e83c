"""An environment folder of OpenEnv: models, client, server, manifest and Dockerfile.

`python -m tile_envs.plug.openenv` starts the server, `client.TilesEnv` speaks to it.
"""
