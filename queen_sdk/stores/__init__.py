"""Where sessions are kept: in memory, in an SQLite file, in Redis."""

from queen_sdk.stores.base import Record, Store
from queen_sdk.stores.memory import MemoryStore
from queen_sdk.stores.redis import RedisStore
from queen_sdk.stores.sqlite import SqliteStore

__all__ = ["MemoryStore", "Record", "RedisStore", "SqliteStore", "Store"]
