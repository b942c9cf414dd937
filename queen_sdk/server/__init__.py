"""The rewriter behind HTTP, for assistants that cannot embed it: `queen serve`.

`queen_sdk.server.bodies` reads what is asked, `queen_sdk.server.app` answers; the latter needs
fastapi (pip install 'queen-sdk[server]').
"""
