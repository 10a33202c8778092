-- Lets a script work at maxmemory: every verb that drains or operates a bucket begins with this, because what it does
-- is the way out of a full Redis. Redis refuses commands that may need memory only up to a script's first write. So the
-- first write is one that needs none: PERSIST removes a TTL, and KEYS[1] of these verbs never has one. Where Redis
-- takes no writes at all, the verb's own first write reports it. (Script flags, `allow-oom`, exist only from Redis 7.0
-- on.)
redis.pcall('PERSIST', KEYS[1])
