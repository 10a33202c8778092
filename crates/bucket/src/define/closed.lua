-- The value of `closed` in control once a bucket is deleted. While it is only suspended for its deletion, the value is
-- the version of the definition to be deleted: a later definition opens the bucket again.
local CLOSED = '1'
