import { createRedaction } from '@bowline/llm'
import type { ErrorKind } from '@bowline/llm'
import { describe, expect, it } from 'vitest'
import { errorBody, errorFrom, storedError } from '../src/error-body.ts'
import { BridgeError } from '../src/index.ts'
import { modelFailure } from '../src/model-failure.ts'
import { causeRedaction, causeText } from '../src/redact-cause.ts'

const copy = causeRedaction(createRedaction({ fields: ['plate'], patterns: [/customer-\d+/] }))
const key = 'sk-abcdefghijklmnop'

describe('B115: a thrown value in the form for the log', () => {
  it('B115: an error stays an error: name, message, stack, cause and fields, without secrets', () => {
    const cause = new TypeError(`no ${key}`)
    const thrown = Object.assign(new RangeError('of customer-4711', { cause }), {
      plate: 'OSL 1',
      status: 500,
      token: 'x',
      list: ['customer-1'],
    })
    thrown.stack = 'RangeError: of customer-4711\n    at file.ts:1'
    const copied = copy(thrown) as typeof thrown
    expect(copied).toBeInstanceOf(Error)
    expect(copied).not.toBe(thrown)
    expect({ name: copied.name, message: copied.message, stack: copied.stack }).toEqual({
      name: 'RangeError',
      message: 'of [redacted]',
      stack: 'RangeError: of [redacted]\n    at file.ts:1',
    })
    expect({ ...copied }).toMatchObject({ plate: '[redacted]', status: 500, token: '[redacted]', list: ['[redacted]'] })
    expect(copied.cause).toMatchObject({ name: 'TypeError', message: 'no [redacted]' })
    expect(thrown.message).toBe('of customer-4711')
  })

  it('B115: an error without a cause gets none, and an own cause is copied once', () => {
    expect(Object.keys(copy(new Error('x')) as object)).not.toContain('cause')
    const own = copy(Object.assign(new Error('x'), { cause: 'customer-1' })) as Error
    expect([Object.keys(own).sort(), own.cause]).toEqual([['cause', 'message', 'name', 'stack'], '[redacted]'])
  })

  it('B115: an error without a stack has an empty one', () => {
    const bare = Object.defineProperty(new Error('x'), 'stack', { value: undefined })
    expect((copy(bare) as Error).stack).toBe('')
  })

  it('B115: copies values of each kind', () => {
    const at = new Date(5)
    expect(
      copy({
        at,
        url: new URL('https://u:pw@host/?token=abc'),
        bytes: new Uint8Array(3),
        run: () => 1,
        sign: Symbol('s'),
        none: null,
        count: 1n,
        big: 2,
      }),
    ).toEqual({
      at,
      url: expect.not.stringMatching(/pw|abc/),
      bytes: '[3 bytes]',
      run: '[function]',
      sign: '[symbol]',
      none: null,
      count: 1n,
      big: 2,
    })
    expect(copy(at)).toBe(at)
    expect(copy(`a ${key}`)).toBe('a [redacted]')
    expect(copy([1, `b ${key}`])).toEqual([1, 'b [redacted]'])
  })

  it('B115: an instance is copied by its fields, a cycle once', () => {
    class Client {
      headers = { authorization: 'x' }
      self = this
    }
    const copied = copy(new Client()) as Client
    expect(copied.headers).toEqual({ authorization: '[redacted]' })
    expect(copied.self).toBe(copied)
  })

  it('B115: copies six levels, and a hundred fields of each', () => {
    const nested = (depth: number): unknown => (depth === 0 ? { leaf: 1 } : { in: nested(depth - 1) })
    expect(copy(nested(5))).toEqual({ in: { in: { in: { in: { in: { leaf: 1 } } } } } })
    expect(copy(nested(6))).toEqual({ in: { in: { in: { in: { in: { in: '[object]' } } } } } })
    const wide = Object.fromEntries(Array.from({ length: 101 }, (_, place) => [`f${place}`, place]))
    expect(Object.keys(copy(wide) as object)).toHaveLength(100)
  })

  it('B115: a field or a value that cannot be read is marked as unreadable', () => {
    const field = Object.defineProperty({}, 'bad', {
      enumerable: true,
      get: () => {
        throw new Error('no')
      },
    })
    expect(copy(field)).toEqual({ bad: '[unreadable]' })
    const proxy = new Proxy(
      {},
      {
        ownKeys: () => {
          throw new Error('no')
        },
      },
    )
    expect(copy(proxy)).toBe('[unreadable]')
  })

  it('B115: as text it is the stack, else the message, else itself', () => {
    const error = new Error(`no ${key}`)
    expect(causeText(error)).toMatch(/^Error: no \[redacted\]\n {4}at /)
    error.stack = undefined as never
    expect(causeText(error)).toBe('no [redacted]')
    expect(causeText(`thrown ${key}`)).toBe('thrown [redacted]')
    expect(causeText(5)).toBe('5')
  })
})

describe('B34, B35: errors as data', () => {
  it('B34: a stored error comes back with code, message, retryable and details', () => {
    const error = new BridgeError('CAPACITY', 'full /etc/app/x', {
      retryable: true,
      details: { reason: 'in-flight', retryAfterMs: 5, sessionValid: true },
    })
    const { code, message, retryable, details } = error
    const back = errorFrom(storedError(error))
    expect(BridgeError.isInstance(back)).toBe(true)
    expect({ code: back.code, message: back.message, retryable: back.retryable, details: back.details }).toEqual({
      code,
      message,
      retryable,
      details,
    })
    expect(errorBody(error)).toEqual({ code, message: 'full [path]', retryable, next: error.next, details })
  })

  it.each([
    ...[
      ['auth', 'AUTH'],
      ['auth-permanent', 'AUTH'],
      ['permission', 'AUTH'],
      ['billing', 'AUTH'],
    ],
    ...[
      ['model-not-found', 'CONFIG'],
      ['network', 'TRANSPORT'],
      ['timeout', 'TIMEOUT'],
      ['rate-limit', 'UPSTREAM'],
      ['unknown', 'UPSTREAM'],
    ],
  ])('B35: a model error of the kind %s is %s', (kind, code) => {
    const failure = modelFailure({ kind: kind as ErrorKind, message: 'no', retryable: true, phase: 'before-output', retryAfterMs: 7 }, 'a')
    expect(failure).toMatchObject({ code, message: 'no', retryable: true })
    expect(failure.details).toEqual({ agentId: 'a', upstreamCode: kind, sessionValid: true, retryAfterMs: 7 })
    expect(modelFailure({ kind: kind as ErrorKind, message: 'no', retryable: false, phase: 'before-output' }, 'a').details).toEqual({
      agentId: 'a',
      upstreamCode: kind,
      sessionValid: true,
    })
  })
})
