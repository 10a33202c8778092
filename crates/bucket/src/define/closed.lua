-- What `closed` in control is once a bucket is closed for good. Before that it is the version of the definition that
-- somebody is about to delete: a later one opens the bucket again.
local CLOSED = '1'
