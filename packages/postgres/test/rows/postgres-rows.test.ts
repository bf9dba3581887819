import { testRowStore } from '@bowline/testing/stores'
import pg from 'pg'
import { afterAll, beforeAll, describe, it } from 'vitest'
import { testDatabase } from '../../../../scripts/postgres.ts'
import { randomRuns } from '../../../../scripts/test-length.ts'
import { postgresRows } from '../../src/store/postgres-rows.ts'

const database = testDatabase()
let pool: pg.Pool | undefined
beforeAll(() => {
  pool = new pg.Pool({ connectionString: database.url, max: 8 })
})
afterAll(() => pool?.end())

const rows = async () => postgresRows({ ...(pool && { pool }), directConnectionString: database.url })
const { numRuns: programs, seed } = randomRuns(40)

testRowStore({ name: 'postgres', create: rows, reopen: rows, second: rows, programs, seed, runner: { describe, it } })
