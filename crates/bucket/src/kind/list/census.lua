-- List kind: what only a census counts.

-- A list can't park.
local function count_parked()
  return 0
end

-- Its id; '' when none exists. The oldest of each list is at its tail; the lists of the takers, which have the oldest of all,
-- come after the state of a pace (ARGV 2). Of as many as a script may read.
local function oldest_job(jobs)
  local oldest
  local function look(list)
    local element = may_read() and redis.call('LINDEX', list, -1)
    if not element then return end
    count_read(element)
    local head = read_head(element)
    if head and not (oldest and comes_after(head, oldest)) then oldest = head end
  end
  local first = ARGV[2] == '' and 8 or 9
  for i = first, #KEYS - 1 do look(KEYS[i]) end
  look(jobs)
  return oldest and oldest.id or ''
end
