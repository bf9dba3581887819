import { createHash } from 'node:crypto'

/** Script that the server executes atomically. */
export interface Script {
  readonly text: string
  /** Hash by which the server knows the text once it has loaded it. */
  readonly sha: string
}

/**
 * Keys of a record, in this order: hash of all records of its space, value, sorted ids of the space, expiry times, deleted ids.
 * Then the keys of the marks: of this attempt first, then of earlier ones; the name of each mark is an argument too. All keys are
 * in one slot of a cluster.
 *
 * The hash maps an id to `version usedAt expiresAt marks`. `expiresAt` can be `never` or `gone`; the newest changes follow it as
 * `;mark=version;…`. The empty id holds the highest version of all forgotten ids. A value starts with its version.
 *
 * A deleted or swept record stays `gone` for ten minutes, so that a retry after a lost answer finds its mark. Then the id is
 * forgotten; new records get versions above the highest forgotten one. Each write forgets a few ids, so that a space stays small
 * without `sweep`. An expired record is reported as expired for a day.
 */
const common = `
local graceMs, markMs, expiredMs, marksLength = 60000, 600000, 86400000, 320

local function whole(number) return string.format('%.0f', number) end

local function now(given)
  if given ~= '' then return tonumber(given) end
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

local function parse(text)
  local version, usedAt, expiresAt, marks = string.match(text, '^(%d+) (%d+) (%S+) (.*)$')
  return { version = tonumber(version), usedAt = usedAt, expiresAt = expiresAt, marks = marks }
end

local function forgotten() return tonumber(redis.call('HGET', KEYS[1], '') or '0') end

local function find(id)
  local text = redis.call('HGET', KEYS[1], id)
  if text then return parse(text) end
  return { version = forgotten(), expiresAt = 'gone', marks = ';' }
end

local function isLive(record, at)
  if record.expiresAt == 'gone' then return false end
  return record.expiresAt == 'never' or tonumber(record.expiresAt) > at
end

local function write(id, version, at, expiresAt, marks)
  redis.call('HSET', KEYS[1], id, whole(version) .. ' ' .. whole(at) .. ' ' .. expiresAt .. ' ' .. marks)
end

local function marked(record, mark, version)
  return string.sub(';' .. mark .. '=' .. whole(version) .. record.marks, 1, marksLength)
end
`

/** `settled` returns what became of the earlier attempts of a change. If none was executed, it blocks all of them. */
const ofChanges = `
local function settled(record, first, isUnchanged)
  for place = first, #ARGV do
    local _, stop = string.find(record.marks, ';' .. ARGV[place] .. '=', 1, true)
    local version = stop and string.match(record.marks, '^(%d+);', stop + 1)
    if version then return { 'ok', version } end
  end
  if redis.call('EXISTS', KEYS[6]) == 1 then return { 'late' } end
  for place = 7, #KEYS do redis.call('SET', KEYS[place], '', 'PX', markMs) end
  if #ARGV > first and #record.marks >= marksLength and not isUnchanged then return { 'unknown' } end
end

local function standing(record)
  local value = redis.call('GET', KEYS[2])
  if not value then return { 'lost' } end
  return { 'conflict', whole(record.version), record.usedAt, record.expiresAt, value }
end

local function expireAt(id, expiresAt)
  if expiresAt == 'never' then redis.call('ZREM', KEYS[4], id)
  else redis.call('ZADD', KEYS[4], expiresAt, id) end
end

local function forget(ids)
  for _, id in ipairs(ids) do
    local record = find(id)
    if record.version > forgotten() then redis.call('HSET', KEYS[1], '', whole(record.version)) end
    redis.call('HDEL', KEYS[1], id)
    for place = 3, 5 do redis.call('ZREM', KEYS[place], id) end
  end
end

local function forgetSome(at, most)
  forget(redis.call('ZRANGEBYSCORE', KEYS[5], '-inf', whole(at - markMs), 'LIMIT', 0, most))
  forget(redis.call('ZRANGEBYSCORE', KEYS[4], '-inf', whole(at - expiredMs), 'LIMIT', 0, most))
end
`

/**
 * Arguments: id, time, expected version (empty: none), TTL, value, marks. The record is written first: if memory is full, this is
 * refused, and nothing has happened.
 */
const compareAndSet = script(`${common}${ofChanges}
local id, at, expected, ttl, value = ARGV[1], now(ARGV[2]), ARGV[3], ARGV[4], ARGV[5]
local record = find(id)
local live = isLive(record, at)
local found = live and whole(record.version) or ''
local before = settled(record, 6, live and found == expected)
if before then return before end
if found ~= expected then return live and standing(record) or { 'missing' } end

local version = record.version + 1
local expiresAt = ttl == 'never' and ttl or whole(at + tonumber(ttl))
write(id, version, at, expiresAt, marked(record, ARGV[6], version))
local text = whole(version) .. ':' .. value
if ttl == 'never' then redis.call('SET', KEYS[2], text)
else redis.call('SET', KEYS[2], text, 'PX', whole(tonumber(ttl) + graceMs)) end
if not live then
  redis.call('ZADD', KEYS[3], 0, id)
  redis.call('ZREM', KEYS[5], id)
end
expireAt(id, expiresAt)
forgetSome(at, 2)
return { 'ok', whole(version) }
`)

/**
 * Arguments: id, time, expected version (empty: any), marks. The value is deleted first: this is possible when memory is full, and
 * frees some.
 */
const remove = script(`${common}${ofChanges}
local id, at, expected = ARGV[1], now(ARGV[2]), ARGV[3]
local record = find(id)
local live = isLive(record, at)
local isExpected = live and (expected == '' or whole(record.version) == expected)
local before = settled(record, 4, isExpected and expected ~= '')
if before then return before end
if not live then return { 'missing' } end
if not isExpected then return standing(record) end

redis.call('DEL', KEYS[2])
write(id, record.version, at, 'gone', marked(record, ARGV[4], record.version))
redis.call('ZREM', KEYS[3], id)
redis.call('ZREM', KEYS[4], id)
redis.call('ZADD', KEYS[5], whole(at), id)
forgetSome(at, 2)
return { 'ok', whole(record.version) }
`)

/**
 * Arguments: id, time, TTL, marks. Stores no mark in the record: touching twice has the effect of touching once. The expiry of the
 * value can be changed when memory is full.
 */
const touch = script(`${common}${ofChanges}
local id, at, ttl = ARGV[1], now(ARGV[2]), ARGV[3]
local record = find(id)
local before = settled(record, 4, true)
if before then return before end
if not isLive(record, at) then return { 'missing' } end
if redis.call('EXISTS', KEYS[2]) == 0 then return { 'lost' } end
local expiresAt = ttl == 'never' and ttl or whole(at + tonumber(ttl))
if ttl == 'never' then redis.call('PERSIST', KEYS[2])
else redis.call('PEXPIRE', KEYS[2], whole(tonumber(ttl) + graceMs)) end
write(id, record.version, at, expiresAt, record.marks)
expireAt(id, expiresAt)
return { 'ok', whole(record.version) }
`)

/** Keys: records, value. Arguments: id, time. */
const read = script(`${common}
local text = redis.call('HGET', KEYS[1], ARGV[1])
local record = text and parse(text)
if not record or record.expiresAt == 'gone' then return { 'missing' } end
if not isLive(record, now(ARGV[2])) then return { 'expired', record.expiresAt } end
local value = redis.call('GET', KEYS[2])
if not value then return { 'lost' } end
return { 'found', whole(record.version), record.usedAt, record.expiresAt, value }
`)

/**
 * Keys: records, ids. Arguments: time, lowest id, highest id, count. Returns the id after which the list continues, or an empty
 * text; then id, version, usedAt and expiresAt of each live record. Limits the number of scanned ids, expired ones included, since
 * the server does nothing else meanwhile.
 */
const list = script(`${common}
local at, lowest, highest, wanted = now(ARGV[1]), ARGV[2], ARGV[3], tonumber(ARGV[4])
local mostScanned, step = 5000, math.max(wanted, 100)
local reply, scanned = { '' }, 0
while true do
  local ids = redis.call('ZRANGEBYLEX', KEYS[2], lowest, highest, 'LIMIT', 0, step)
  local texts = #ids > 0 and redis.call('HMGET', KEYS[1], unpack(ids)) or {}
  for place, id in ipairs(ids) do
    local record = texts[place] and parse(texts[place])
    if record and isLive(record, at) then
      for _, field in ipairs({ id, whole(record.version), record.usedAt, record.expiresAt }) do reply[#reply + 1] = field end
      if (#reply - 1) / 4 >= wanted then return reply end
    end
  end
  if #ids < step then return reply end
  scanned = scanned + #ids
  if scanned >= mostScanned then reply[1] = ids[#ids] return reply end
  lowest = '(' .. ids[#ids]
end
`)

/** Keys: values. Returns the values; nil for a missing one. */
const values = script(`return redis.call('MGET', unpack(KEYS))`)

/** Keys: those of a record without marks; the value is not read. Arguments: time, limit. Returns the number of expired records. */
const sweep = script(`${common}${ofChanges}
local at, most = now(ARGV[1]), tonumber(ARGV[2])
local ids = redis.call('ZRANGEBYSCORE', KEYS[4], '-inf', whole(at), 'LIMIT', 0, most)
for _, id in ipairs(ids) do
  local record = find(id)
  redis.call('ZREM', KEYS[3], id)
  redis.call('ZREM', KEYS[4], id)
  write(id, record.version, at, 'gone', record.marks)
  redis.call('ZADD', KEYS[5], whole(at), id)
end
forgetSome(at, most)
return { tostring(#ids) }
`)

/** Key: the spaces. Argument: a space that gets records. */
const addSpace = script(`return { tostring(redis.call('SADD', KEYS[1], ARGV[1])) }`)

/** Key: the spaces. Returns them. */
const spaces = script(`return redis.call('SMEMBERS', KEYS[1])`)

export const scripts = { compareAndSet, remove, touch, read, list, values, sweep, addSpace, spaces } as const

function script(text: string): Script {
  return { text, sha: createHash('sha1').update(text).digest('hex') }
}
