import { describe, expect, it } from 'vitest'
import { isLost, storeError } from '../src/store/postgres-errors.ts'

describe('errors of Postgres and of the system', () => {
  it.each(['EPIPE', 'ECONNRESET', 'ENOENT', '57P01', '08006', '25P03'])('S195: %s means that the connection is lost', (code) => {
    const error = Object.assign(new Error('no more'), { code })
    expect(isLost(error)).toBe(true)
    expect(storeError(error, 'read')).toMatchObject({ code: 'store-unavailable', retryable: true })
  })

  it.each(['23505', '40P01', 'XX001', 'P0001'])('S195: %s does not mean that', (code) => {
    expect(isLost(Object.assign(new Error('no more'), { code }))).toBe(false)
  })
})
