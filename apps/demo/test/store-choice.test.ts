import { resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { SettingsError } from '../src/server/settings.ts'
import { storeChoiceFrom } from '../src/server/store-choice.ts'

const choose = (text?: string) => storeChoiceFrom({ DEMO_STORE: text })

describe('DEMO_STORE', () => {
  it('names SQLite (the default), memory or a Postgres server', () => {
    expect([choose(), choose(''), choose('sqlite:')]).toEqual(Array(3).fill({ kind: 'sqlite' }))
    expect(choose('sqlite:here.db')).toEqual({ kind: 'sqlite', file: resolve('here.db') })
    expect(choose('memory:')).toEqual({ kind: 'memory' })
    for (const address of [
      'postgres://me@localhost:5432/demo',
      'postgresql://me:s3cret@db/demo?sslmode=require',
      'postgresql:///demo?host=/run/postgresql',
    ]) {
      expect(choose(address)).toEqual({ kind: 'postgres', connectionString: address })
    }
  })

  it.each([
    ['paper:', 'DEMO_STORE begins with paper:, but it must begin with sqlite:, memory: or postgres://.'],
    ['paper', 'DEMO_STORE begins with paper, but it must begin with sqlite:, memory: or postgres://.'],
    ['postgre://me:s3cret@db/demo', 'DEMO_STORE begins with postgre:, but it must begin with sqlite:, memory: or postgres://.'],
    ['postgres:', 'DEMO_STORE begins with postgres:, but names no server: write postgres://user:password@host:port/database.'],
    [
      'postgresql:me:s3cret@db/demo',
      'DEMO_STORE begins with postgresql:, but names no server: write postgresql://user:password@host:port/database.',
    ],
    [
      'postgresql://me:s3cret@db:many/demo',
      'DEMO_STORE begins with postgresql:, but names no server: write postgresql://user:password@host:port/database.',
    ],
  ])('is refused if it is %s, and the error contains no password', (text, message) => {
    expect(() => choose(text)).toThrow(new SettingsError(message))
  })
})
