-- Lets a script work at maxmemory. Every verb that drains or operates a bucket begins with this, because it may free
-- memory. Redis refuses commands that may need memory only until a script's first write. So the first write is one that
-- needs none: PERSIST removes a TTL, which KEYS[1] of these verbs never has. If Redis accepts no writes at all, the
-- next write fails. (The script flag `allow-oom` exists only since Redis 7.0.)
redis.pcall('PERSIST', KEYS[1])
