import pg from 'pg'
import { afterAll, beforeAll, describe } from 'vitest'
import { testDatabase } from '../../../../scripts/postgres.ts'
import { comparedRows, rowsKit } from '../../../sessions/test/rows/rows-kit.ts'
import { postgresRows } from '../../src/store/postgres-rows.ts'

const database = testDatabase()
let pool: pg.Pool | undefined
beforeAll(() => {
  pool = new pg.Pool({ connectionString: database.url, max: 8 })
})
afterAll(() => pool?.end())

describe('rows in Postgres', () => {
  rowsKit(() => postgresRows({ connectionString: database.url }))
  comparedRows(() => postgresRows({ ...(pool && { pool }), listen: false }))
})
