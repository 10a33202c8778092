-- The Redis clock, read once per script: whole microseconds.
local time = redis.call('TIME')
local now_us = time[1] * 1000000 + time[2]
