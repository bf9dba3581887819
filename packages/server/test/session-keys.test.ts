import { expect, it } from 'vitest'
import type { Principal } from '../src/auth/principal.ts'
import { allows, isScope, isTenant } from '../src/auth/principal.ts'
import {
  derivedInputId,
  derivedSessionId,
  isOfTenant,
  isReadableId,
  keyPrefix,
  randomSessionId,
  sessionIdForm,
  sessionIdOf,
  sessionKey,
} from '../src/session-keys.ts'

const ann: Principal = { id: 'ann', tenant: 'red', scopes: ['sessions:read'] }

it('V63: a key contains its tenant, and no key of another tenant has the same prefix', () => {
  expect(sessionKey('red', 'mine')).toBe('tenant:red:s:mine')
  expect(keyPrefix('red')).toBe('tenant:red:s:')
  expect(sessionIdOf('red', sessionKey('red', 'mine'))).toBe('mine')
  expect(isOfTenant('red', sessionKey('red', 'x'))).toBe(true)
  for (const other of ['re', 'redd', 'blue', '']) expect(isOfTenant(other, sessionKey('red', 'x'))).toBe(false)
  expect(isOfTenant('red', 'bridge:red:s:x')).toBe(false)
})

it.each(['a', 'A1_-', 'a'.repeat(128)])('V63: %s can be used as an id', (id) => {
  expect([sessionIdForm.test(id), isReadableId(id)]).toEqual([true, true])
})

it.each(['', '_a', '-a', 'a b', 'a:b', 'a/b', 'a'.repeat(129), 'a\n', 'ä', '../a'])('V63: %j cannot be used as an id', (id) => {
  expect([sessionIdForm.test(id), isReadableId(id)]).toEqual([false, false])
})

it('V63: the session of a child can only be read', () => {
  for (const id of ['a~helper~c1', 'a~helper~c1~deep~c_2', `a~h~${'c'.repeat(80)}`])
    expect([sessionIdForm.test(id), isReadableId(id)], id).toEqual([false, true])
  for (const id of ['~helper~c1', 'a~', 'a~helper', 'a~Helper~c1', 'a~helper~c:1', `a~h~${'c'.repeat(81)}`, `a~${'h'.repeat(53)}~c`])
    expect(isReadableId(id), id).toBe(false)
  const deep = `a${`~h~${'c'.repeat(70)}`.repeat(8)}`
  expect([deep.length, isReadableId(deep)]).toEqual([585, true])
  // With the longest tenant, the key has the maximum length of a store.
  expect([12, 13].map((more) => isReadableId(`${deep}~h~${'c'.repeat(more)}`))).toEqual([true, false])
})

it('V12: a derived id is the same only for the same principal and key', async () => {
  const bob: Principal = { ...ann, id: 'bob' }
  const blue: Principal = { ...ann, tenant: 'blue' }
  const ids = await Promise.all([
    derivedSessionId(ann, 'k'),
    derivedSessionId(bob, 'k'),
    derivedSessionId(blue, 'k'),
    derivedSessionId(ann, 'l'),
  ])
  expect(new Set(ids).size).toBe(4)
  expect(await derivedSessionId({ ...ann, scopes: [] }, 'k')).toBe(ids[0])
  for (const id of ids) expect(id).toMatch(/^s_[\w-]{22}$/)
  const inputs = await Promise.all([
    derivedInputId(ann, 'r', 'k'),
    derivedInputId(bob, 'r', 'k'),
    derivedInputId(blue, 'r', 'k'),
    derivedInputId(ann, 's', 'k'),
    derivedInputId(ann, 'r', 'l'),
  ])
  expect(new Set(inputs).size).toBe(5)
  expect(await derivedInputId(ann, 'r', 'k')).toBe(inputs[0])
})

it('V11: a repeat that comes after an update of the server finds the result of the first', async () => {
  expect(await derivedSessionId(ann, 'k')).toBe('s_DE0Ld0N2khtHPU-iW5QhOA')
  expect(await derivedInputId(ann, 'r', 'k')).toBe('hUdEsmGaLCSa-ne9WPL7hn1VrOaQFlDZPye42MDYkqY')
})

it('V63: an id created by the server is random and can be used in requests', () => {
  const ids = Array.from({ length: 50 }, randomSessionId)
  expect(new Set(ids).size).toBe(50)
  for (const id of ids) expect(id).toMatch(/^s_[\w-]{22}$/)
})

it('V62, V63: tenants and scopes', () => {
  for (const tenant of ['red', 'R.e_d@x-1', 'a'.repeat(64)]) expect(isTenant(tenant)).toBe(true)
  for (const tenant of ['', '.red', '_red', 'a:b', 'a/b', 'a b', 'a'.repeat(65), 'red\n', 5, null, undefined, ['red']])
    expect(isTenant(tenant)).toBe(false)
  expect([isScope('admin'), isScope('sessions:read'), isScope('sessions'), isScope('')]).toEqual([true, true, false, false])
  expect([
    allows(ann, 'sessions:read'),
    allows(ann, 'sessions:write'),
    allows({ ...ann, scopes: ['admin'] }, 'mcp'),
    allows({ ...ann, scopes: [] }, 'mcp'),
  ]).toEqual([true, false, true, false])
})
