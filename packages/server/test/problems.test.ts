import { SessionError } from '@bowline/sessions'
import { describe, expect, it } from 'vitest'
import { ProblemError } from '../src/problems.ts'
import { hasCode, toProblemError } from '../src/to-problem-error.ts'

describe('V95: a failure of the runtime as a problem', () => {
  it('V95: issues of an input have their paths, without the text of the error', () => {
    const issues = [{ path: 'input.to', message: 'must be a text' }]
    const problem = toProblemError(new SessionError('invalid-input', 'tenant:red:s:mine is wrong', { issues }))
    expect(problem).toMatchObject({ code: 'invalid-input', message: 'input.to: must be a text', facts: { errors: issues } })
    expect(JSON.stringify([problem.message, problem.facts])).not.toContain('tenant:')
    for (const none of [undefined, []]) {
      const plain = toProblemError(new SessionError('invalid-input', 'tenant:red:s:mine is wrong', none && { issues: none }))
      expect(plain.code).toBe('invalid-input')
      expect(plain.facts).not.toHaveProperty('errors')
      expect(plain.message).not.toContain('tenant:')
    }
  })

  it('V95: issues of another failure are not sent', () => {
    const problem = toProblemError(new SessionError('invalid-config', 'x', { issues: [{ path: 'a', message: 'b' }] }))
    expect(problem.code).toBe('internal')
    expect(problem.facts).not.toHaveProperty('errors')
  })

  it('V95: includes the refused answers, the run and the first number', () => {
    const refused = [{ id: 'c1', code: 'unknown-tool-call' as const }]
    expect(toProblemError(new SessionError('unknown-tool-call', 'x', { refused }))).toMatchObject({
      code: 'unknown-tool-call',
      facts: { refused },
    })
    expect(toProblemError(new SessionError('busy', 'x', { runId: 'r1' }))).toMatchObject({ code: 'busy', facts: { runId: 'r1' } })
    expect(toProblemError(new SessionError('cursor-expired', 'x', { firstSeq: 7 }))).toMatchObject({
      code: 'cursor-expired',
      facts: { firstSeq: 7 },
    })
    const bare = toProblemError(new SessionError('conflict', 'x'))
    expect([bare.code, bare.facts]).toEqual(['store-unavailable', {}])
  })

  it.each([
    ['busy', 'Wait for the run, answer what it waits for, or stop it.'],
    ['cursor-expired', 'Load the session and continue from its cursor.'],
    ['id-reused', 'Use a new key for new content.'],
    ['unknown-tool-call', 'The calls listed in refused are not waiting for a result; nothing was stored.'],
    ['tool-result-conflict', 'The calls listed in refused already have another outcome; nothing was stored.'],
    ['unknown-run', expect.stringMatching(/^[A-Z].*\.$/) as string],
  ] as const)('V95: %s says what to do, in the terms of the server', (code, detail) => {
    expect(toProblemError(new SessionError(code, 'of tenant:red:s:mine')).message).toEqual(detail)
    expect(toProblemError(new SessionError(code, 'of tenant:red:s:mine')).message).not.toContain('tenant')
  })

  it('V95: a problem stays unchanged; any other value is internal, with its cause', () => {
    const problem = new ProblemError('busy', 'x')
    expect(toProblemError(problem)).toBe(problem)
    const cause = new TypeError('secret')
    expect(toProblemError(cause)).toMatchObject({ code: 'internal', message: 'The request could not be carried out.', cause })
    for (const thrown of [null, undefined, 'text', {}]) expect(toProblemError(thrown).code).toBe('internal')
  })

  it('V95: a failure is recognized by its code and its marker', () => {
    expect(hasCode(new SessionError('conflict', 'x'), 'conflict')).toBe(true)
    expect(hasCode(new SessionError('busy', 'x'), 'conflict')).toBe(false)
    for (const other of [{ code: 'conflict' }, null, undefined, 'conflict']) expect(hasCode(other, 'conflict')).toBe(false)
  })
})
